"""Servers and gateways of others that have Anthropic's messages and OpenAI's responses, too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.records.rows import RunRow
from crew.journal.wire import RunEvent
from tests.real.installed import needs_real
from tests.real.served_models import MASTER_KEY, Gateway, gateway, llama
from tests.support.crews import write_crew
from tests.support.model_server import http, model_server
from tests.support.strict import responses
from tests.support.strict.responses import call, document, message
from tests.support.strict.served import streamed

pytestmark = needs_real

LOOK = {"look": {"kind": "python", "function": "look.py:look"}}
CODE = '''
def look(place: str) -> str:
    """Look at a place."""
    return "it is quiet at " + place
'''
dialects = pytest.mark.parametrize("dialect", ["anthropic", "responses"])
forms = pytest.mark.parametrize("deltas", [False, True], ids=["whole", "stream"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama(tmp_path_factory.mktemp("llama") / "log") as url:
        yield url


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, model: str) -> Iterator[Gateway]:
    with gateway(tmp_path_factory.mktemp("litellm"), model) as found:
        yield found


async def play(
    folder: Path, url: str, dialect: str, *, deltas: bool = False, **agent: Any
) -> tuple[RunRow, list[RunEvent]]:
    provider = {"base_url": url, "api_key": MASTER_KEY, "max_retries": 0, "dialect": dialect}
    keys = {"provider": "far", "model": "smol", "max_tokens": 24, "is_terminal": True, **agent}
    tools = LOOK if "tools" in agent else None
    written = write_crew(folder, {"a": keys}, tools=tools, providers={"far": provider})
    (written / "look.py").write_text(CODE)
    async with Runs(load_crew(written), MemoryStore()) as runs:
        run = await runs.start(Query("What is the capital of France?", deltas=deltas))
        events = [one async for one in runs.follow(run.id) if one is not None]
        return await run.outcome(), events


def codes(events: list[RunEvent]) -> list[str]:
    return [one.metadata["code"] for one in events if one.type == "warning"]


@dialects
@forms
async def test_a_real_model_answers(tmp_path: Path, model: str, dialect: str, deltas: bool):
    """With a usage that it has counted; and what is streamed is what is answered."""
    row, events = await play(tmp_path, model, dialect, deltas=deltas)
    assert row.status == "completed"
    assert row.answer
    assert (row.usage.estimated, row.usage.prompt_tokens > 0) == (False, True)
    assert set(codes(events)) <= {"answer_cut", "endpoint_learned"}
    pieces = [one.content for one in events if one.type == "agent_delta"]
    assert "".join(pieces) == (row.answer if deltas else "")


@dialects
async def test_a_server_that_does_nothing_with_a_schema(tmp_path: Path, model: str, dialect: str):
    """As this one in these dialects: it is told in words then, so that the repair can succeed."""
    output = {"properties": {"kind": {"enum": ["city", "land"]}}, "required": ["kind"]}
    _, events = await play(tmp_path, model, dialect, output=output, max_tokens=100)
    assert "output_in_words" in codes(events)


@dialects
@forms
async def test_a_gateway_passes_calls_and_results(
    tmp_path: Path, proxy: Gateway, dialect: str, deltas: bool
):
    """Between this form and the one of the model behind it: responses, too."""

    def say(body: dict[str, Any]) -> bytes:
        has_result = "function_call_output" in [one.get("type") for one in body["input"]]
        made = call("call_1", "look", {"place": "sea"}, 1)
        answer = document("scripted", [message("quiet", 1) if has_result else made])
        return streamed(responses.events(answer)) if body.get("stream") else http(200, answer)

    async with model_server(say, port=proxy.scripted_port) as server:
        agent = {"model": "scripted", "tools": ["look"]}
        row, events = await play(tmp_path, proxy.url, dialect, deltas=deltas, **agent)
    assert (row.answer, codes(events)) == ("quiet", [])
    results = [one.content for one in events if one.type == "tool_result"]
    assert results == ["✅ [Tool] look → it is quiet at sea"]
    assert server.asked[-1]["input"][-1]["output"]
