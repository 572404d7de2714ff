"""What was said -> where to go next; pure."""

from collections.abc import Container, Mapping
from dataclasses import replace

from crew.routing.members import member_transition, members_found
from crew.routing.rules import NO_ANSWER, AgentAnswer, Routing, Transition, first_transition
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
    "plan": "plan",
    "signal": "signal",
    "output": "output",
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


def decide_invalid(routing: Routing, agent_id: str) -> NextStep | None:
    """Return where to go when an agent has no right typed answer; None: the run fails."""
    target = routing.on_invalid.get(agent_id)
    if target is None:
        return None
    return _go(routing, target, Reason("invalid", source=routing.source("invalid", agent_id)))


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
    found = members_found(routing, group.agents, answers)
    aimed = [member for member, one in found.items() if one.target is not None]
    for member in (*aimed, *found):
        return _follow(routing, found[member], member)
    transition = first_transition(routing.rules_after_group(origin), NO_ANSWER, visited)
    step = _follow(routing, transition, origin)
    return replace(step, decided=False) if isinstance(step, Finish) else step


def settles(routing: Routing, group: Group, agent_id: str, answer: AgentAnswer) -> bool:
    """Return whether a member's answer alone decides where a group leads without the others."""
    if group.next_agent is not None:
        return True
    transition = member_transition(routing, agent_id, answer)
    return transition is not None and transition.target is not None


def deciding_member(
    routing: Routing, group: Group, answers: Mapping[str, AgentAnswer]
) -> str | None:
    """Return the member that decides by its answer where the group leads, if one does."""
    if group.next_agent is not None:
        return None
    found = members_found(routing, group.agents, answers)
    return next((member for member, one in found.items() if one.target is not None), None)


def _follow(routing: Routing, transition: Transition, agent_id: str) -> NextStep:
    source = transition.source
    if transition.target is None:
        reasons: dict[str, EndReason] = {
            "signal": "signal",
            "output": "output",
            "terminal": "terminal",
        }
        reason = reasons.get(transition.kind, "no_next_agent")
        signal = transition.route.signal.text if transition.route is not None else ""
        return Finish(reason, agent_id, source=source, signal=signal)
    if transition.route is None:
        why = Reason(WHY[transition.kind], source=source, matched=transition.matched)
        return _go(routing, transition.target, why)
    others = tuple(route.signal.text for route in transition.others)
    signal = transition.route.signal.text
    return _go(routing, transition.target, Reason("signal", signal, others, source))


def _go(routing: Routing, target: str, reason: Reason) -> Handoff | Fork:
    group = routing.groups.get(target)
    return Handoff(target, reason) if group is None else Fork(group, reason)
