"""Pots of budgets: checks of what every store promises."""

import asyncio
from dataclasses import replace

from crew.backends.conformance.costs import sample_call
from crew.backends.conformance.samples import DAY, begin_run, sample_records
from crew.journal.records.rows import IdempotencyRecord, Notice, Write
from crew.journal.records.spent.budgets import NO_ROOM, PotKey, PotState, Reservation, Share
from crew.journal.records.spent.costs import CALL, CostQuery
from crew.journal.store import RunStore

TODAY, EVER = PotKey("today", "", DAY.format(1)), PotKey("ever", "ann", "")


def sample_share(key: PotKey = TODAY, **more: object) -> Share:
    """Return what a call reserves: 100 nano-dollars, 10 tokens."""
    resets_at = DAY.format(2) if key.period else ""
    return replace(Share(key, resets_at, 100, 10), **more)  # type: ignore[arg-type] # fields of Share


def sample_reservation(id_: str, *shares: Share, run_id: str = "r1") -> Reservation:
    """Return a reservation that ends on the third day."""
    call = sample_call(id_, run_id=run_id, nanos=100, input=6, output=4, lost=1)
    return Reservation(id_, run_id, shares, DAY.format(3), CALL.dump_json(call).decode())


async def state_of(store: RunStore, key: PotKey = TODAY) -> PotState:
    """Return a pot that is there."""
    found = await store.budgets.pot(key)
    assert found is not None, key
    return found


async def all_pots_have_room_or_none(store: RunStore) -> None:
    """Check that nothing is reserved where one pot is full."""
    wide = sample_share(EVER, max_nanos=10**9)
    narrow = sample_share(max_nanos=250)
    for number in (1, 2):
        one = await store.budgets.reserve(sample_reservation(f"c{number}", wide, narrow))
        assert one.is_done, one
        assert [pot.held_calls for pot in one.pots] == [number - 1] * 2, one
    refused = await store.budgets.reserve(sample_reservation("c3", wide, narrow))
    assert not refused.is_done, refused
    assert [pot.held_nanos for pot in refused.pots] == [200, 200], refused
    assert (await state_of(store, EVER)).held_nanos == 200
    for share in (sample_share(max_tokens=29), sample_share(max_calls=2)):
        assert not (await store.budgets.reserve(sample_reservation("c3", share))).is_done
    for share in (sample_share(max_tokens=30), sample_share(max_calls=3)):
        assert share.fits(await state_of(store)), share


async def a_written_call_settles_its_reservation(store: RunStore) -> None:
    """Check that what was used takes the place of what was reserved, once."""
    epoch = await begin_run(store, "r1")
    await store.budgets.reserve(sample_reservation("c1", sample_share(EVER), sample_share()))
    call = sample_call("c1", nanos=70, input=5, output=2)
    await store.append(Write("r1", sample_records(2, 2), epoch=epoch, calls=[call]))
    await store.append(Write("r1", sample_records(3, 3), epoch=epoch, calls=[call]))
    await store.costs.record([call, sample_call("other", nanos=10**9)])
    for key in (TODAY, EVER):
        pot = await state_of(store, key)
        assert (pot.nanos, pot.tokens, pot.calls) == (70, 7, 1), pot
        assert (pot.held_nanos, pot.held_tokens, pot.held_calls) == (0, 0, 0), pot
    assert await store.budgets.settle_lost("r1") == 0


