"""The loop: the order of events, limits exactly, tools against signals, pauses, failures, isolation."""

import json
import re
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from crew import MemoryStore, Query, Runs, Said, SqliteStore, load_crew
from crew.backends.conformance import a_row, some_records
from crew.errors import Draining, NotPaused, RunEnded, StoreError, UnknownRun
from crew.journal.store import Record, Write
from crew.runs.reader import RunReader
from crew.runs.run import new_run_id
from tests.stage import completion, crew_of, http, model_server, play, write_crew
from tools import PermanentError, tool


@tool
async def lookup(word: str) -> str:
    """Look a word up."""
    return f"meaning of {word}"


def routes(**signals: Any) -> dict[str, Any]:
    return {
        "signals": {
            agent: [{"signal": text, "target": target} for text, target in pairs.items()]
            for agent, pairs in signals.items()
        }
    }


async def test_the_events_of_a_run(tmp_path: Path):
    """In their order, numbered without holes, with what each type adds."""
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {"is_terminal": True, "tools": ["lookup"]}},
        [
            {"agent": "a", "say": "to b [B]"},
            {"agent": "b", "after": "lookup", "say": "It is the {{result.lookup}}."},
            {
                "agent": "b",
                "say": "Let me see.",
                "calls": [{"tool": "lookup", "arguments": {"word": "x"}}],
            },
        ],
        lookup,
        routing=routes(a={"[B]": "b"}),
    )
    played = await play(crew, "what is x?")
    expected = [
        "start",
        "agent_start",
        "agent_response",
        "handoff",
        "agent_start",
        "agent_response",
        "tool_start",
        "tool_result",
        "agent_start",
        "agent_response",
        "done",
    ]
    assert played.types == expected
    assert [event["metadata"]["seq"] for event in played.events] == list(
        range(1, len(expected) + 1)
    )
    assert {event["metadata"]["run_id"] for event in played.events} == {played.row.run_id}
    handoff = played.of("handoff")[0]["metadata"]
    assert (handoff["from"], handoff["to"], handoff["why"], handoff["signal"]) == (
        "a",
        "b",
        "signal",
        "[B]",
    )
    assert re.fullmatch(r"crew\.yaml:\d+", handoff["source"])
    result = played.of("tool_result")[0]
    assert result["content"] == "✅ [Tool] lookup → meaning of x"
    assert (result["metadata"]["status"], result["metadata"]["attempts"]) == ("success", 1)
    assert result["metadata"]["call_id"] == played.of("tool_start")[0]["metadata"]["call_id"]
    done = played.of("done")[0]["metadata"]
    assert (done["reason"], done["answer"], done["rounds"], done["handoffs"], done["agent_id"]) == (
        "terminal",
        "It is the meaning of x.",
        3,
        1,
        "b",
    )
    assert played.of("start")[0]["agent"] == "system"
    assert played.of("agent_start")[0]["content"] == "Starting A"
    assert all(
        set(event) == {"type", "agent", "content", "timestamp", "metadata"}
        for event in played.events
    )


async def test_a_crew_without_routing_is_a_pipeline(tmp_path: Path):
    """One after the other, then the end."""
    played = await play(crew_of(tmp_path, {"a": {}, "b": {}, "c": {}}, [{"say": "x"}]), "go")
    assert played.path == ["a", "b", "c"]
    assert played.row.reason == "no_next_agent"


async def test_a_signal_beside_a_call_is_not_acted_on(tmp_path: Path):
    """The tools run first, and the same agent speaks again."""
    rules = [
        {"agent": "a", "after": "lookup", "say": "stay"},
        {"agent": "a", "say": "[B]", "calls": [{"tool": "lookup", "arguments": {"word": "x"}}]},
        {"say": "b"},
    ]
    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["lookup"], "handoff_targets": []}, "b": {}},
        rules,
        lookup,
        routing=routes(a={"[B]": "b"}),
    )
    played = await play(crew, "go")
    assert played.path == ["a", "a"]
    assert played.row.answer == "stay"


async def test_a_signal_in_a_tool_output_is_not_an_agents(tmp_path: Path):
    """Only its own words count."""

    @tool
    async def sneaky() -> str:
        return "[B]"

    rules = [{"after": "sneaky", "say": "nothing"}, {"say": "", "calls": ["sneaky"]}]
    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["sneaky"], "handoff_targets": []}, "b": {}},
        rules,
        sneaky,
        routing=routes(a={"[B]": "b"}),
    )
    assert (await play(crew, "go")).path == ["a", "a"]


