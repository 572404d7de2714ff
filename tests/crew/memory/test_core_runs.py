"""What agents of a run are shown of core memory, and how they change it."""

from pathlib import Path
from typing import Any

import pytest

from crew import Answer, Crew, MemoryStore, Query, Runs, SqliteStore, load_crew
from crew.backends.memory_core import MemoryCore
from crew.journal.errors import StoreError
from crew.journal.records.remembered.core import CoreVersion
from crew.journal.store import RunStore
from tests.support.crews import Played, play, write_crew
from tests.support.planning import task

PROFILE = {
    "description": "how this person invests",
    "schema": {"properties": {"risk": {"enum": ["low", "high"]}, "style": {"type": "string"}}},
}
NOTES = {"description": "what else is known"}
HIGH = {"block": "profile", "edits": [{"old": "risk: null", "new": "risk: high"}]}


def edit(**arguments: Any) -> list[dict[str, Any]]:
    return [{"tool": "EditCore", "arguments": {**HIGH, **arguments}}]


def remembering(
    folder: Path, rules: list[dict[str, Any]], core: dict[str, Any] | None = None, **crew: Any
) -> Crew:
    agents = {"a": {"tools": ["EditCore"], "is_terminal": True}}
    memory = {"core": {"profile": PROFILE, "notes": NOTES} if core is None else core}
    return load_crew(write_crew(folder, agents, rules, memory=memory, **crew))


EDITING: list[dict[str, Any]] = [
    {"agent": "a", "after": "EditCore", "say": "{{result.EditCore}}"},
    {"agent": "a", "seen": "risk: high", "say": "you like risks"},
    {"agent": "a", "hears": "I like high risks", "calls": edit(quote="I like high risks")},
    {"agent": "a", "say": "who are you?"},
]


async def ask(runs: Runs, text: str, **query: Any) -> Played:
    return await play(runs.crew, query=Query(text, **query), runs=runs)


@pytest.mark.parametrize("stored", [False, True])
async def test_a_user_is_known_in_the_next_run(tmp_path: Path, stored: bool):
    """And no other user is taken for that one."""
    store: RunStore = SqliteStore(tmp_path / "runs.db") if stored else MemoryStore()
    crew = remembering(tmp_path / "crew", EDITING)
    async with Runs(crew, store) as runs:
        first = await ask(runs, "I like high risks", user_id="ann")
        assert first.row.answer == "profile is now:\nrisk: high\nstyle: null"
        (changed,) = [one["metadata"] for one in first.of("memory")]
        assert (changed["op"], changed["block"], changed["version"]) == ("edited", "profile", 1)
        assert (await ask(runs, "and?", user_id="ann")).row.answer == "you like risks"
        assert (await ask(runs, "and?", user_id="eve")).row.answer == "who are you?"
        assert (await ask(runs, "and?")).row.answer == "who are you?"
        (kept,) = await store.core.versions("user:ann", "profile")
    assert (kept.by, kept.who, kept.quote) == ("agent", "a", "I like high risks")
    assert kept.run_id == first.row.run_id


async def test_the_event_says_what_was_shown(tmp_path: Path):
    crew = remembering(tmp_path, EDITING)
    async with Runs(crew, MemoryStore()) as runs:
        await ask(runs, "I like high risks", user_id="ann")
        played = await ask(runs, "and?", user_id="ann")
    (shown,) = [one["metadata"] for one in played.of("context")]
    block = shown["blocks"][0]
    assert (block["kind"], block["ids"], block["versions"]) == (
        "core",
        ["profile", "notes"],
        [1, 0],
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another block": ({"block": "other"}, "there is no block 'other'; known: profile, notes"),
    "not the agents'": ({"block": "notes"}, "agents may not change notes"),
    "no quote": ({"quote": "I love bonds so much"}, "does not stand in what the person has said"),
    "half a word": ({"quote": "like high risk"}, "does not stand in what the person has said"),
    "a wrong value": (
        {"edits": [{"old": "risk: null", "new": "risk: medium"}]},
        "risk: must be one of low, high",
    ),
    "nothing there": ({"edits": [{"old": "x", "new": "y"}]}, "does not stand there"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_refused_changes_nothing(tmp_path: Path, case: str):
    arguments, said = REFUSED[case]
    rules = [EDITING[0], {"agent": "a", "calls": edit(**arguments)}]
    core = {"profile": PROFILE, "notes": {**NOTES, "write": ["people"]}}
    store = MemoryStore()
    async with Runs(remembering(tmp_path, rules, core), store) as runs:
        played = await ask(runs, "I like high risks", user_id="ann")
        assert await store.core.newest(["user:ann"]) == []
    (result,) = [one["metadata"] for one in played.of("tool_result")]
    assert said in result["output"]
    assert (result["status"], result["attempts"]) == ("error", 1)
    assert played.of("memory") == []


async def test_a_run_without_a_user_changes_no_user(tmp_path: Path):
    rules = [EDITING[0], {"agent": "a", "calls": edit()}]
    async with Runs(remembering(tmp_path, rules), MemoryStore()) as runs:
        played = await ask(runs, "go")
    assert "belongs to a user, and this run names none" in str(played.row.answer)


async def test_what_a_person_answers_proves(tmp_path: Path):
    """Words of an answer to a pause are the person's as the query is."""
    rules = [
        EDITING[0],
        {"agent": "a", "turn": 1, "say": "What do you like?"},
        {"agent": "a", "calls": edit(quote="really high risks, please")},
    ]
    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["EditCore"]}},
        rules,
        memory={"core": {"profile": PROFILE}},
        routing={"agent_behaviors": {"a": {"wait_for_signal": True}}},
    )
    query = Query("hello", user_id="ann")
    played = await play(load_crew(folder), Answer("Really high risks, please."), query=query)
    assert "risk: high" in str(played.row.answer)


