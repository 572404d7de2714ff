"""What was said -> where to go next; pure."""

from collections.abc import Container, Mapping, Sequence

from crew.routing.rules import Route, Routing, Transition, first_transition
from crew.routing.steps import (
    EndReason,
    Finish,
    Fork,
    Group,
    Handoff,
    NextStep,
    Pause,
    Reason,
    Why,
)

WHY: dict[str, Why] = {
    "signal": "signal",
    "default": "default",
    "handoff_target": "handoff_target",
    "order": "order",
}


def decide(routing: Routing, agent_id: str, words: str, visited: Container[str]) -> NextStep:
    """Return where to go after an agent's answer that calls no tools.

    Args:
        routing: the crew's.
        agent_id: who spoke.
        words: the answer.
        visited: agents that answered since the last answer of a person, this one included.
    """
    found = routing.find_routes(agent_id, words)
    transition = first_transition(routing.rules[agent_id], found, visited)
    if transition.kind == "pause":
        return Pause(agent_id)
    return _follow(routing, transition, agent_id, found)


def decide_unanswered(routing: Routing, agent_id: str) -> NextStep:
    """Return where to go when no answer to an agent's pause came in time."""
    target = routing.on_wait_timeout.get(agent_id)
    if target is None:
        return Finish("no_answer", agent_id)
    return _go(routing, target, Reason("no_answer", source=routing.source("no_answer", agent_id)))


def decide_group(
    routing: Routing,
    group: Group,
    answers: Mapping[str, str],
    origin: str,
    visited: Container[str],
) -> NextStep:
    """Return where to go after a group: its next agent, a member's signal, or the origin's rules.

    Args:
        routing: the crew's.
        group: the group that has ended.
        answers: the members' answers, without those that failed or were cancelled.
        origin: the agent that started the group or, where a member's signal led to it, that
            member.
        visited: as for `decide`.
    """
    if group.next_agent is not None:
        source = routing.source("group", group.name)
        return _go(routing, group.next_agent, Reason("group", source=source))
    found = {m: routing.find_routes(m, answers.get(m, "")) for m in group.agents}
    member = deciding_member(routing, group, answers)
    if member is not None:
        route = next(route for route in found[member] if route.target is not None)
        return _follow(routing, Transition("signal", route.target, route), member, found[member])
    for member in group.agents:
        if found[member]:
            return Finish("signal", member)
    transition = first_transition(routing.rules_after_group(origin), (), visited)
    step = _follow(routing, transition, origin, ())
    if isinstance(step, Finish):
        return Finish(step.reason, origin, decided=False)
    return step


def settles(routing: Routing, group: Group, agent_id: str, words: str) -> bool:
    """Return whether a member's answer alone decides where a group leads without the others."""
    if group.next_agent is not None:
        return True
    return any(route.target is not None for route in routing.find_routes(agent_id, words))


def deciding_member(routing: Routing, group: Group, answers: Mapping[str, str]) -> str | None:
    """Return the member that decides by a signal where the group leads, if one does."""
    if group.next_agent is not None:
        return None
    for member in group.agents:
        found = routing.find_routes(member, answers.get(member, ""))
        if any(route.target is not None for route in found):
            return member
    return None


def _follow(
    routing: Routing, transition: Transition, agent_id: str, found: Sequence[Route]
) -> NextStep:
    if transition.target is None:
        reasons: dict[str, EndReason] = {"signal": "signal", "terminal": "terminal"}
        return Finish(reasons.get(transition.kind, "no_next_agent"), agent_id)
    if transition.route is None:
        why = WHY[transition.kind]
        # the order is that of the list, which names who is next
        named = transition.target if why == "order" else agent_id
        return _go(routing, transition.target, Reason(why, source=routing.source(why, named)))
    others = tuple(route.signal.text for route in found if route is not transition.route)
    signal, source = transition.route.signal.text, transition.route.source
    return _go(routing, transition.target, Reason("signal", signal, others, source))


def _go(routing: Routing, target: str, reason: Reason) -> Handoff | Fork:
    group = routing.groups.get(target)
    return Handoff(target, reason) if group is None else Fork(group, reason)
