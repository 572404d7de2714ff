"""What calls have cost: checks of what every store promises."""

from dataclasses import replace

from crew.backends.conformance.samples import DAY, begin_run, is_lost, sample_records, sample_row
from crew.journal.records.rows import Write
from crew.journal.records.spent.costs import CallRow, CostQuery, CostSum
from crew.journal.store import RunStore


def sample_call(id_: str, **more: object) -> CallRow:
    """Return a call with something in every field."""
    call = CallRow(
        id_,
        DAY.format(1),
        DAY.format(1)[:10],
        "r1",
        2,
        1,
        "a",
        "openai",
        "gpt-4o",
        "ann",
        "shop",
        "c1",
        "success",
        *(100, 20, 5, 30, 10),
        2_000_000_001,
        "models",
        0,
        0,
    )
    return replace(call, **more)  # type: ignore[arg-type] # fields of CallRow


async def calls_are_written_with_their_event(store: RunStore) -> None:
    """Check that a call is there with its event, once, and never without it."""
    epoch = await begin_run(store, "r1")
    call = sample_call("c1")
    await store.append(Write("r1", sample_records(2, 2), epoch=epoch, calls=[call]))
    row = sample_row("r1", "completed", ended_at=DAY.format(2))
    more = [sample_call("c2", nanos=None, attempt=2), call]
    await store.append(Write("r1", sample_records(3, 3), row, epoch=epoch, calls=more))
    found = await store.costs.calls_of("r1")
    assert [one.id for one in found] == ["c1", "c2"], found
    assert found[0] == call, found[0]
    (total,) = await store.costs.sums(CostQuery())
    assert total == CostSum((), 2, 200, 40, 10, 60, 20, 2_000_000_001, 1, 0), total
    await store.claim("r1")
    late = Write("r1", sample_records(4, 4), epoch=epoch - 1, calls=[sample_call("c3")])
    assert await is_lost(store, late), "a former writer has written"
    assert len(await store.costs.calls_of("r1")) == 2


async def lengths_of_answers_are_found(store: RunStore) -> None:
    """Check that the newest answers of a model to an agent are found, oldest first."""
    calls = [sample_call(f"c{n}", at=DAY.format(n), output=n) for n in range(1, 7)]
    others = [
        sample_call("o1", agent_id="b", at=DAY.format(7), output=100),
        sample_call("o2", model="small", at=DAY.format(7), output=100),
        sample_call("o3", provider="far", at=DAY.format(7), output=100),
        sample_call("o4", outcome="timeout", at=DAY.format(7), output=100),
    ]
    await store.costs.record([*calls[3:], *others, *calls[:3]])
    place = "a", "openai", "gpt-4o"
    assert await store.costs.answer_tokens(*place, 4) == [3, 4, 5, 6]
    assert await store.costs.answer_tokens(*place, 100) == [1, 2, 3, 4, 5, 6]
    assert await store.costs.answer_tokens("nix", "openai", "gpt-4o", 4) == []