async def lost_calls_count_as_they_were_estimated(store: RunStore) -> None:
    """Check that a run's are settled by who claims it, and others at their end; once."""
    for number, run_id in enumerate(("r1", "r1", "r2"), 1):
        await store.budgets.reserve(sample_reservation(f"c{number}", sample_share(), run_id=run_id))
    await store.costs.record([sample_call("c1", nanos=1, input=1, output=0)])
    assert await store.budgets.settle_lost("r1") == 1
    assert await store.budgets.settle_lost("r1") == 0
    # its process was not dead
    await store.costs.record([sample_call("c2", nanos=5)])
    pot = await state_of(store)
    assert (pot.nanos, pot.calls, pot.held_calls) == (101, 2, 1), pot
    assert await store.budgets.expire(DAY.format(2)) == 0
    assert await store.budgets.expire(DAY.format(4)) == 1
    assert await store.budgets.expire(DAY.format(4)) == 0
    pot = await state_of(store)
    assert (pot.nanos, pot.calls, pot.held_calls, pot.held_nanos) == (201, 3, 0, 0), pot
    (total,) = await store.costs.sums(CostQuery())
    assert (total.calls, total.nanos) == (3, 201), total


async def limits_are_raised_and_warned_of_once(store: RunStore) -> None:
    """Check what people add, and that a part of a limit is news once."""
    assert not await store.budgets.warn(TODAY, 800)
    await store.budgets.add(TODAY, DAY.format(2), 50, 5)
    await store.budgets.add(TODAY, DAY.format(2), 50, 5)
    assert (await state_of(store)).more_nanos == 100
    once = IdempotencyRecord("budget raised r 7", "", "r", 0)
    for _ in range(2):
        await store.budgets.add(TODAY, DAY.format(2), 11, 0, once)
    assert (await state_of(store)).more_nanos == 111
    await store.budgets.add(TODAY, DAY.format(2), -11, 0)
    one = await store.budgets.reserve(sample_reservation("c1", sample_share(max_nanos=0)))
    assert one.is_done, one
    notices = [
        Notice(one, "chat", "budget", DAY.format(1), "crew", "r", 0, None, None, None, "q", "half")
        for one in ("a", "b")
    ]
    warned = [await store.budgets.warn(TODAY, 500, [one]) for one in notices]
    warned += [await store.budgets.warn(TODAY, part) for part in (800, 500)]
    assert warned == [True, False, True, False], warned
    # that there is no room hides no part, and no part hides that
    full = [await store.budgets.warn(TODAY, part) for part in (NO_ROOM, NO_ROOM, 800, 900)]
    assert full == [True, False, False, True], full
    assert not await store.budgets.warn(TODAY, NO_ROOM)
    kept = await store.outbox.take("chat", DAY.format(8), DAY.format(9), 9)
    assert [one.id for one, _ in kept] == ["a"], "with the first of them alone"
    await store.budgets.reserve(sample_reservation("c2", sample_share(EVER)))
    assert [one.key for one in await store.budgets.pots(["ever", "today"])] == [EVER, TODAY]
    assert await store.budgets.pots(["nix"]) == []
    assert await store.budgets.pots(["ever", "today"], "nix") == []
    assert [one.key for one in await store.budgets.pots(["ever", "today"], "ann")] == [EVER]
    held = await store.budgets.held(["ever", "today", "nix"], [TODAY.period])
    assert held == {"today": (await state_of(store)).held_nanos}, held
    # something is reserved in it
    await store.budgets.purge(DAY.format(9))
    assert len(await store.budgets.pots(["ever", "today"])) == 2
    await store.budgets.expire(DAY.format(9))
    await store.budgets.purge(DAY.format(9))
    assert [one.key for one in await store.budgets.pots(["ever", "today"])] == [EVER]


