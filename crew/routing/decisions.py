"""What was said -> where to go next; pure."""

from collections.abc import Container, Mapping
from dataclasses import replace

from crew.routing.rules import NO_ANSWER, AgentAnswer, Routing, Transition, first_transition, take
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


def decide(
    routing: Routing, agent_id: str, answer: AgentAnswer, visited: Container[str]
) -> NextStep:
    """Return where to go after an agent's answer that calls no tools.

    Args:
        routing: the crew's.
        agent_id: who spoke.
        answer: what it has said.
        visited: agents that answered since the last answer of a person, this one included.
    """
    transition = first_transition(routing.rules[agent_id], answer, visited)
    if transition.kind == "pause":
        return Pause(agent_id, transition.source)
    return _follow(routing, transition, agent_id)


def decide_unanswered(routing: Routing, agent_id: str) -> NextStep:
    """Return where to go when no answer to an agent's pause came in time."""
    target, source = routing.on_wait_timeout.get(agent_id), routing.source("no_answer", agent_id)
    if target is None:
        return Finish("no_answer", agent_id, source=source)
    return _go(routing, target, Reason("no_answer", source=source))


def decide_group(
    routing: Routing,
    group: Group,
    answers: Mapping[str, AgentAnswer],
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
    found = {m: routing.find_routes(m, answers.get(m, NO_ANSWER)) for m in group.agents}
    member = deciding_member(routing, group, answers)
    if member is not None:
        route = next(route for route in found[member] if route.target is not None)
        return _follow(routing, take(route, found[member]), member)
    for member in group.agents:
        if found[member]:
            return Finish("signal", member, source=found[member][0].source)
    transition = first_transition(routing.rules_after_group(origin), NO_ANSWER, visited)
    step = _follow(routing, transition, origin)
    return replace(step, decided=False) if isinstance(step, Finish) else step


def settles(routing: Routing, group: Group, agent_id: str, answer: AgentAnswer) -> bool:
    """Return whether a member's answer alone decides where a group leads without the others."""
    if group.next_agent is not None:
        return True
    return any(route.target is not None for route in routing.find_routes(agent_id, answer))


def deciding_member(
    routing: Routing, group: Group, answers: Mapping[str, AgentAnswer]
) -> str | None:
    """Return the member that decides by a signal where the group leads, if one does."""
    if group.next_agent is not None:
        return None
    for member in group.agents:
        found = routing.find_routes(member, answers.get(member, NO_ANSWER))
        if any(route.target is not None for route in found):
            return member
    return None


def _follow(routing: Routing, transition: Transition, agent_id: str) -> NextStep:
    source = transition.source
    if transition.target is None:
        reasons: dict[str, EndReason] = {"signal": "signal", "terminal": "terminal"}
        reason = reasons.get(transition.kind, "no_next_agent")
        return Finish(reason, agent_id, source=source)
    if transition.route is None:
        return _go(routing, transition.target, Reason(WHY[transition.kind], source=source))
    others = tuple(route.signal.text for route in transition.others)
    signal = transition.route.signal.text
    return _go(routing, transition.target, Reason("signal", signal, others, source))


def _go(routing: Routing, target: str, reason: Reason) -> Handoff | Fork:
    group = routing.groups.get(target)
    return Handoff(target, reason) if group is None else Fork(group, reason)
