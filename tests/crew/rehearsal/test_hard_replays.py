"""Stored runs that are hard to play again: no wrong verdict, no crash, and the reason in words."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from crew import MemoryStore, Query, Runs, load_crew
from crew.config.files.sources import read_sources
from crew.rehearsal.replaying.doubles import RecordedDoubles
from crew.rehearsal.replaying.options import ReplayOptions
from crew.rehearsal.replaying.recording import NotKept, read_recording
from crew.rehearsal.replaying.replays import Replays
from tests.crew.rehearsal.test_replays import edit, recorded, replayed
from tests.support.crews import write_crew
from tests.support.rehearsed import RULES, kinds, play_one, repair_crew
from tools.virtual_clock import VirtualClock, VirtualLoop


async def verdict_of(store: MemoryStore, folder: Path) -> tuple[str, str, str]:
    """What becomes of the only run."""
    (result,) = await replayed(store, folder)
    found = result.compared
    return found.verdict, found.now, found.why


def tool_crew(
    folder: Path, code: str, tool: dict[str, Any], rules: list[Any] | None = None
) -> Path:
    """A crew of one agent with one tool of its own."""
    calls = [{"tool": "act", "arguments": {"number": 1}}]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.py").write_text(code)
    return write_crew(
        folder,
        {"a": {"tools": ["act"], "is_terminal": True}},
        rules or [{"after": "act", "say": "It says {{result.act}}"}, {"calls": calls}],
        {"act": {"kind": "python", "function": "t.py:act", **tool}},
    )


async def run_of(folder: Path, query: Query | str = "go", clock: Any = None) -> MemoryStore:
    """One run of a crew."""
    crew = load_crew(folder) if clock is None else load_crew(folder, clock=clock)
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        run = await runs.start(Query(query) if isinstance(query, str) else query)
        await run.outcome()
    return store


async def test_a_run_of_an_agent_that_is_gone_begins_no_more(tmp_path: Path):
    """Certain, and the others are played all the same."""
    folder = repair_crew(tmp_path, settings={"client_start_agents": ["fixer"]})
    store = await recorded(folder, "thanks")
    (row,) = await store.rows()
    crew = load_crew(folder)
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("it is broken", agent_id="fixer"))
        await runs.outcome(run.id)
    edit(folder, "crew.yaml", {"agents": ["desk"], "routing": None, "settings": None})
    edit(folder, "tools.yaml", {"tools.restart": None, "tools.look": None})
    (folder / "agents" / "fixer.yaml").unlink()
    (folder / "script.yaml").write_text(yaml.safe_dump({"rules": RULES[:3]}))
    results = {one.row.run_id: one.compared for one in await replayed(store, folder)}
    found = results[run.id]
    assert (found.verdict, found.is_certain, found.step) == ("other way", True, 1)
    assert "is not started: " in found.now
    assert "fixer" in found.now
    assert results[row.run_id].now == "end: no_next_agent", "its routing is gone"


async def test_events_without_digests_prove_nothing(tmp_path: Path):
    """An earlier version wrote them: what a model was sent is not known."""
    folder = repair_crew(tmp_path)
    store = await recorded(folder, "thanks")
    (run_id,) = store._records
    old = []
    for one in store._records[run_id]:
        name, seconds, fields = json.loads(one.event)
        if name == "AgentResponded":
            fields["asked"] = None
        old.append(type(one)(one.seq, one.public, json.dumps([name, seconds, fields])))
    store._records[run_id] = old
    edit(folder, "agents/desk.yaml", {"system_prompt": "Other."})
    verdict, _, why = await verdict_of(store, folder)
    assert verdict == "not kept"
    assert "without what models were sent" in why


async def test_a_hole_in_the_events_is_seen(tmp_path: Path):
    folder = repair_crew(tmp_path)
    store = await recorded(folder, "it is broken", answers=2)
    (run_id,) = store._records
    whole = store._records[run_id]
    (row,) = await store.rows()
    for gone in range(1, len(whole) - 1):
        store._records[run_id] = [*whole[:gone], *whole[gone + 1 :]]
        with pytest.raises(NotKept, match="no longer kept"):
            await read_recording(store, row)


@pytest.mark.parametrize("size", [1_999, 2_001, 60_000, 70_000, 300_000])
async def test_a_long_result_is_the_same_one(tmp_path: Path, size: int):
    """Also where only its beginning and end are kept."""
    code = f'def act(number: int) -> str:\n    """Act."""\n    return "x" * {size}\n'
    folder = tool_crew(tmp_path, code, {})
    store = await run_of(folder)
    assert (await verdict_of(store, folder))[0] == "same"


@pytest.mark.parametrize("value", ["swordfish-of-the-night", "s" * 3 + "-Ab1!-" + "t" * 40])
async def test_a_secret_in_a_result_changes_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
):
    """Nor is the model shown that something was cut."""
    monkeypatch.setenv("ACT_TOKEN", value)
    code = (
        "import os\n\n\ndef act(number: int) -> str:\n"
        '    """Act."""\n    return "the token is " + os.environ["ACT_TOKEN"]\n'
    )
    folder = tool_crew(tmp_path, code, {})
    store = await run_of(folder)
    (row,) = await store.rows()
    assert row.answer == "It says the token is ***"
    assert "TRUNCATED" not in str(store._records)
    assert (await verdict_of(store, folder))[0] == "same"


async def test_a_run_that_was_retried_says_so(tmp_path: Path):
    folder = repair_crew(tmp_path, [{"agent": "desk", "fail": "refused"}])
    store = await recorded(folder, "hello")
    (row,) = await store.rows()
    async with Runs(load_crew(folder), store) as runs:
        await runs.retry(row.run_id)
        await runs.outcome(row.run_id)
    verdict, _, why = await verdict_of(store, folder)
    assert verdict == "not kept"
    assert "retried" in why


async def test_a_copy_of_a_run_is_not_played(tmp_path: Path):
    folder = repair_crew(tmp_path)
    store = await recorded(folder, "it is broken", answers=2)
    (row,) = await store.rows()
    async with Runs(load_crew(folder), store) as runs:
        copy = await runs.fork(row.run_id, 3)
        await runs.outcome(copy.id)
    results = {one.row.run_id: one.compared for one in await replayed(store, folder)}
    assert results[row.run_id].verdict == "same"
    assert (results[copy.id].verdict, results[copy.id].why) == (
        "not kept",
        "it began as a copy of another run",
    )


async def test_a_run_that_still_goes_on_is_not_played(tmp_path: Path):
    code = (
        "import asyncio\n\n\nasync def act(number: int) -> str:\n"
        '    """Act."""\n    await asyncio.Event().wait()\n'
    )
    folder = tool_crew(tmp_path, code, {})
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("go"))
        async for event in runs.follow(run.id):
            if event is not None and event.type == "tool_start":
                break
        (result,) = await replayed(store, folder)
        await runs.cancel(run.id)
    assert (result.compared.verdict, result.compared.why) == ("not kept", "it still goes on")


async def test_a_tool_by_another_name_is_another_way(tmp_path: Path):
    """Its recorded call is refused now."""
    code = 'def act(number: int) -> str:\n    """Act."""\n    return "done"\n'
    folder = tool_crew(tmp_path, code, {})
    store = await run_of(folder)
    edit(folder, "tools.yaml", {"tools.act": None})
    given = {"kind": "python", "function": "t.py:act"}
    edit(folder, "tools.yaml", {"tools": {"perform": given}})
    edit(folder, "agents/a.yaml", {"tools": ["perform"]})
    rules = [{"after": "perform", "say": "Well."}, {"calls": ["perform"]}]
    (folder / "script.yaml").write_text(yaml.safe_dump({"rules": rules}))
    verdict, now, _ = await verdict_of(store, folder)
    assert verdict == "other way, assumed"
    assert now.startswith("act refused")


@pytest.mark.parametrize("takes_time", [True, False])
def test_a_day_that_ends_in_a_run_is_no_difference(tmp_path: Path, takes_time: bool):
    """`{{today}}` is another day for the second answer; on its own files the run is the same."""
    clock = VirtualClock(datetime(2026, 11, 28, 23, 59, 58, tzinfo=UTC))
    code = 'def act(number: int) -> str:\n    """Act."""\n    return "done"\n'
    calls = [{"tool": "act", "arguments": {"number": 1}}]
    rules = [{"after": "act", "say": "Well."}, {"calls": calls, "delay_seconds": 5}]
    folder = tool_crew(tmp_path, code, {}, rules)
    edit(folder, "agents/a.yaml", {"system_prompt": "Today is {{today}}."})

    async def go() -> MemoryStore:
        moving = asyncio.create_task(clock.run())
        try:
            return await run_of(folder, clock=clock)
        finally:
            moving.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        store = runner.run(go())
    assert clock.now().day == 29
    (row,) = asyncio.run(store.rows())
    replays = Replays(store, folder, read_sources(folder), ReplayOptions(takes_time=takes_time))
    found = asyncio.run(replays.replay(row)).compared
    # without the time that passed the second answer is on the same day: that is told, and no more
    assert found.verdict == ("same" if takes_time else "assumed"), found


async def test_equal_calls_have_the_results_that_they_had(tmp_path: Path):
    """In their order, each once; where a third is made there is none."""
    code = (
        "COUNT = []\n\n\ndef act(number: int) -> str:\n"
        '    """Act."""\n    COUNT.append(1)\n    return f"result {len(COUNT)}"\n'
    )
    call = {"tool": "act", "arguments": {"number": 1}}
    rules = [{"turn": 1, "calls": [call, call]}, {"say": "Well."}]
    folder = tool_crew(tmp_path, code, {"effect": "read"}, rules)
    store = await run_of(folder)
    (row,) = await store.rows()
    recording = await read_recording(store, row)
    doubles = RecordedDoubles(recording, load_crew(folder).clock, ReplayOptions())
    results = [queue[0] for queue in doubles.results.values()]
    assert [one.output for one in results] == ["result 1", "result 2"]
    doubles.use(results[0])
    (left,) = doubles.alike.values()
    assert [one.output for one in left] == ["result 2"]
    assert (await verdict_of(store, folder))[0] == "same"


def test_a_real_tool_that_waits_is_waited_for(tmp_path: Path):
    """An asynchronous one has the machine's time, and virtual time stands still meanwhile."""
    code = (
        "import asyncio\n\n\nasync def act(number: int) -> str:\n"
        '    """Act."""\n    await asyncio.sleep(0.02)\n    return "done"\n'
    )
    folder = tool_crew(tmp_path, code, {"effect": "read"})
    result = play_one(
        folder,
        query="go",
        says={"a": [{"calls": [{"tool": "act", "arguments": {"number": 1}}]}, "Well."]},
        returns={"act": [{"real": True}]},
        expect={"end": "terminal", "calls": [{"tool": "act", "status": "success"}]},
    )
    assert kinds(result) == [], result.mismatches