async def test_calls_in_text(tmp_path: Path):
    """Are found, run, and answered with one user message."""
    rules = [
        {"after": "lookup", "say": "got {{result.lookup}}"},
        {"say": "I look.\nlookup(x)\nlookup(\nbad"},
    ]
    crew = crew_of(tmp_path, {"a": {"tools": ["lookup"]}}, rules, lookup)
    played = await play(crew, "go")
    assert [event["metadata"]["status"] for event in played.of("tool_result")] == [
        "success",
        "error",
    ]
    assert played.of("tool_result")[0]["content"] == "✅ [Tool] lookup → meaning of x"
    assert "cannot be read" in played.of("tool_result")[1]["content"]


PING_PONG: dict[str, Any] = {"a": {}, "b": {}}
BOUNCE = [{"agent": "a", "say": "[B]"}, {"agent": "b", "say": "[A]"}]


@pytest.mark.parametrize(
    ("settings", "reason", "rounds", "handoffs"),
    [
        ({"max_handoffs": 0}, "max_handoffs", 1, 0),
        ({"max_handoffs": 4, "max_rounds": 99}, "max_handoffs", 5, 4),
        ({"max_handoffs": 5, "max_rounds": 99}, "max_handoffs", 6, 5),
        ({"max_handoffs": 6, "max_rounds": 99}, "max_handoffs", 7, 6),
        ({"max_handoffs": 99, "max_rounds": 1}, "max_rounds", 1, 1),
        ({"max_handoffs": 99, "max_rounds": 4}, "max_rounds", 4, 4),
        ({"max_handoffs": 99, "max_rounds": 5}, "max_rounds", 5, 5),
        ({"max_handoffs": 4, "max_rounds": 5}, "max_handoffs", 5, 4),
    ],
)
async def test_limits_are_counted_exactly(
    tmp_path: Path, settings: dict[str, Any], reason: str, rounds: int, handoffs: int
):
    """At the limit the run ends in good order, with a warning; a refused handoff has no event; both at once: max_handoffs."""
    crew = crew_of(
        tmp_path,
        PING_PONG,
        BOUNCE,
        routing=routes(a={"[B]": "b"}, b={"[A]": "a"}),
        settings=settings,
    )
    played = await play(crew, "go")
    done = played.of("done")[0]["metadata"]
    assert (done["reason"], done["rounds"], done["handoffs"]) == (reason, rounds, handoffs)
    assert len(played.of("handoff")) == handoffs
    assert len(played.of("agent_response")) == rounds
    assert [event["metadata"]["code"] for event in played.of("warning")] == [reason]
    assert played.row.status == "completed"
    assert played.types[-1] == "done"


@pytest.mark.parametrize("limit", [2, 3, 4])
async def test_a_run_that_needs_three_rounds(tmp_path: Path, limit: int):
    """n-1 is too few, n and n+1 are enough."""
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {}, "c": {"is_terminal": True}},
        [{"say": "x"}],
        settings={"max_rounds": limit},
    )
    assert (await play(crew, "go")).row.reason == ("max_rounds" if limit < 3 else "terminal")


async def test_a_tool_loop_is_bounded_by_rounds(tmp_path: Path):
    """An agent that calls for ever ends with the rounds."""
    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["lookup"]}},
        [{"say": "", "calls": [{"tool": "lookup", "arguments": {"word": "x"}}]}],
        lookup,
        settings={"max_rounds": 3},
    )
    played = await play(crew, "go")
    assert played.row.reason == "max_rounds"
    assert len(played.of("tool_result")) == 3


async def test_the_run_has_its_time(tmp_path: Path):
    """Past timeout_seconds it ends with an error, in the middle of whatever it did."""
    crew = crew_of(
        tmp_path, {"a": {}}, [{"say": "x", "delay_seconds": 30}], settings={"timeout_seconds": 0.1}
    )
    with anyio.fail_after(5):
        played = await play(crew, "go")
    assert played.types == ["start", "agent_start", "error"]
    assert played.of("error")[0]["metadata"]["reason"] == "timeout"
    assert (played.row.status, played.row.reason) == ("failed", "timeout")


PAUSING = {
    "routing": {**routes(a={"[B]": "b"}), "agent_behaviors": {"a": {"wait_for_signal": True}}}
}
ASKING = [
    {"agent": "a", "hears": "enough", "say": "thanks [B]"},
    {"agent": "a", "say": "tell me more"},
    {"agent": "b", "say": "{{heard}}!"},
]


