"""Why each hop is taken: by which line of which file, whatever the way."""

import asyncio
import os
from pathlib import Path

import pytest

from agents.events import AgentResponded, ToolReturned
from crew import load_crew
from crew.assembly.recipe import Recipe
from crew.backends.memory import MemoryStore
from crew.config.files.sources import read_sources
from crew.crew import Crew, load_from
from crew.journal.events import Paused, RunDone, StoredEvent, decode_event
from crew.journal.query import Query
from crew.runs.runs import Runs
from server.http.endpoints.description import describe_crew
from tests.support.crews import crew_of, play, write_crew
from tools import TemporaryError, Tool, VirtualClock, tool

AGENTS = {
    "s": {},
    "a": {},
    "b": {},
    "c": {"handoff_targets": ["d"]},
    "d": {},
    "e": {"is_terminal": True},
}
ROUTING = {
    "defaults": {"s": "g"},
    "parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "c"}},
}


async def test_every_hop_has_its_line(tmp_path: Path):
    """A default, a group's next agent, a target of an agent's own file, the order of the list."""
    crew = crew_of(tmp_path, AGENTS, [{"say": "x"}], routing=ROUTING)
    played = await play(crew, "go")
    hops = [event["metadata"] for event in played.of("handoff")]
    assert [(hop["from"], hop["to"], hop["why"]) for hop in hops] == [
        ("s", "g", "default"),
        ("g", "c", "group"),
        ("c", "d", "handoff_target"),
        ("d", "e", "order"),
    ]
    for hop, words in zip(hops, ("s: g", "next_agent: c", "- d", "- e"), strict=True):
        file, _, line = hop["source"].partition(":")
        written = (tmp_path / file).read_text().splitlines()[int(line) - 1]
        assert words in (written.strip(), f"{written.strip()}"), (hop, written)


@pytest.mark.parametrize("seen", ["agents", "groups"])
def test_the_crew_is_drawn_as_it_runs(tmp_path: Path, seen: str):
    """Members of a group have no ways of their own: what they say leads on from the group."""
    crew = load_crew(write_crew(tmp_path, AGENTS, [{"say": "x"}], routing=ROUTING))
    sources = {edge["from"] for edge in describe_crew(crew, prompts=False)["routing"]}
    expected = {"agents": {"a", "b"}, "groups": {"g"}}[seen]
    assert (sources & expected) == (expected if seen == "groups" else set())


async def stored_events(crew: Crew) -> list[StoredEvent]:
    """Run a crew, and read what is kept of it."""
    store = MemoryStore()
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        records = await store.records(run.id)
    return [decode_event(one.event)[0] for one in records]


ENDS = {
    "a signal": ({"signals": {"e": [{"signal": "[END]", "target": ""}]}}, {}, "signal: '[END]'"),
    "the agent's own file": ({}, {"is_terminal": True}, "is_terminal: true"),
    "an empty default": ({"defaults": {"e": ""}}, {}, "e: ''"),
    "no order": ({"agent_behaviors": {"e": {"auto_route": False}}}, {}, "auto_route: false"),
    "a pause": ({"agent_behaviors": {"e": {"wait_for_signal": True}}}, {}, "wait_for_signal: true"),
    "the end of the order": ({}, {}, None),
}


@pytest.mark.parametrize("name", ENDS)
async def test_every_end_has_its_line(tmp_path: Path, name: str):
    """In the journal, for those who ask later why a run ended or paused there."""
    routing, keys, written = ENDS[name]
    words = "[END]" if name == "a signal" else "x"
    crew = crew_of(tmp_path, {"e": keys}, [{"say": words}], routing=routing)
    events = await stored_events(crew)
    kind: type[Paused | RunDone] = Paused if name == "a pause" else RunDone
    (event,) = [one for one in events if isinstance(one, kind)]
    if written is None:
        assert event.source is None
        return
    file, _, line = str(event.source).partition(":")
    assert written in (tmp_path / file).read_text().splitlines()[int(line) - 1]


def flaky() -> Tool:
    failures = iter([True, False])

    @tool(effect="read")
    def look() -> str:
        """Look."""
        if next(failures):
            raise TemporaryError(
                f"the disk s3cr3t-value-of-it is busy: caf\udce9 {'x' * 5000} s3cr3t-value-o"
            )
        return "fine"

    return look


RULES = [
    {"after": "look", "say": "done"},
    {"hears": "go", "calls": ["look"], "fail": {"code": "unavailable", "times": 1}},
]


async def test_what_failed_before_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The requests before an answer and the attempts before a result, masked; who answered."""
    monkeypatch.setenv("LOOK_KEY", "s3cr3t-value-of-it")
    agents = {"e": {"tools": ["look"], "is_terminal": True}}
    write_crew(tmp_path, agents, RULES, settings={"retry_backoff_min_millis": 1})
    clock = VirtualClock()
    recipe = Recipe(tools=(flaky(),), clock=clock, environment=dict(os.environ), jitter=lambda: 0.5)
    crew = load_from(recipe, read_sources(tmp_path))
    moving = asyncio.create_task(clock.run())
    events = await stored_events(crew)
    moving.cancel()
    first, second = [one for one in events if isinstance(one, AgentResponded)]
    assert first.provider == second.provider == "scripted"
    assert [(one.provider, one.code) for one in first.failed] == [("scripted", "unavailable")]
    assert second.failed == ()
    (returned,) = [one for one in events if isinstance(one, ToolReturned)]
    assert returned.result.attempts == 2
    (failed,) = returned.result.failed
    assert "is busy" in failed.error
    assert "s3cr3t" not in failed.error
    assert len(failed.error.encode()) <= 1000
    # the shortest wait, without half of the half that chance may take away
    assert failed.wait_seconds == 0.00075


async def test_what_a_model_was_sent_has_digests(tmp_path: Path):
    """Of its parts: the same for the same request, and only the part differs that does."""
    digests = []
    for number, prompt in enumerate(("You look.", "You look.", "You look twice.")):
        agents = {"e": {"tools": ["look"], "is_terminal": True, "system_prompt": prompt}}
        crew = crew_of(tmp_path / str(number), agents, [*RULES[:1], {"calls": ["look"]}], steady())
        events = await stored_events(crew)
        digests.append(
            [one.asked for one in events if isinstance(one, AgentResponded) and one.asked]
        )
    once, again, other = digests
    assert once == again
    assert [one.messages for one in once] == [one.messages for one in other]
    assert [one.tools for one in once] == [one.tools for one in other]
    assert once[0].prompt != other[0].prompt
    assert once[0].messages != once[1].messages
    assert once[0].tools == once[1].tools


def steady() -> Tool:
    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "fine"

    return look