async def pots_of_who_was_erased_have_no_name(store: RunStore) -> None:
    """Check that what was used stays without its name, which it has again when they come."""
    talk = PotKey("talk", "ann:c1", "")
    others = [PotKey("ever", "eve", ""), PotKey("talk", "anna:c1", ""), PotKey("job", "ann", "")]
    # another user with a longer id
    others.append(PotKey("ever", "ann:bo", ""))
    for number, key in enumerate((EVER, talk, *others)):
        await store.budgets.reserve(sample_reservation(f"c{number}", sample_share(key)))
        call = sample_call(f"c{number}", nanos=70 + number, input=5, output=2)
        await store.costs.record([call])
    for _ in range(2):
        # the second time nothing has a name any more
        await store.budgets.hide("ann", ["job"])
        await store.budgets.hide("ann:", ["job", "ever"], begins=True)
        # who has such a name is none of those that were erased before
        await store.budgets.hide("erased", [])
        await store.budgets.hide("erased:", [], begins=True)
        assert await store.budgets.pot(EVER) is None
    for number, key in enumerate(others, 2):
        assert (await state_of(store, key)).nanos == 70 + number
    found = await store.budgets.pots(["ever", "talk", "job"])
    assert sum(one.calls for one in found) == 6
    assert "ann" not in {one.key.value for one in found if one.key.budget != "job"}
    # what calls reserve now is settled where it was reserved
    key = PotKey("ever", "zoe", "")
    await store.budgets.reserve(sample_reservation("zoe", sample_share(key)))
    await store.budgets.hide("zoe", [])
    assert (await state_of(store, key)).held_calls == 1
    # a pot that was made meanwhile gets it, too
    await store.budgets.add(EVER, "", 5, 0)
    await store.budgets.show(["ann", "ann:c1", "eve"], ["ever", "talk"])
    state = await state_of(store, EVER)
    assert (state.nanos, state.tokens, state.calls, state.more_nanos) == (70, 7, 1, 5)
    assert (await state_of(store, talk)).nanos == 71
    assert len(await store.budgets.pots(["ever", "talk", "job"])) == 7


async def the_fullest_pots_come_first(store: RunStore) -> None:
    """Check the order of pots, by the limit of which most is used, and with what was added."""
    used = {"a": (100, 6), "b": (900, 1), "c": (500, 9), "d": (0, 0)}
    for value, (nanos, tokens) in used.items():
        key = PotKey("user", value, "")
        share = Share(key, "", nanos, tokens, max_nanos=1000, max_tokens=10)
        await store.budgets.reserve(sample_reservation(value, share))
        await store.costs.record([sample_call(value, nanos=nanos, input=tokens, output=0)])
    like = Share(PotKey("user", "", ""), "", 0, 0, max_nanos=1000, max_tokens=10)

    async def order(like: Share, limit: int = 9) -> str:
        return "".join(one.key.value for one in await store.budgets.fullest(like, limit))

    assert await order(like) == "bcad"
    assert await order(like, 2) == "bc"
    assert await order(replace(like, max_tokens=None)) == "bcad"
    assert await order(replace(like, max_nanos=None)) == "cabd"
    assert await order(replace(like, max_nanos=None, max_tokens=None, max_calls=1)) == "abcd"
    await store.budgets.add(PotKey("user", "b", ""), "", 9000, 0)
    assert await order(like) == "cabd"


async def calls_at_the_same_time_never_exceed_a_pot(store: RunStore) -> None:
    """Check 40 at once, each of two pots, some in another order of settling."""
    narrow, wide = sample_share(max_nanos=1000), sample_share(EVER, max_nanos=10**6)

    async def call(number: int) -> bool:
        id_ = f"c{number}"
        made = await store.budgets.reserve(sample_reservation(id_, wide, narrow))
        if made.is_done:
            await store.costs.record([sample_call(id_, nanos=100, input=6, output=4)])
        return made.is_done

    done = await asyncio.gather(*(call(number) for number in range(40)))
    assert sum(done) == 10, done
    pot = await state_of(store)
    assert (pot.nanos, pot.held_nanos, pot.calls) == (1000, 0, 10), pot


CHECKS = (
    all_pots_have_room_or_none,
    a_written_call_settles_its_reservation,
    lost_calls_count_as_they_were_estimated,
    limits_are_raised_and_warned_of_once,
    pots_of_who_was_erased_have_no_name,
    the_fullest_pots_come_first,
    calls_at_the_same_time_never_exceed_a_pot,
)