async def calls_are_summed_by_what_they_have(store: RunStore) -> None:
    """Check sums by each key, the dearest first, since a time, of one user or one token."""
    calls = [
        sample_call("c1"),
        sample_call("c2", agent_id="b", nanos=5_000_000_000, user_id="eve"),
        sample_call("c3", model="small", nanos=None, estimated=1),
        sample_call("c4", at=DAY.format(3), day=DAY.format(3)[:10], run_id="r2", owner="desk"),
    ]
    await store.costs.record(calls)
    await store.costs.record(calls[:2])
    await store.costs.record([])
    by_agent = await store.costs.sums(CostQuery(("agent", "model")))
    keys = [one.keys for one in by_agent]
    assert keys == [("b", "gpt-4o"), ("a", "gpt-4o"), ("a", "small")], keys
    assert (by_agent[1].calls, by_agent[1].nanos) == (2, 4_000_000_002), by_agent[1]
    assert (by_agent[2].unpriced, by_agent[2].estimated, by_agent[2].nanos) == (1, 1, 0)
    for wanted, expected in (
        (CostQuery(("day",)), {("2026-01-01",): 3, ("2026-01-03",): 1}),
        (CostQuery(("user",)), {("ann",): 3, ("eve",): 1}),
        (CostQuery(("token",)), {("shop",): 3, ("desk",): 1}),
        (CostQuery(("provider",)), {("openai",): 4}),
        (CostQuery(("run",)), {("r1",): 3, ("r2",): 1}),
        (CostQuery(("conversation",)), {("c1",): 4}),
        (CostQuery(("hour",)), {("2026-01-01T00",): 3, ("2026-01-03T00",): 1}),
        (CostQuery(("day",), since_day="2026-01-02"), {("2026-01-03",): 1}),
        (CostQuery(("run",), since=DAY.format(2)), {("r2",): 1}),
        (CostQuery(("agent",), since=DAY.format(2), is_exact=True), {("a",): 1}),
        (CostQuery((), caller="eve"), {(): 1}),
        (CostQuery(("user",), caller="desk"), {("ann",): 1}),
        (CostQuery((), caller="nix"), {}),
        (CostQuery(("user",), limit=1), {("ann",): 3}),
    ):
        found = {one.keys: one.calls for one in await store.costs.sums(wanted)}
        if wanted.limit == 1:
            assert list(found) == [("eve",)], found
        else:
            assert found == expected, (wanted, found)


async def a_user_is_removed_from_costs(store: RunStore) -> None:
    """Check that the sums stay, and that others keep their names."""
    own = [sample_call("c1"), sample_call("c4", owner="ann"), sample_call("c5", owner="")]
    calls = [*own, sample_call("c2", user_id=""), sample_call("c3", user_id="eve")]
    await store.costs.record(calls)
    first = await store.costs.of_user("ann", limit=2)
    rest = await store.costs.of_user("ann", (first[-1].at, first[-1].id), 2)
    assert [*first, *rest] == own, (first, rest)
    for _ in range(2):
        await store.costs.forget_user("ann")
        await store.costs.forget_user("")
    by_user = {one.keys: one.calls for one in await store.costs.sums(CostQuery(("user",)))}
    assert by_user == {("",): 4, ("eve",): 1}, by_user
    by_run = await store.costs.sums(CostQuery(("run", "user")))
    assert sum(one.calls for one in by_run if one.keys[1] == "") == 4, by_run
    assert await store.costs.of_user("ann") == []
    by_token = {one.keys: one.calls for one in await store.costs.sums(CostQuery(("token",)))}
    assert by_token == {("shop",): 3, ("",): 2}, "a token may have the name of its person"
    places = await store.costs.sums(CostQuery(("conversation", "user")))
    of = {one.keys: one.calls for one in places}
    assert of == {("c1", ""): 1, ("", ""): 3, ("c1", "eve"): 1}, of


async def old_costs_are_purged(store: RunStore) -> None:
    """Check that sums outlive the calls."""
    days = [DAY.format(number) for number in range(1, 5)]
    calls = [sample_call(f"c{at}", at=at, day=at[:10]) for at in days]
    await store.costs.record(calls)
    assert await store.costs.purge(days[2], days[1][:10]) > 0
    by_day = await store.costs.sums(CostQuery(("day",)))
    assert sorted(one.keys[0] for one in by_day) == [one[:10] for one in days[1:]], by_day
    await store.costs.purge("9999", "9999", limit=10)
    await store.costs.purge("9999", "9999", limit=10)
    assert await store.costs.sums(CostQuery()) == []


CHECKS = (
    calls_are_written_with_their_event,
    calls_are_summed_by_what_they_have,
    lengths_of_answers_are_found,
    a_user_is_removed_from_costs,
    old_costs_are_purged,
)
