"""An answer to the same request is used again, and to no other request."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crew import Crew, MemoryStore, Query, Runs, load_crew
from crew.crew import check
from tests.support.crews import play, write_crew
from tests.support.model_server import ModelServer, completion, http, model_server
from tests.support.tool_calls import moving_clock
from tests.support.typed_answers import OUTPUT, RIGHT, WRONG, sorting

KEYS = {"provider": "gw", "model": "m", "cache": {"seconds": 60, "entries": 100}}


def served(folder: Path, url: str, **sort: Any) -> Path:
    routes = [{"when": {"tools": True}}, {"target": "talker"}]
    return sorting(
        folder,
        [{"say": "x"}],
        {**KEYS, **sort},
        routes,
        providers={"gw": {"base_url": url}},
        entry_point="sort",
    )


def right(_: dict[str, Any]) -> bytes:
    return http(200, completion(json.dumps(RIGHT)))


async def asked(crew: Crew, server: ModelServer, *queries: Query) -> list[int]:
    """How many requests the model has had after each query."""
    counts = []
    async with Runs(crew, MemoryStore()) as runs:
        for query in queries:
            await (await runs.start(query)).outcome()
            counts.append(len(server.asked))
    return counts


async def test_the_same_question_is_asked_once(tmp_path: Path):
    async with model_server(right) as server:
        crew = load_crew(served(tmp_path, server.url))
        first, second = await play(crew, "Is it up?"), await play(crew, "  is IT\n up? ")
    assert len(server.asked) == 1
    known: list[dict[str, Any]] = [
        one.of("agent_response")[0]["metadata"] for one in (first, second)
    ]
    assert [one.get("cached") for one in known] == [None, True]
    assert known[0]["output"] == known[1]["output"] == RIGHT
    assert known[1]["usage"]["total_tokens"] == 0
    assert known[1]["provider"] == "gw"
    assert [
        hop["reason"] for hop in (one.of("done")[0]["metadata"] for one in (first, second))
    ] == ["output"] * 2


async def test_others_are_asked_anew(tmp_path: Path):
    """Another user, another word, another conversation before it."""
    async with model_server(right) as server:
        crew = load_crew(served(tmp_path, server.url))
        queries = [
            Query("up?", user_id="ann"),
            Query("up?", user_id="bob"),
            Query("up", user_id="ann"),
            Query("up? ", user_id="ann"),
        ]
        assert await asked(crew, server, *queries) == [1, 2, 3, 3]


async def test_what_is_wrong_is_not_kept(tmp_path: Path):
    """The right answer to what was said of it is: that is a request, too."""
    said = [http(200, completion(json.dumps(WRONG))), right({})]
    async with model_server([*said, *said]) as server:
        crew = load_crew(served(tmp_path, server.url))
        assert await asked(crew, server, Query("up?"), Query("up?")) == [2, 3]


@pytest.mark.parametrize(("seconds", "is_kept"), [(59, True), (61, False)])
async def test_it_is_kept_for_its_time(tmp_path: Path, seconds: int, is_kept: bool):
    rules = [{"agent": "sort", "say": RIGHT}, {"say": "x"}]
    folder = sorting(tmp_path, rules, {"cache": {"seconds": 60}})
    async with moving_clock() as clock:
        crew = load_crew(folder, clock=clock)
        await play(crew, "up?")
        await clock.sleep(seconds)
        played = await play(crew, "up?")
    assert played.of("agent_response")[0]["metadata"].get("cached", False) == is_kept


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="aAbB \n.?é", max_size=8),
    st.text(alphabet="aAbB \n.?é", max_size=8),
    st.booleans(),
)
def test_no_other_request_has_its_answer(one: str, other: str, same_user: bool):
    """But for case and white space of the newest query."""
    from agents.turns.kept import answer_key

    first, second = prepared(one), prepared(other)
    user = "u" if same_user else "v"
    is_same = " ".join(one.split()).casefold() == " ".join(other.split()).casefold() and same_user
    assert (
        answer_key(first, "u", "2026-01-01") == answer_key(second, user, "2026-01-01")
    ) == is_same
    assert answer_key(first, "u", "2026-01-01") != answer_key(first, "u", "2026-01-02")


def prepared(query: str) -> Any:
    from agents.context.loaded import NOTHING
    from agents.context.window import Fitted
    from agents.model import ModelRequest, ShownMessage
    from agents.turns.request import Prepared

    messages = [ShownMessage("system", "p"), ShownMessage("user", query)]
    return Prepared(ModelRequest("a", messages), Fitted(messages, -1), 0, NOTHING, 0, 1)


@pytest.mark.parametrize("keys", [{"output": None}, {"tools": ["GetCPUUsage"]}])
def test_it_is_for_typed_answers_without_tools(tmp_path: Path, keys: dict[str, Any]):
    agents = {"a": {"output": OUTPUT, "cache": {"seconds": 60}, "is_terminal": True, **keys}}
    found = check(write_crew(tmp_path, agents, [{"say": "x"}])).problems
    assert "cache-agent" in {one.code for one in found}, found
