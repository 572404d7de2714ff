"""What must hold in every rehearsal: what the files say, and what the runtime promises."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pydantic_core import to_json

from crew.rehearsal.doubles.world import Mismatch
from crew.rehearsal.files.bound import PlacedInvariant
from crew.rehearsal.judging.calls import occurrences
from crew.rehearsal.judging.expectations import Expectations
from crew.rehearsal.judging.story import Story
from crew.rehearsal.playing.player import Played, PlayedTurn

# the end of a segment
ENDS = frozenset({"done", "error"})


def broken_invariants(
    invariants: Sequence[PlacedInvariant],
    played: Played,
    turn: PlayedTurn,
    story: Story,
    texts: Mapping[str, str],
) -> Iterator[Mismatch]:
    """Yield the invariants of the files that do not hold in a run."""
    for one in invariants:
        keys, source = one.keys, str(one.place())
        if played.case.id in keys.except_:
            continue
        if keys.when is not None and not any(occurrences(keys.when, story)):
            continue
        if keys.never is not None:
            for text in occurrences(keys.never, story):
                yield Mismatch("invariant", f"{keys.name}: {text}", source)
        if keys.always is not None:
            always = PlayedTurn(
                *(turn.row, turn.events, turn.wire, turn.asked, turn.model_calls),
                *(keys.always, turn.path, turn.kept, turn.begun_seconds, turn.ended_seconds),
            )
            for found in Expectations(played, always, story, texts).mismatches():
                # warnings that no one expects are no business of an invariant
                if found.kind != "warnings" or keys.always.warnings is not None:
                    yield Mismatch("invariant", f"{keys.name}: {found.text}", source)


def broken_promises(played: Played, turn: PlayedTurn, story: Story) -> Iterator[Mismatch]:
    """Yield what the runtime itself promises, and has not kept: a mistake of the runtime."""
    source = played.case.source("name")
    for text in _broken(played, turn, story):
        yield Mismatch("invariant", f"a promise of the runtime does not hold: {text}", source)


def _broken(played: Played, turn: PlayedTurn, story: Story) -> Iterator[str]:
    wire = turn.wire
    if turn.row.reason == "internal":
        yield "the run failed by a mistake of the runtime"
    if [one["metadata"]["seq"] for one in wire] != list(range(1, len(wire) + 1)):
        yield "the events have holes"
    segments = sum(one["type"] in {"start", "resume", "retry"} for one in wire)
    if (ends := sum(one["type"] in ENDS for one in wire)) != segments:
        yield f"{segments} segments have {ends} events done or error"
    if turn.row.status not in ("running", "paused"):
        for call in story.calls:
            if call.result is None:
                yield f"a call of {call.tool} has no result"
    done = Counter(one.key for one in played.doubles.world.acts if one.effect == "once")
    decided = {
        f"{turn.row.run_id}-{one.call_id}"
        for _, resumed in story.resumed
        for one in resumed.answer.decisions
        if one.decision == "retry"
    }
    for key, times in done.items():
        if times > 1 and key not in decided and not _may_repeat(played, key):
            yield f"a call that is made once only has acted {times} times"
    secrets = played.crew.secrets
    if wire:
        text = to_json(list(wire)).decode()
        if secrets.mask(text) != text:
            yield "a secret stands in an event"


def _may_repeat(played: Played, key: str) -> bool:
    """Return whether nothing went out in the attempts of a call, so that it was tried again."""
    name = next(one.tool for one in played.doubles.world.acts if one.key == key)
    given = played.case.keys.returns.get(name, [])
    return any(one.sent is False for one in given)
