"""A failed run is retried: it goes on at the step that failed, and repeats nothing before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from crew.runs.errors import NotRetryable
from tests.support.crews import write_crew
from tests.support.model_server import completion, http, model_server
from tools.clock import SYSTEM_CLOCK, Clock
from tools.virtual_clock import VirtualClock

ACTS = '''
import asyncio
from pathlib import Path
FOLDER = Path(__file__).parent

async def act(what: str) -> str:
    """Act; once, it does not come back."""
    with (FOLDER / "ledger").open("a") as out:
        out.write(what + " ")
    if what == "hang" and not (FOLDER / "healed").exists():
        await asyncio.Event().wait()
    return what
'''


class Retried:
    """The runs of a crew whose tool writes down its acts."""

    def __init__(self, folder: Path, agents: dict[str, Any], rules: list[Any], **crew: Any) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "acts.py").write_text(ACTS)
        entry = {"kind": "python", "function": "acts.py:act", **crew.pop("tool", {})}
        self.folder = write_crew(folder, agents, rules, {"act": entry}, **crew)

    @asynccontextmanager
    async def opened(self, clock: Clock = SYSTEM_CLOCK) -> AsyncIterator[Runs]:
        async with Runs(load_crew(self.folder, clock=clock), MemoryStore(clock)) as runs:
            yield runs

    @property
    def acts(self) -> list[str]:
        return (self.folder / "ledger").read_text().split()


async def failed(runs: Runs) -> str:
    """Start a run, and see it fail; its id."""
    run = await runs.start(Query("go"))
    row = await run.outcome()
    assert row.status == "failed", row
    return run.id


async def told(runs: Runs, run_id: str) -> list[str]:
    """Type and agent of all events."""
    stored = [event async for event in runs.stored(run_id)]
    return [f"{one.type} {one.metadata['agent_id'] or ''}".strip() for one in stored]


REFUSED = http(401, {"error": {"message": "the key is wrong"}})
ACT = {"tool": "act", "arguments": {"what": "x"}}


async def test_a_model_that_failed_is_asked_again(tmp_path: Path):
    """What came before it, tools too, is not repeated; no start is told twice."""
    answers = [http(200, completion(None, [("act", {"what": "x"})])), REFUSED]
    answers += [http(200, completion("done"))]
    async with model_server(answers) as server:
        agents = {"a": {"tools": ["act"], "provider": "mine"}}
        one = Retried(tmp_path, agents, [], providers={"mine": {"base_url": server.url}})
        async with one.opened() as runs:
            run_id = await failed(runs)
            row = await (await runs.retry(run_id)).outcome()
            assert (row.status, row.answer) == ("completed", "done")
            assert one.acts == ["x"]
            ends = ["agent_start a", "error a", "start a", "agent_response a", "done a"]
            assert (await told(runs, run_id))[-5:] == ends
            with pytest.raises(NotRetryable, match=r"is completed .*only a failed run"):
                await runs.retry(run_id)


async def test_a_group_whose_members_all_failed(tmp_path: Path):
    """Each member goes on where it was; its acts are not made again."""
    answers = {"b": [REFUSED, http(200, completion("b is well"))], "c": [REFUSED]}
    answers["b"].insert(0, http(200, completion(None, [("act", {"what": "x"})])))
    answers["c"].append(http(200, completion("c is well")))
    # before another attempt is made, and at a member's end
    members = {"b": {"tools": ["act"]}, "c": {}}

    def reply(request: dict[str, Any]) -> bytes:
        return answers[request["model"]].pop(0)

    async with model_server(reply) as server:
        routing = {
            "signals": {"a": [{"signal": "[G]", "target": "g"}]},
            "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
        }
        agents: dict[str, Any] = {"a": {}, "d": {"is_terminal": True}}
        for name, keys in members.items():
            agents[name] = {**keys, "provider": "mine", "model": name}
        rules = [{"agent": "a", "say": "all [G]"}, {"agent": "d", "say": "{{heard}}"}]
        providers = {"mine": {"base_url": server.url}}
        one = Retried(tmp_path, agents, rules, routing=routing, providers=providers)
        async with one.opened() as runs:
            run_id = await failed(runs)
            row = await (await runs.retry(run_id)).outcome()
            assert row.status == "completed", row
            assert "b is well" in (row.answer or "")
            assert "c is well" in (row.answer or "")
            assert one.acts == ["x"]
            types = [each.split()[0] for each in await told(runs, run_id)]
            # the group began once, and ended twice
            assert (types.count("parallel_start"), types.count("parallel_end")) == (1, 2)


async def test_a_run_that_took_too_long_has_its_time_again(tmp_path: Path):
    """Its call, which may have acted, is asked about; its duration is that of both."""
    rules = [
        {"agent": "a", "after": "act", "say": "came back"},
        {"agent": "a", "say": "", "calls": [{"tool": "act", "arguments": {"what": "hang"}}]},
    ]
    times = {
        "timeout_seconds": 10,
        "tool_execution_timeout_seconds": 60,
        "tool_result_timeout_seconds": 90,
    }
    tool = {"effect": "once"}
    agents = {"a": {"tools": ["act"]}}
    one, clock = Retried(tmp_path, agents, rules, tool=tool, settings=times), VirtualClock()
    moving = asyncio.create_task(clock.run())
    async with one.opened(clock) as runs:
        run_id = await failed(runs)
        (tmp_path / "healed").touch()
        row = await (await runs.retry(run_id)).outcome()
        assert row.status == "paused"
        assert one.acts == ["hang"]
        (pause,) = [e async for e in runs.stored(run_id) if e.type == "pause"]
        assert pause.metadata["question"] == "unknown_outcome"
        assert await runs.pause_of(row) == pause
        row = await (await runs.resume(run_id, Answer(decision="retry"))).outcome()
        assert (row.status, row.answer) == ("completed", "came back")
        assert one.acts == ["hang", "hang"]
        assert row.duration_seconds >= 10
        assert await runs.pause_of(row) is None
    moving.cancel()


async def test_what_nobody_decided_in_time_is_asked_again(tmp_path: Path):
    """With a deadline that fails the run, a retry has a deadline of its own."""
    rules = [
        {"agent": "a", "after": "act", "say": "done"},
        {"agent": "a", "say": "", "calls": [ACT]},
    ]
    tool = {"requires_approval": {"deadline_seconds": 60, "on_deadline": "fail"}}
    one, clock = Retried(tmp_path, {"a": {"tools": ["act"]}}, rules, tool=tool), VirtualClock()
    moving = asyncio.create_task(clock.run())
    async with one.opened(clock) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        assert row.status == "paused"
        await clock.sleep(61)
        (due,) = await runs.store.due_pauses(5, 60)
        await runs.expire(due)
        row = await runs.outcome(run.id)
        assert row.status == "failed", row
        row = await (await runs.retry(run.id)).outcome()
        assert row.status == "paused", row
        pause = await runs.pause_of(row)
        assert pause is not None
        (asked,) = pause.metadata["calls"]
        yes = CallDecision(asked["call_id"], "approve", asked["agent_id"], hash=asked["hash"])
        row = await (await runs.resume(run.id, Answer(decisions=(yes,)))).outcome()
        assert (row.status, one.acts) == ("completed", ["x"])
    moving.cancel()
