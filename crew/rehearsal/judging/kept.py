"""What is kept at the end of a run, beside what must be: memory, titles, notices, sources; pure."""

from collections.abc import Iterator

from crew.rehearsal.doubles.world import MismatchKind
from crew.rehearsal.matching import is_like, wrong_in
from crew.rehearsal.playing.player import PlayedTurn


def wrong_kept(turn: PlayedTurn) -> Iterator[tuple[MismatchKind, tuple[str | int, ...], str]]:
    """Yield what is not as expected: the kind, the path to it, and why."""
    kept, expect = turn.kept, turn.expect
    for number, notice in enumerate(expect.notices):
        if not any(is_like(notice, one) for one in kept.notices):
            sent = ", ".join(f"{one['kind']} to {one['channel']}" for one in kept.notices)
            yield "notices", ("notices", number), f"no such notice; sent: {sent or 'none'}"
    if expect.memory is not None:
        for block, check in expect.memory.core.items():
            if (why := wrong_in(check, kept.core.get(block, ""))) is not None:
                yield "memory", ("memory", "core", block), f"the block {block} {why}"
        for number, check in enumerate(expect.memory.recall):
            if all(wrong_in(check, one) is not None for one in kept.recall):
                items = "; ".join(kept.recall) or "nothing"
                yield "memory", ("memory", "recall", number), f"no such item; remembered: {items}"
    if expect.title is not None and (why := wrong_in(expect.title, kept.title)) is not None:
        yield "title", ("title",), f"the title {why}"
    if expect.sources is not None and set(expect.sources) != set(kept.sources):
        yield "sources", ("sources",), f"it cites {', '.join(kept.sources) or 'nothing'}"
