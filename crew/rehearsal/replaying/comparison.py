"""Two trails of one run, and the verdict; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.digests import RequestDigests
from crew.rehearsal.replaying.trail import Trail, TrailStep

Verdict = Literal[
    "same", "assumed", "other way", "other way, assumed", "unknown", "not reproduced", "not kept"
]
PARTS = ("prompt", "tools", "context", "messages", "sampling")


@dataclass(frozen=True, slots=True)
class AskedDifference:
    """The first answer that a model gives to something else than it was sent then."""

    agent_id: str
    # which answer of the agent, from 0
    number: int
    parts: tuple[str, ...]
    # its place in the main trail
    place: int


@dataclass(frozen=True, slots=True)
class AnsweredAnew:
    """What real answers came to."""

    plays: int
    # of these, those with the verdict
    agree: int
    # the new final answer beside the recorded one, as a judge says; "": none was called
    judged: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """What a replay came to."""

    verdict: Verdict
    # the number of the first step that differs, or before which something else was sent; from 1
    step: int = 0
    recorded: str = ""
    now: str = ""
    source_then: str | None = None
    source_now: str | None = None
    asked: AskedDifference | None = None
    # why it is not known, not reproduced, not kept
    why: str = ""
    # models have answered themselves; None: nothing is said but what was recorded
    answered: AnsweredAnew | None = None

    @property
    def is_certain(self) -> bool:
        """Whether it goes another way, and nothing before was assumed or said anew."""
        return self.verdict == "other way" and self.answered is None


@dataclass(frozen=True, slots=True)
class _Differing:
    """Two steps that are not the same."""

    # in the main trail
    place: int
    then: TrailStep | None
    now: TrailStep | None


def compare_trails(then: Trail, now: Trail, missing: str) -> Compared:
    """Compare a replay with the run.

    Args:
        then: of the run.
        now: of the replay.
        missing: what the replay needed that is not recorded; "": nothing, so that it has ended.
    """
    asked = _first_asked(then, now)
    differing = _first_differing(then, now, is_open=bool(missing))
    if differing is None:
        if missing:
            return Compared("unknown", len(_only_steps(now.main)), asked=asked, why=missing)
        step = 0 if asked is None else len(_only_steps(then.main[: asked.place])) + 1
        return Compared("same" if asked is None else "assumed", step, asked=asked)
    is_assumed = asked is not None and asked.place <= differing.place
    step = len(_only_steps(then.main[: differing.place])) + 1
    return Compared(
        "other way, assumed" if is_assumed else "other way",
        step,
        differing.then.text if differing.then is not None else "nothing more",
        differing.now.text if differing.now is not None else "nothing more",
        differing.then.source if differing.then is not None else None,
        differing.now.source if differing.now is not None else None,
        asked if is_assumed else None,
    )


def _only_steps(trail: Sequence[TrailStep]) -> list[TrailStep]:
    return [one for one in trail if not one.is_answer]


def _first_differing(then: Trail, now: Trail, *, is_open: bool) -> _Differing | None:
    """Return where the trails part: in the main one, or in a branch that begins before."""
    main = _differing(then.main, now.main, is_open=is_open)
    for branch, steps in then.branches.items():
        place = then.places[branch]
        if main is not None and main.place <= place:
            # the group itself is another one
            continue
        others = now.branches.get(branch, [])
        ends_open = is_open or _is_cut(then.main, place)
        found = _differing(steps, others, is_open=ends_open)
        if found is not None and (main is None or place < main.place):
            main = _Differing(place, found.then, found.now)
    return main


def _is_cut(main: Sequence[TrailStep], place: int) -> bool:
    """Return whether the run has ended in the group that begins before this place."""
    return all(one.key[0] != "group_end" for one in main[place:])


def _differing(
    then: Sequence[TrailStep], now: Sequence[TrailStep], *, is_open: bool
) -> _Differing | None:
    """Return the first steps that differ; `is_open`: the second trail may be a beginning alone."""
    first, second = _only_steps(then), _only_steps(now)
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one.key != other.key:
            return _Differing(_place(then, number), one, other)
    number = min(len(first), len(second))
    if len(first) == len(second) or (is_open and len(second) < len(first)):
        return None
    one_left = first[number] if number < len(first) else None
    other_left = second[number] if number < len(second) else None
    return _Differing(_place(then, number), one_left, other_left)


def _place(trail: Sequence[TrailStep], number: int) -> int:
    """Return the place of the so-many-th step among steps and answers."""
    places = [place for place, one in enumerate(trail) if not one.is_answer]
    return places[number] if number < len(places) else len(trail)


def _first_asked(then: Trail, now: Trail) -> AskedDifference | None:
    """Return the first answer of a model that was sent something else."""
    found = _asked_in(then.main, now.main, None)
    for branch, steps in then.branches.items():
        place = then.places[branch]
        if found is None or place < found.place:
            found = _asked_in(steps, now.branches.get(branch, []), place) or found
    return found


def _asked_in(
    then: Sequence[TrailStep], now: Sequence[TrailStep], place: int | None
) -> AskedDifference | None:
    answers = [(at, one) for at, one in enumerate(then) if one.is_answer]
    others = [one for one in now if one.is_answer]
    seen: dict[str, int] = {}
    for (at, one), other in zip(answers, others, strict=False):
        number = seen.get(one.agent_id, 0)
        seen[one.agent_id] = number + 1
        if one.key != other.key or one.asked is None or other.asked is None:
            # whose answer it is, is a question of steps
            continue
        if parts := different_parts(one.asked, other.asked):
            where = at if place is None else place
            return AskedDifference(one.agent_id, number, parts, where)
    return None


def different_parts(one: RequestDigests, other: RequestDigests) -> tuple[str, ...]:
    """Return the parts of two requests that differ."""
    return tuple(part for part in PARTS if getattr(one, part) != getattr(other, part))
