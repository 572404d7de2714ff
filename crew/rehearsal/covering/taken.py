"""What a run has taken of a crew's units, and whether the rehearsal checks that; pure."""

from collections.abc import Iterator, Sequence

from crew.journal.decided import decision_on
from crew.journal.questions import Approval, UnknownOutcome
from crew.rehearsal.covering.units import Unit
from crew.rehearsal.judging.story import Step, Story
from crew.rehearsal.keys.expected import ANY, Expect
from crew.routing.graph import END, Edge

# the kinds of edges that a run ends by, by the reason of its end
END_KINDS = {
    "terminal": {"default"},
    "signal": {"signal"},
    "output": {"output"},
    "no_next_agent": {"default", "order"},
}
END_LABEL = {"terminal": "terminal"}


def taken_units(units: Sequence[Unit], story: Story, expect: Expect) -> dict[str, bool]:
    """Return the keys of the units that a run has taken, and whether each was checked."""
    found: dict[str, bool] = {}
    for key, is_checked in _taken(units, story, expect):
        found[key] = found.get(key, False) or is_checked
    return found


def _taken(units: Sequence[Unit], story: Story, expect: Expect) -> Iterator[tuple[str, bool]]:
    routes = [one for one in units if one.edge is not None]
    current = ""
    for step in story.steps:
        if step.kind == "agent" and step.why:
            yield from _route(routes, current, step, expect)
        if step.kind == "end" and step.why in END_KINDS:
            yield from _end(routes, current, step, expect)
        current = step.name if step.kind == "agent" else current
    checks_people = bool(
        expect.path is not None or expect.pauses is not None or expect.calls or expect.never
    )
    for key in _people(story):
        yield key, checks_people or expect.end is not None
    checks_limits = expect.end is not None or expect.path is not None
    checks_limits = checks_limits or expect.warnings is not None or expect.seconds is not None
    for key in _limits(story):
        yield key, checks_limits
    checks_faults = checks_limits or bool(expect.calls) or expect.answer is not None
    for key in _faults(story):
        yield key, checks_faults or expect.pauses is not None


def _route(
    routes: Sequence[Unit], current: str, step: Step, expect: Expect
) -> Iterator[tuple[str, bool]]:
    between = [one for one in routes if _leads(one.edge, current, step.name)]
    found = [one for one in between if _is_edge(one, step)]
    for unit in found[:1]:
        yield unit.key, _names(expect, current, step, is_only=len(between) == 1)


def _leads(edge: Edge | None, from_: str, to: str) -> bool:
    return edge is not None and edge.from_ == from_ and edge.to == to


def _is_edge(unit: Unit, step: Step) -> bool:
    edge = unit.edge
    assert edge is not None, "of a route"
    if edge.kind == "signal":
        return step.also == "signal" and edge.label == step.why
    if edge.kind != step.why:
        return False
    return edge.kind != "output" or step.source is None or unit.source in ("", step.source)


def _names(expect: Expect, current: str, step: Step, *, is_only: bool) -> bool:
    """Return whether the expected path has a step, with its reason where there are several."""
    # None: behind `…`, where it may be anyone
    before: str | None = None
    for one in expect.path or ():
        is_step = one.name == step.name and before in (None, current)
        says_why = one.why is not None and one.why in (step.why, step.also)
        if is_step and (says_why or (one.why is None and is_only and before is not None)):
            return True
        if one.name in ANY:
            before = None
        elif one.name not in ("pause", "end"):
            before = one.name
    return False


def _end(
    routes: Sequence[Unit], current: str, step: Step, expect: Expect
) -> Iterator[tuple[str, bool]]:
    kinds, label = END_KINDS[step.why], END_LABEL.get(step.why)
    ends = [one for one in routes if _leads(one.edge, current, END)]
    found = [
        one
        for one in ends
        if one.edge is not None
        and one.edge.kind in kinds
        and label in (None, one.edge.label)
        and (step.source is None or one.source in ("", step.source))
    ]
    has_end = any(one.name == "end" for one in expect.path or ())
    for unit in found[:1]:
        yield unit.key, has_end or expect.end is not None


def _people(story: Story) -> Iterator[str]:
    for pause, resumed in story.resumed:
        if pause.question is None:
            yield f"pause {pause.agent_id} {'nobody' if resumed.expired else 'answered'}"
        elif isinstance(pause.question, Approval):
            for asked in pause.question.calls:
                name = asked.call.tool
                if resumed.expired:
                    yield f"approval {name} deadline"
                    continue
                one = decision_on(asked, pause.question, resumed.answer)
                if one.decision == "deny":
                    yield f"approval {name} denied"
                elif one.arguments is not None:
                    yield f"approval {name} edited"
                else:
                    yield f"approval {name} approved"


def _limits(story: Story) -> Iterator[str]:
    for warned in story.warned:
        if warned.code in ("max_handoffs", "max_rounds"):
            yield f"limit {warned.code}"
        if warned.code == "member_timeout" and warned.group is not None:
            yield f"limit {warned.group} timeout"
    for group in story.unanswered:
        yield f"limit {group} failed"


def _faults(story: Story) -> Iterator[str]:
    for warned in story.warned:
        if warned.code == "model_backup" and warned.agent_id is not None:
            yield f"backup {warned.agent_id}"
    for pause in story.pauses:
        if isinstance(pause.question, UnknownOutcome):
            yield from (f"kill {name}" for name in pause.tools)