async def test_a_pause_and_its_answers(tmp_path: Path):
    """It pauses as often as the agent asks; counts begin anew, numbers and usage go on; one start and one end a stretch."""
    crew = crew_of(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    played = await play(crew, "help", "not yet", "enough")
    assert played.types == (
        ["start", "agent_start", "agent_response", "pause", "done"] * 2
        + ["start", "agent_start", "agent_response", "handoff", "agent_start", "agent_response", "done"]
    )  # fmt: skip
    assert [event["metadata"]["resumed"] for event in played.of("start")] == [False, True, True]
    assert [event["metadata"]["reason"] for event in played.of("done")] == [
        "paused",
        "paused",
        "terminal",
    ]
    assert played.of("pause")[0]["content"] == "[PAUSE:a] Waiting for user input"
    assert [event["metadata"]["seq"] for event in played.events] == list(range(1, 18))
    assert [event["metadata"]["round"] for event in played.of("agent_start")] == [1, 1, 1, 2]
    totals = [event["metadata"]["usage"]["total_tokens"] for event in played.of("done")]
    assert totals == sorted(totals)
    assert len(set(totals)) == 3
    assert played.row.answer == "[A]: thanks [B]!"


async def test_handoffs_and_who_has_spoken_count_anew(tmp_path: Path):
    """With each answer of a person: one handoff before it, one after it, and the first agent may be led to again."""
    routing = {**routes(a={"[B]": "b"}), "agent_behaviors": {"b": {"wait_for_signal": True}}}
    routing["signals"]["b"] = [{"signal": "[A]", "target": "a"}]
    rules = [
        {"agent": "a", "turn": 1, "say": "[B]"},
        {"agent": "a", "say": "home"},
        {"agent": "b", "hears": "go on", "say": "[A]"},
        {"agent": "b", "say": "shall I?"},
    ]
    agents: dict[str, Any] = {"a": {"handoff_targets": []}, "b": {}}
    played = await play(
        crew_of(tmp_path, agents, rules, routing=routing, settings={"max_handoffs": 1}),
        "start",
        "go on",
    )
    assert played.path == ["a", "b", "b", "a"]
    assert [event["metadata"]["handoffs"] for event in played.of("done")] == [1, 1]
    assert played.row.reason == "no_next_agent"


class Full(MemoryStore):
    """A store whose disk is full after so many writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.writes = writes

    async def append(self, write: Write) -> int:
        """Fail once the writes are used up."""
        self.writes -= 1
        if self.writes < 0:
            raise StoreError("the disk is full")
        return await super().append(write)


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_what_cannot_be_stored_is_not_told(tmp_path: Path, writes: int):
    """The run stops, whoever waits is told why, its followers' lines end without an end of the run; the others go on."""
    crew = crew_of(tmp_path, {"a": {}, "b": {}, "c": {}}, [{"say": "x", "delay_seconds": 0.01}])
    store = Full(writes)
    async with Runs(crew, store) as runs:
        if writes == 0:
            with pytest.raises(StoreError, match="disk is full"):
                await runs.start(Query("go"))
            assert runs.live == {}
            return
        run = await runs.start(Query("go"))
        lines = [json.loads(line.public)["type"] async for line in runs.follow(run.id) if line]
        with pytest.raises(StoreError, match="disk is full"):
            await run.outcome()
        assert "done" not in lines
        assert len(lines) == len(await store.records(run.id))
        assert (await runs.row(run.id)).status == "running"
        store.writes = 99
        assert (await (await runs.start(Query("again"))).outcome()).status == "completed"


async def test_the_history_of_a_pause_is_kept(tmp_path: Path):
    """What was said before is what the model is sent after."""
    crew_file: dict[str, Any] = {**PAUSING, "providers": {"mine": {"base_url": "http://x/v1"}}}
    async with model_server(
        lambda request: http(
            200, completion("tell me more" if len(request["messages"]) < 4 else "[B]")
        )
    ) as server:
        crew_file["providers"]["mine"]["base_url"] = server.url
        write_crew(
            tmp_path,
            {"a": {"provider": "mine"}, "b": {"provider": "mine", "is_terminal": True}},
            **crew_file,
        )
        await play(load_crew(tmp_path), "first", "second")
    assert [(m["role"], m["content"]) for m in server.asked[1]["messages"][1:]] == [
        ("user", "first"),
        ("assistant", "tell me more"),
        ("user", "second"),
    ]
    assert server.asked[2]["messages"][-1] == {"role": "user", "content": "[A]: [B]"}


async def test_two_answers_at_once(tmp_path: Path):
    """The first wins, the other is refused; later ones too."""
    crew = crew_of(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    async with Runs(crew, SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("help"))
        await run.outcome()
        outcomes: list[str] = []

        async def answer() -> None:
            try:
                await (await runs.resume(run.id, Query("enough"))).outcome()
                outcomes.append("won")
            except NotPaused:
                outcomes.append("lost")

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(answer)
        assert sorted(outcomes) == ["lost"] * 7 + ["won"]
        with pytest.raises(NotPaused):
            await runs.resume(run.id, Query("late"))


async def test_a_pause_is_answered_by_another_process(tmp_path: Path):
    """All that is needed is in the store."""
    folder = write_crew(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(
            Query("help", history=(Said("user", "earlier"), Said("assistant", "words")))
        )
        assert (await run.outcome()).status == "paused"
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        resumed = await runs.resume(run.id, Query("enough"))
        row = await resumed.outcome()
        lines = [json.loads(line.public) async for line in runs.follow(run.id) if line]
    assert (row.status, row.answer) == ("completed", "[A]: thanks [B]!")
    assert [line["metadata"]["seq"] for line in lines] == list(range(1, len(lines) + 1))


async def test_histories_of_clients(tmp_path: Path):
    """Their assistant messages are the starting agent's own; their system messages are not sent; another entry may be named."""
    async with model_server([http(200, completion("x"))]) as server:
        providers = {"mine": {"base_url": server.url}}
        crew = load_crew(
            write_crew(
                tmp_path,
                {"a": {"provider": "mine"}, "b": {"provider": "mine", "is_terminal": True}},
                providers=providers,
            )
        )
        history = (Said("user", "u"), Said("assistant", "mine"), Said("system", "obey"))
        played = await play(crew, query=Query("q", history, agent_id="b"))
    assert [(m["role"], m["content"]) for m in server.asked[0]["messages"]] == [
        ("system", "You are b."),
        ("user", "u"),
        ("assistant", "mine"),
        ("user", "q"),
    ]
    assert played.path == ["b"]


@pytest.mark.parametrize("code", ["refused", "rate_limited", "unreadable", "empty", "timeout"])
async def test_a_model_that_fails_ends_the_run_or_the_backup_speaks(tmp_path: Path, code: str):
    """One clear error; or a warning and the backup's answer."""
    fails = [{"agent": "a", "fail": code}]
    settings = {"settings": {"retry_backoff_min_millis": 1}}
    played = await play(crew_of(tmp_path / "1", {"a": {}}, fails, **settings), "go")
    assert (played.row.status, played.row.reason) == ("failed", "model")
    assert played.types[-1] == "error"
    assert played.of("error")[0]["metadata"]["code"] == code
    async with model_server([http(200, completion("from the backup"))]) as server:
        agent = {
            "primary": {"model": "p", "provider": "scripted"},
            "backup": {"model": "b", "provider": "mine"},
        }
        backed = await play(
            crew_of(
                tmp_path / "2",
                {"a": agent},
                fails,
                providers={"mine": {"base_url": server.url}},
                **settings,
            ),
            "go",
        )
    assert backed.row.answer == "from the backup"
    assert "model_backup" in [event["metadata"]["code"] for event in backed.of("warning")]


async def test_cancelling(tmp_path: Path):
    """A running run and a paused one end as cancelled; one that has ended does not."""
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {"is_terminal": True}},
        [{"hears": "slow", "say": "x", "delay_seconds": 30}, *ASKING],
        **PAUSING,
    )
    async with Runs(crew, MemoryStore()) as runs:
        running, paused = await runs.start(Query("slow")), await runs.start(Query("ask me"))
        assert (await paused.outcome()).status == "paused"
        for run in (running, paused):
            await runs.cancel(run.id)
            lines = [json.loads(line.public) async for line in runs.follow(run.id) if line]
            assert (lines[-1]["type"], lines[-1]["metadata"]["reason"]) == ("done", "cancelled")
            assert (await runs.row(run.id)).status == "cancelled"
            with pytest.raises(RunEnded):
                await runs.cancel(run.id)
        with pytest.raises(UnknownRun):
            await runs.cancel("nope")


async def test_words_are_told_as_they_are_written(tmp_path: Path):
    """Only where asked for; not stored, without a number."""
    crew = crew_of(tmp_path, {"a": {}}, [{"say": "one two three", "delay_seconds": 0.01}])
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("go", deltas=True))
        live = [(line.seq, json.loads(line.public)) async for line in runs.follow(run.id) if line]
        stored = [json.loads(line.public) async for line in runs.follow(run.id) if line]
    deltas = [event for seq, event in live if seq is None]
    assert "".join(event["content"] for event in deltas) == "one two three"
    assert all("seq" not in event["metadata"] for event in deltas)
    assert [event["type"] for event in stored] == ["start", "agent_start", "agent_response", "done"]
    assert [event for seq, event in live if seq is not None] == stored


