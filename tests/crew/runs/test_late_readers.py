"""Readers that come while a text is being written have all of it, and go on with it."""

from hypothesis import given
from hypothesis import strategies as st

from crew.journal.wire import RunEvent, joined_pieces
from crew.runs.streams.tail import Tail
from tools.clock import SystemClock

# who speaks: agent, group, task of a plan
MAIN, MEMBER, OTHER = ("main", None, ""), ("a", "pair", ""), ("b", "pair", "")
WORKER = ("w", "tasks", "t1")
SPEAKERS = (MAIN, MEMBER, OTHER, WORKER)


def event(type_: str, who: tuple[str, str | None, str], text: str = "", **more: object) -> RunEvent:
    agent, group, task = who
    metadata = {"agent_id": agent, "group": group, **({"task": task} if task else {}), **more}
    return joined_pieces(RunEvent(type_, None, agent, "", "now", metadata, ""), text, "now")


def stored(seq: int, one: RunEvent) -> RunEvent:
    return RunEvent(one.type, seq, one.agent, one.content, "now", one.metadata, one.encoded)


def steps() -> st.SearchStrategy[list[tuple[str, tuple[str, str | None, str]]]]:
    kinds = st.sampled_from(["piece", "piece", "piece", "again", "agent_response", "tool_start"])
    return st.lists(st.tuples(kinds, st.sampled_from(SPEAKERS)), max_size=40)


def played(tail: Tail, wanted: list[tuple[str, tuple[str, str | None, str]]]) -> None:
    """Add what agents write, word by word; a text begins behind an answer, and after a failure."""
    writing: set[tuple[str, str | None, str]] = set()
    for number, (kind, who) in enumerate(wanted):
        if kind in ("piece", "again"):
            begins = {"begins": True} if kind == "again" or who not in writing else {}
            writing.add(who)
            tail.add(event("agent_delta", who, f"w{number} ", **begins))
        else:
            if kind == "agent_response":
                writing.discard(who)
            tail.add(stored(tail.seq + 1, event(kind, who)))


def texts(events: list[RunEvent]) -> dict[tuple[str, ...], str]:
    """What is being written at the end, as the guide says that a page puts it together."""
    found: dict[tuple[str, ...], str] = {}
    for one in events:
        if one.type == "agent_response":
            found.pop(one.speaker, None)
        elif one.type == "agent_delta":
            so_far = "" if one.metadata.get("begins") else found.get(one.speaker, "")
            found[one.speaker] = so_far + one.content
    return found


async def read(tail: Tail, after: int) -> list[RunEvent]:
    place = tail.place_after(after)
    assert place is not None
    tail.close()
    return [one async for one in tail.follow(place, after, None, None) if one is not None]


@given(steps(), st.integers(0, 1000))
async def test_who_comes_late_has_what_the_others_have(
    wanted: list[tuple[str, tuple[str, str | None, str]]], known: int
):
    tail = Tail(SystemClock(), 0)
    played(tail, wanted)
    after = known % (tail.seq + 1)
    everything = texts(list(tail.events))
    found = await read(tail, after)
    assert texts(found) == everything
    numbers = [one.seq for one in found if one.seq is not None]
    assert numbers == list(range(after + 1, tail.seq + 1))


async def test_what_has_ended_is_not_written_any_more():
    for type_, who in (("parallel_end", MAIN), ("task_end", WORKER), ("done", MAIN)):
        tail = Tail(SystemClock(), 0)
        tail.add(event("agent_delta", WORKER, "half", begins=True))
        tail.add(stored(1, event(type_, who, task="t1")))
        assert await read(tail, 1) == [], type_


async def test_a_text_without_its_beginning_goes_on():
    """Of a run that another process plays, this one may know the rest of a text alone."""
    tail = Tail(SystemClock(), 3)
    tail.add(event("agent_delta", MAIN, "the rest"))
    assert await read(tail, 3) == []


async def test_a_reader_that_is_ahead_of_the_tail_gets_no_text_that_it_knows_whole():
    """The store has an answer before the tail does."""
    tail = Tail(SystemClock(), 0)
    tail.add(event("agent_delta", MAIN, "half", begins=True))
    assert await read(tail, 1) == []
