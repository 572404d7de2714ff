"""Why a run did not go to an agent, where a way led there; pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crew.routing.members import group_transitions
from crew.routing.rules import Routing, Transition, rules_in_use
from crew.why.steps import Ruling, WhyStep


def last_way_to(routing: Routing, steps: Sequence[WhyStep], agent: str) -> WhyStep | None:
    """Return the last step from which a way led to an agent, and what was missing.

    None: there is no such step.

    Args:
        routing: of the crew.
        steps: of the run.
        agent: an agent or a group.
    """
    for step in reversed(steps):
        came_from = str(step.facts.get("from", ""))
        ways = list(_ways(routing, came_from, agent))
        if ways and not step.step.endswith(f"→ {agent}"):
            missing = [Ruling(f"→ {agent}", False, _words(one), one.source) for one in ways]
            return replace(step, decided=(*step.decided, *missing))
    return None


def _ways(routing: Routing, came_from: str, agent: str) -> Iterator[Transition]:
    group = routing.groups.get(came_from)
    if group is not None and group.next_agent is None:
        led = [one for _, one in group_transitions(routing, group.agents)]
    else:
        rules = rules_in_use(routing.rules.get(came_from, ()))
        led = [one for rule in rules for one in rule.transitions(())]
    yield from (one for one in led if one.target == agent)


def _words(way: Transition) -> str:
    if way.route is not None:
        return f"{way.route.signal.text} would lead there"
    if way.label:
        return f"an answer with {way.label} would lead there"
    return f"{way.kind} would lead there, if no rule before it applied"