async def test_two_hundred_runs_at_once_never_mix(tmp_path: Path):
    """Each answer holds its own query's number, through two agents, a tool and the store."""
    rules = [
        {"agent": "a", "say": "for b: {{heard}} [B]", "delay_seconds": 0.01},
        {"agent": "b", "after": "lookup", "say": "{{heard}} = {{result.lookup}}"},
        {"agent": "b", "say": 'lookup("{{heard}}")'},
    ]
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {"is_terminal": True, "tools": ["lookup"]}},
        rules,
        lookup,
        routing=routes(a={"[B]": "b"}),
    )
    async with Runs(crew, SqliteStore(tmp_path / "x.db")) as runs:
        answers: dict[int, str] = {}

        async def one(n: int) -> None:
            row = await (await runs.start(Query(f"query-{n}-"))).outcome()
            answers[n] = row.answer or ""

        async with anyio.create_task_group() as tasks:
            for n in range(200):
                tasks.start_soon(one, n)
    assert len(answers) == 200
    for n, answer in answers.items():
        assert set(re.findall(r"query-(\d+)-", answer)) == {str(n)}
        assert "meaning of" in answer


async def test_draining(tmp_path: Path):
    """No new runs; what has not ended in time stays `running`, and the next one takes it up and ends it."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "x", "delay_seconds": 1}])
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("go"))
        await runs.drain(0)
        with pytest.raises(Draining):
            await runs.start(Query("late"))
        lines = [json.loads(line.public)["type"] async for line in runs.follow(run.id) if line]
        assert lines == ["start", "agent_start"]
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        (taken,) = await runs.recover()
        assert (await taken.outcome()).status == "completed"
        lines = [json.loads(line.public)["type"] async for line in runs.follow(run.id) if line]
        assert lines == ["start", "agent_start", "agent_response", "done"]


async def test_an_answer_that_is_given_is_given(tmp_path: Path):
    """Also when whoever gave it goes away at that moment."""
    crew = crew_of(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    async with Runs(crew, SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("help"))
        await run.outcome()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await runs.resume(run.id, Query("enough"))
        lines = [line async for line in runs.follow(run.id) if line]
        assert '"reason":"terminal"' in lines[-1].public or '"reason":"paused"' in lines[-1].public
        while (await runs.row(run.id)).status != "completed":
            await anyio.lowlevel.checkpoint()


async def test_cancelling_in_the_moment_of_a_pause(tmp_path: Path):
    """Ends the run, whether the pause is stored already or not."""
    crew = crew_of(tmp_path, {"a": {}, "b": {}}, ASKING, **PAUSING)
    for turns in range(12):
        async with Runs(crew, SqliteStore(tmp_path / f"{turns}.db")) as runs:
            run = await runs.start(Query("help"))
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            await runs.cancel(run.id)
            await run.stopped()
            if run.id in runs.live:
                await runs.live[run.id].stopped()
            assert (await runs.row(run.id)).status == "cancelled"


async def test_a_tool_with_words_that_have_no_form_leaves_no_hole(tmp_path: Path):
    """An undecodable file name in an error."""

    @tool
    async def odd() -> str:
        raise PermanentError("/tmp/\udcff")

    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["odd"]}},
        [{"after": "odd", "say": "{{result.odd}}"}, {"say": "", "calls": ["odd"]}],
        odd,
    )
    played = await play(crew, "go")
    assert [event["metadata"]["seq"] for event in played.events] == list(
        range(1, len(played.events) + 1)
    )
    assert "/tmp/?" in (played.row.answer or "")


def test_run_ids_sort_by_time():
    """So that the newest is first in lists, whatever store."""
    ids = [new_run_id() for _ in range(50)]
    assert len(set(ids)) == 50
    assert [run_id[:12] for run_id in ids] == sorted(run_id[:12] for run_id in ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,128}", run_id) for run_id in ids)


class Late(MemoryStore):
    """A store that shows a run's events only from the second look on, as if they came between two."""

    looks = 0

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> list[Record]:
        """See RunStore."""
        self.looks += 1
        return [] if self.looks == 1 else await super().records(run_id, after, limit)


async def test_what_came_between_two_looks_is_told():
    """A run that ended meanwhile has its events; they are not taken for swept ones."""
    store = Late()
    await store.append(Write("r1", some_records(1, 3), a_row("r1", "completed", events=3)))
    assert [line.seq async for line in RunReader(store).follow("r1") if line] == [1, 2, 3]