def test_an_answer_at_the_very_deadline_is_too_late(tmp_path: Path):
    """And one a second before is in time: the same each time it is played."""
    folder = repair_crew(tmp_path)
    call = {"tool": "restart", "arguments": {"service": "web"}}

    def ends(wait: str) -> list[str]:
        return kinds(
            play_one(
                folder,
                query="it is broken",
                says={"fixer": [{"calls": [call]}, "Done."]},
                returns={"restart": [{"output": "up"}]},
                answers=[{"approve": True, "after": wait}],
                expect={"end": "terminal", "calls": [{"tool": "restart"}]},
            )
        )

    assert ends("899s") == []
    assert ends("900s") != []
    assert ends("900s") == ends("900s")


async def test_what_cannot_be_played_is_of_this_run_alone(tmp_path: Path):
    """A mistake of the runtime is told with its kind; the other runs are played."""
    folder = repair_crew(tmp_path)
    store = await recorded(folder, "thanks", "thanks")
    first, second = await store.rows()

    class Broken(Replays):
        async def _compared(self, row: Any) -> Any:
            if row.run_id == first.run_id:
                raise KeyError("x")
            return await super()._compared(row)

    replays = Broken(store, folder, read_sources(folder))
    found = {one.row.run_id: one.compared async for one in replays.play([first, second])}
    assert found[first.run_id].verdict == "not reproduced"
    assert "KeyError" in found[first.run_id].why
    assert found[second.run_id].verdict == "same"


async def test_a_conversation_that_is_deleted_meanwhile(tmp_path: Path):
    """Of runs that were chosen before: nothing is guessed."""
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "ok"}], conversations={})
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    runs = Runs(crew, store)
    for text in ("one", "two"):
        await (await runs.start(Query(text, user_id="ann", conversation_id="c1"))).outcome()
    rows = await store.rows()
    await runs.conversations.delete("ann", "c1")
    replays = Replays(store, folder, read_sources(folder))
    found = [one.compared async for one in replays.play(rows)]
    assert {one.verdict for one in found} == {"not kept"}
    assert all(one.why for one in found)


async def test_a_revision_that_makes_no_crew_any_more(tmp_path: Path):
    """Its function is gone: what differs from it cannot be proved."""
    folder = repair_crew(tmp_path)
    store = await recorded(folder, "it is broken", answers=2)
    path = folder / "acts.py"
    path.write_text(path.read_text().replace("def look", "def seen"))
    edit(folder, "tools.yaml", {"tools.look.function": "acts.py:seen"})
    edit(folder, "crew.yaml", {"routing.signals.desk.0.target": None})
    (result,) = await replayed(store, folder)
    assert result.compared.verdict == "not kept"
    assert "makes no crew here any more" in result.compared.why