class Forgetful(MemoryCore):
    """Keeps the first version, and does not say so, as a database whose answer is lost."""

    has_failed = False

    async def add(self, version: CoreVersion) -> bool:
        added = await super().add(version)
        if not self.has_failed:
            self.has_failed = True
            raise StoreError("the connection is lost")
        return added


async def test_a_call_that_is_made_again_changes_it_once(tmp_path: Path):
    """It is known by its key, and its event comes all the same."""
    rules = [EDITING[0], {"agent": "a", "calls": edit()}]
    store = MemoryStore()
    store.core = Forgetful(lambda place: True)
    async with Runs(remembering(tmp_path, rules), store) as runs:
        played = await ask(runs, "go", user_id="ann")
        versions = await store.core.versions("user:ann", "profile")
    assert "risk: high" in str(played.row.answer)
    (result,) = [one["metadata"] for one in played.of("tool_result")]
    assert (result["status"], result["attempts"]) == ("success", 2)
    assert [one.version for one in versions] == [1]
    assert [one["metadata"]["version"] for one in played.of("memory")] == [1]


async def test_groups_plans_and_agents_as_tools_have_the_user(tmp_path: Path):
    """Each changes the memory of the person that the run is for."""
    agents: dict[str, Any] = {
        "p": {"plan": {"workers": ["w"], "then": "g"}},
        "w": {"tools": ["EditCore"]},
        "a": {"tools": ["helper"]},
        "b": {"tools": ["EditCore"]},
        "h": {"tools": ["EditCore"]},
        "end": {"is_terminal": True},
    }

    def noting(old: str, new: str) -> list[dict[str, Any]]:
        change = {"block": new, "edits": [{"old": old, "new": f"by {new}"}]}
        return [{"tool": "EditCore", "arguments": change}]

    rules: list[dict[str, Any]] = [
        {"agent": "p", "say": {"tasks": [task("t", agent="w")]}},
        {"agent": "a", "after": "helper", "say": "done"},
        {"agent": "a", "calls": [{"tool": "helper", "arguments": {"ask": "note"}}]},
        {"agent": ["w", "b", "h"], "after": "EditCore", "say": "done"},
        *({"agent": one, "calls": noting("", one)} for one in ("w", "b", "h")),
        {"agent": "end", "say": "end"},
    ]
    folder = write_crew(
        tmp_path,
        agents,
        rules,
        {"helper": {"kind": "agent", "agent": "h", "description": "It helps."}},
        memory={"core": {name: {"description": name} for name in ("w", "b", "h")}},
        routing={"parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "end"}}},
    )
    store = MemoryStore()
    async with Runs(load_crew(folder), store) as runs:
        played = await ask(runs, "go", user_id="ann")
        assert played.row.answer == "end"
        found = {one.block: one.value for one in await store.core.newest(["user:ann"])}
    assert found == {"w": "by w", "b": "by b", "h": "by h"}
    parts = {
        one["metadata"]["block"]: {
            key: one["metadata"].get(key) for key in ("task", "call", "group")
        }
        for one in played.of("memory")
    }
    assert parts["w"]["task"] == "t"
    assert parts["b"] == {"task": None, "call": None, "group": "g"}
    assert parts["h"]["call"] == "call_1_1"


async def test_typed_answers_fill_a_block_from_turn_to_turn(tmp_path: Path):
    """Newest first, each once; shown in the next exchange, and gone with the conversation."""
    output = {"properties": {"shares": {"type": "array", "items": {"type": "string"}}}}
    shares = {
        "scope": "conversation",
        "description": "shares that were spoken of",
        "from": {"agent": "a", "field": "shares", "most": 2},
    }
    agents = {"a": {"output": output}, "end": {"is_terminal": True}}
    rules = [
        {"agent": "a", "hears": "one", "say": {"shares": ["FPT", "VNM"]}},
        {"agent": "a", "hears": "two", "say": {"shares": ["HPG"]}},
        {"agent": "a", "say": {"shares": []}},
        {"agent": "end", "seen": "[shares]\nshares that were spoken of:\nHPG\nFPT", "say": "both"},
        {"agent": "end", "say": "not yet"},
    ]
    folder = write_crew(
        tmp_path, agents, rules, memory={"core": {"shares": shares}}, conversations={}
    )
    store = MemoryStore()
    async with Runs(load_crew(folder), store) as runs:
        place = {"user_id": "ann", "conversation_id": "c"}
        for text, answer in (("one", "not yet"), ("two", "not yet"), ("three", "both")):
            assert (await ask(runs, text, **place)).row.answer == answer
        other = await ask(runs, "three", user_id="eve", conversation_id="c")
        assert other.row.answer == "not yet"
        await runs.conversations.delete("ann", "c", "")
        assert await store.core.newest(["conversation:ann:c"]) == []


async def test_what_no_longer_fits_is_named(tmp_path: Path):
    """A schema that a reload has changed: the old value stays, and is not shown."""
    crew = remembering(tmp_path, EDITING)
    store = MemoryStore()
    async with Runs(crew, store) as runs:
        await ask(runs, "I like high risks", user_id="ann")
        path = tmp_path / "crew.yaml"
        path.write_text(path.read_text().replace("- high", "- much"))
        runs.adopt(crew.load_again())
        played = await ask(runs, "and?", user_id="ann")
        assert played.row.answer == "who are you?"
        (warning,) = played.of("warning")
        assert warning["metadata"]["code"] == "core_left_out"
        assert "profile: risk: must be one of low, much" in warning["content"]
        (kept,) = await store.core.versions("user:ann", "profile")
    assert kept.value == {"risk": "high"}


async def test_secrets_are_not_remembered(tmp_path: Path):
    rules = [
        EDITING[0],
        {
            "agent": "a",
            "calls": edit(block="notes", edits=[{"old": "", "new": "pager-0123456789"}]),
        },
    ]
    agents = {"a": {"tools": ["EditCore"], "is_terminal": True}}
    folder = write_crew(tmp_path, agents, rules, memory={"core": {"notes": NOTES}})
    crew = load_crew(folder, environment={"PAGER_TOKEN": "pager-0123456789"})
    store = MemoryStore()
    async with Runs(crew, store) as runs:
        await ask(runs, "go", user_id="ann")
        (kept,) = await store.core.newest(["user:ann"])
    assert kept.value == "***"


async def test_a_group_that_is_entered_again_changes_it_again(tmp_path: Path):
    """Its model gives the same ids to its calls; the second one is another call."""

    def noting(old: str, new: str) -> list[dict[str, Any]]:
        change = {"block": "notes", "edits": [{"old": old, "new": new}]}
        return [{"tool": "EditCore", "arguments": change}]

    rules: list[dict[str, Any]] = [
        {"agent": "s", "say": "[GO]"},
        {"agent": "m", "turn": 1, "say": "[AGAIN]"},
        {"agent": "m", "say": "[END]"},
        {"agent": "a", "after": "EditCore", "say": "done"},
        {"agent": "a", "seen": "first", "calls": noting("first", "second")},
        {"agent": "a", "calls": noting("", "first")},
        {"agent": "b", "say": "b"},
    ]
    folder = write_crew(
        tmp_path,
        {"s": {}, "a": {"tools": ["EditCore"]}, "b": {}, "m": {}},
        rules,
        memory={"core": {"notes": NOTES}},
        routing={
            "signals": {
                "s": [{"signal": "[GO]", "target": "g"}],
                "m": [{"signal": "[AGAIN]", "target": "g"}, {"signal": "[END]", "target": None}],
            },
            "parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "m"}},
        },
    )
    store = MemoryStore()
    async with Runs(load_crew(folder), store) as runs:
        played = await ask(runs, "go", user_id="ann")
        assert played.row.status == "completed"
        (kept,) = await store.core.newest(["user:ann"])
    assert (kept.value, kept.version) == ("second", 2)
    ids = [one["metadata"]["call_id"] for one in played.of("tool_start")]
    assert len(set(ids)) == 2
