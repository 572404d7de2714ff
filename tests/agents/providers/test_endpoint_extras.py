"""What a crew's files add to the requests of a model: how much it thinks, and JSON of its own."""

from pathlib import Path
from typing import Any

import pytest

from crew import load_crew
from crew.crew import check
from tests.support.crews import play
from tests.support.endpoints import crew_at, error, played, warnings
from tests.support.model_server import completion, http, model_server

TEMPLATE = {"chat_template_kwargs": {"enable_thinking": False}}


def with_models(folder: Path, url: str, named: dict[str, Any], **agent: Any) -> Path:
    models = {"m-1": {"provider": "gw", **named}}
    return crew_at(folder, url, {"tools": [], **agent}, models=models)


@pytest.mark.parametrize(
    ("named", "agent", "sent"),
    [
        ({"thinking": "low"}, {}, "low"),
        ({"thinking": "low"}, {"thinking": "max"}, "xhigh"),
        ({}, {"thinking": "none"}, "none"),
        ({}, {}, None),
    ],
)
async def test_how_much_a_model_thinks(tmp_path: Path, named: Any, agent: Any, sent: str | None):
    """As `models` says, unless the agent's own file does."""
    async with model_server([http(200, completion("done"))]) as server:
        await play(load_crew(with_models(tmp_path, server.url, named, **agent)), "go")
    assert server.asked[0].get("reasoning_effort") == sent


async def test_a_body_has_what_the_files_add(tmp_path: Path):
    async with model_server([http(200, completion("done"))]) as server:
        folder = with_models(tmp_path, server.url, {"body": TEMPLATE}, temperature=0.5)
        await play(load_crew(folder), "go")
    (body,) = server.asked
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["temperature"] == 0.5
    assert "reasoning_effort" not in body


async def test_a_server_that_refuses_it_is_asked_without(tmp_path: Path):
    """Once; then it is known."""

    def reply(request: dict[str, Any]) -> bytes:
        if "reasoning_effort" in request:
            text = "Unrecognized request argument supplied: reasoning_effort"
            return http(400, error(text, param="reasoning_effort"))
        return http(200, completion("done"))

    async with model_server(reply) as server:
        folder = with_models(tmp_path, server.url, {"thinking": "high"})
        run = await played(folder)
    assert run.row.answer == "done"
    assert warnings(run) == ["parameter_refused"]
    assert [("reasoning_effort" in one) for one in server.asked] == [True, False]


async def test_a_backup_has_its_own(tmp_path: Path):
    """Of its alias, not of the agent."""
    async with model_server([http(503, {"error": "x"})]) as broken:
        async with model_server([http(200, completion("done"))]) as server:
            models = {"m-1": {"provider": "gw"}, "other": {"provider": "two", "body": TEMPLATE}}
            folder = crew_at(
                tmp_path,
                broken.url,
                {"tools": [], "thinking": "high", "backup": {"model": "other"}},
                models=models,
                providers={"two": {"base_url": server.url}},
            )
            run = await played(folder)
    assert run.row.answer == "done"
    assert broken.asked[0]["reasoning_effort"] == "high"
    assert "reasoning_effort" not in server.asked[0]
    assert server.asked[0]["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize("key", ["temperature", "messages", "reasoning_effort", "stream"])
def test_what_is_written_anyway_cannot_be_added(tmp_path: Path, key: str):
    folder = with_models(tmp_path, "http://127.0.0.1:1/v1", {"body": {key: 1, "other": 2}})
    (found,) = [one for one in check(folder).problems if one.code == "body-key"]
    assert key in found.message
    assert f"{key}:" in (folder / "crew.yaml").read_text().splitlines()[found.line - 1]
