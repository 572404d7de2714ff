"""An expected path beside the one that was taken; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crew.rehearsal.judging.story import Step
from crew.rehearsal.keys.expected import ANY, ExpectedStep


def fits_step(wanted: ExpectedStep, step: Step) -> bool:
    """Return whether a step is the one that is expected."""
    if wanted.name != step.name:
        return False
    return wanted.why is None or wanted.why in (step.why, step.also)


@dataclass(frozen=True, slots=True)
class PathDifference:
    """Where a path leaves the expected one."""

    # of the first expected step that is not there
    number: int
    # the place in the path where it was to be
    place: int


def first_difference(
    wanted: Sequence[ExpectedStep], taken: Sequence[Step]
) -> PathDifference | None:
    """Return where a path leaves the expected one; None: it is the expected one.

    `…` stands for any steps, none too.
    """
    # the places in the path up to which the expected steps fit
    reached = {0}
    for number, one in enumerate(wanted):
        before = reached
        if one.name in ANY:
            reached = set(range(min(reached), len(taken) + 1))
        else:
            fitting = (at for at in reached if at < len(taken) and fits_step(one, taken[at]))
            reached = {at + 1 for at in fitting}
        if not reached:
            # behind `…` it could have been anywhere; the first place is as good as any
            return PathDifference(number, min(before))
    return None if len(taken) in reached else PathDifference(len(wanted), max(reached))


def describe_difference(
    wanted: Sequence[ExpectedStep],
    taken: Sequence[Step],
    difference: PathDifference,
    texts: Mapping[str, str],
) -> str:
    """Return the expected path, and below it where the other one leaves it.

    Args:
        wanted: the expected steps.
        taken: the path.
        difference: where the path leaves them.
        texts: the crew's files by their names: the line that led there is shown.
    """
    names = [one.name for one in wanted]
    before = " → ".join(names[: difference.number])
    arrow = " → " if before else ""
    line = " → ".join(names)
    place = difference.place
    if place >= len(taken):
        last = taken[-1].name if taken else "nothing"
        return f"{line}\n{' ' * len(before + arrow)}└ no further step behind {last}"
    step = taken[place]
    why = f"  {step.why}" if step.why else ""
    where = f"  {_quoted(step.source, texts)}" if step.source else ""
    rest = " → ".join(one.name for one in taken[place + 1 :])
    further = f"  (then {rest})" if rest else ""
    return f"{line}\n{' ' * len(before + arrow)}└ {step.name}{why}{where}{further}"


def _quoted(source: str, texts: Mapping[str, str]) -> str:
    """Return `file:line` with the line itself."""
    file, _, number = source.rpartition(":")
    lines = texts.get(file, "").splitlines()
    if not number.isdecimal() or int(number) > len(lines):
        return source
    return f"{source}: {lines[int(number) - 1].strip()[:100]}"
