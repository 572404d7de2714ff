"""Stored runs on other files: what is the same, what is assumed, and what goes another way, with its cause."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.config.files.sources import read_sources
from crew.rehearsal.playing.player import play_case
from crew.rehearsal.playing.suite import Suite
from crew.rehearsal.replaying.comparison import Compared
from crew.rehearsal.replaying.options import ReplayOptions
from crew.rehearsal.replaying.recording import NotKept, read_recording
from crew.rehearsal.replaying.replays import ReplayResult, Replays
from crew.rehearsal.replaying.report import grouped, headline, share_of_others
from tests.support.crews import ROOT, copy_example
from tests.support.rehearsed import RULES, rehearse, repair_crew

EXAMPLES = sorted(path.name for path in (ROOT / "examples").iterdir() if (path / "tests").is_dir())


def edit(folder: Path, file: str, change: Mapping[str, Any]) -> None:
    """Change values of a file by their dotted paths; None takes one away."""
    path = folder / file
    data = yaml.safe_load(path.read_text())
    for dotted, value in change.items():
        *above, last = dotted.split(".")
        inner = data
        for part in above:
            inner = inner[int(part)] if part.isdecimal() else inner[part]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    path.write_text(yaml.safe_dump(data, sort_keys=False))


async def recorded(folder: Path, *queries: str, answers: int = 1) -> MemoryStore:
    """Runs of a crew: each pause is answered, or approved."""
    (folder / "acts.py").write_text(
        "def restart(service: str, delay: int = 0) -> str:\n    return f'{service} is up'\n\n\n"
        "def look(where: str) -> str:\n    return f'seen {where}'\n"
    )
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    runs = Runs(crew, store)
    for query in queries:
        run = await runs.start(Query(query))
        for _ in range(answers):
            row = await runs.outcome(run.id)
            if row.status == "paused":
                answer = Answer(decision="approve") if row.asks else Answer("it is broken")
                await runs.resume(run.id, answer)
        await runs.outcome(run.id)
    await runs.drain(1)
    return store


async def replayed(store: MemoryStore, folder: Path) -> list[ReplayResult]:
    rows = await store.rows()
    replays = Replays(store, folder, read_sources(folder))
    return [one async for one in replays.play(rows)]


def one_way(
    folder: Path, file: str, change: Mapping[str, Any], query: str = "it is broken"
) -> Compared:
    """What becomes of a run after a change."""

    async def go() -> Compared:
        store = await recorded(repair_crew(folder), query, answers=2)
        edit(folder, file, change)
        (result,) = await replayed(store, folder)
        return result.compared

    return asyncio.run(go())


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_rehearsal_replays_as_it_was(tmp_path: Path, name: str):
    """Groups, pauses, plans, typed answers, failures, kills, conversations: none differs on its own files."""
    suite = Suite.read(copy_example(name, tmp_path))
    count = 0
    for case in suite.cases:
        loaded = suite.crew_of(case)
        played = play_case(case, loaded)
        for turn in played.turns:
            replays = Replays(played.store, suite.folder, read_sources(suite.folder))
            replays.loaded = loaded
            result = asyncio.run(replays.replay(turn.row))
            if "list of documents" not in result.compared.why:
                assert result.compared == Compared("same"), (case.id, result.compared)
                count += 1
    assert count >= len(suite.cases) - 1


@pytest.mark.parametrize(
    ("file", "change", "verdict", "now"),
    [
        ("crew.yaml", {"name": "another"}, "same", ""),
        ("crew.yaml", {"routing.signals.desk.0.target": None}, "other way, assumed", "end: signal"),
        ("crew.yaml", {"settings": {"max_handoffs": 1, "max_rounds": 1}}, "other way", "warning max_rounds"),
        ("tools.yaml", {"tools.restart.requires_approval": False}, "other way", 'restart({"service":"web"})'),
        ("tools.yaml", {"tools.restart.parameters": {"type": "object", "properties": {"service": {"enum": ["mail"]}}, "required": ["service"]}, "tools.restart.requires_approval": False}, "other way, assumed", "restart refused"),
        ("agents/fixer.yaml", {"system_prompt": "Be quick."}, "assumed", ""),
        ("agents/fixer.yaml", {"temperature": 0.1}, "assumed", ""),
        ("agents/fixer.yaml", {"tools": ["restart"]}, "assumed", ""),
        ("agents/fixer.yaml", {"is_terminal": False}, "other way", "end: no_next_agent"),
    ],
)  # fmt: skip
def test_verdicts(tmp_path: Path, file: str, change: dict[str, Any], verdict: str, now: str):
    found = one_way(tmp_path, file, change)
    assert (found.verdict, found.now) == (verdict, now), found


def test_the_cause_is_named(tmp_path: Path):
    found = one_way(tmp_path, "crew.yaml", {"routing.signals.desk.0.target": None})
    assert (found.step, found.recorded) == (1, "[FIX] → fixer")
    assert (found.source_then or "").startswith("crew.yaml:")


async def test_what_is_sent_is_shown_as_a_difference(tmp_path: Path):
    store = await recorded(repair_crew(tmp_path), "it is broken")
    edit(tmp_path, "agents/fixer.yaml", {"system_prompt": "You are quick."})
    (result,) = await replayed(store, tmp_path)
    asked = result.compared.asked
    assert asked is not None
    assert (asked.agent_id, asked.parts, result.compared.step) == ("fixer", ("prompt",), 2)
    assert "-You are fixer." in result.difference
    assert "+You are quick." in result.difference


async def test_what_is_not_recorded_is_unknown(tmp_path: Path):
    """An agent more has never answered: nothing is guessed."""
    store = await recorded(repair_crew(tmp_path), "it is broken", answers=2)
    agent = {
        "id": "boss",
        "name": "B",
        "role": "boss",
        "provider": "scripted",
        "system_prompt": "x",
    }
    (tmp_path / "agents" / "boss.yaml").write_text(yaml.safe_dump(agent))
    edit(
        tmp_path,
        "crew.yaml",
        {"agents": ["desk", "fixer", "boss"], "routing.signals.desk.0.target": "boss"},
    )
    (result,) = await replayed(store, tmp_path)
    assert result.compared.verdict == "other way, assumed", "the prompt names the targets"
    edit(tmp_path, "crew.yaml", {"routing.signals.desk.0.target": "fixer", "entry_point": "boss"})
    (result,) = await replayed(store, tmp_path)
    assert (result.compared.verdict, result.compared.why) == ("unknown", "a further answer of boss")


async def test_runs_are_grouped_by_their_cause(tmp_path: Path):
    store = await recorded(repair_crew(tmp_path), *["it is broken"] * 3, "thanks", answers=2)
    edit(tmp_path, "crew.yaml", {"routing.signals.desk.0.target": None})
    results = await replayed(store, tmp_path)
    (group,) = grouped(results)
    assert (len(group.results), group.is_certain) == (3, False)
    assert group.text == "step 1: end: signal, was [FIX] → fixer"
    assert headline(results) == "3 of 4 go another way (0 certain), 0 the same, 1 assumed"
    assert share_of_others(results) == 0.75


async def test_a_tool_is_never_called_and_a_failure_comes_again(tmp_path: Path):
    folder = repair_crew(tmp_path)
    store = await recorded(folder, "it is broken", answers=2)
    (folder / "acts.py").write_text(
        "def restart(service: str, delay: int = 0) -> str:\n    raise SystemExit('called')\n\n\n"
        "def look(where: str) -> str:\n    raise SystemExit('called')\n"
    )
    (result,) = await replayed(store, folder)
    assert result.compared.verdict == "same"


@pytest.mark.parametrize(
    ("rules", "end"),
    [
        ([{"agent": "desk", "fail": "refused"}], ("failed", "model")),
        ([{"agent": "desk", "fail": {"code": "unavailable", "times": 1}, "say": "Bye. [DONE]"}], ("completed", "signal")),
        ([{"agent": "desk", "say": "[FIX] [DONE]"}, {"agent": "fixer", "calls": ["nix"], "turn": 1}, {"agent": "fixer", "say": "Done."}], ("completed", "terminal")),
    ],
)  # fmt: skip
async def test_failures_and_refused_calls_are_replayed(
    tmp_path: Path, rules: list[Any], end: tuple[str, str]
):
    folder = repair_crew(tmp_path, rules, settings={"retry_backoff_min_millis": 100})
    store = await recorded(folder, "hello")
    (row,) = await store.rows()
    assert (row.status, row.reason) == end
    (result,) = await replayed(store, folder)
    assert result.compared.verdict == "same", result.compared


async def test_what_is_not_kept_says_why(tmp_path: Path):
    folder = repair_crew(tmp_path, RULES)
    store = await recorded(folder, "thanks", "hello", answers=0)
    done, paused = sorted(await store.rows(), key=lambda row: row.query, reverse=True)
    assert (await read_recording(store, paused)).row.status == "paused", "a pause is a beginning"
    store._records[done.run_id] = store._records[done.run_id][1:]
    with pytest.raises(NotKept, match="no longer kept"):
        await read_recording(store, done)
    results = {one.row.run_id: one for one in await replayed(store, folder)}
    assert results[done.run_id].compared.verdict == "not kept"
    assert results[paused.run_id].compared.verdict == "same"
    store.revisions._files.clear()
    edit(folder, "agents/desk.yaml", {"system_prompt": "Other."})
    results = {one.row.run_id: one for one in await replayed(store, folder)}
    assert "makes no crew here" in results[paused.run_id].compared.why


def test_a_deadline_is_over_when_it_was(tmp_path: Path):
    """What the run hears of it has the time of then, however long answers take now."""
    folder = repair_crew(tmp_path)
    call = {"tool": "restart", "arguments": {"service": "web"}}
    case = {
        "name": "one",
        "query": "it is broken",
        "says": {"fixer": [{"calls": [call], "seconds": 3.217}, "Left alone."]},
        "answers": [{"nobody": "16m"}],
        "expect": {"end": "terminal", "never": [{"call": "restart"}]},
    }
    suite = rehearse(folder, case)
    loaded = suite.crew_of(suite.cases[0])
    played = play_case(suite.cases[0], loaded)
    for takes_time in (True, False):
        replays = Replays(
            played.store, folder, read_sources(folder), ReplayOptions(takes_time=takes_time)
        )
        result = asyncio.run(replays.replay(played.turns[0].row))
        assert result.compared == Compared("same")
