"""What was said -> where to go: a Handoff, a Fork, a Pause or a Finish; pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crew.routing.signals import Signal, find

Why = Literal["signal", "default", "handoff_target", "order", "group", "no_answer"]
EndReason = Literal["terminal", "signal", "no_next_agent", "no_answer"]


@dataclass(frozen=True, slots=True)
class Route:
    """One line of `routing.signals.<agent>`."""

    signal: Signal
    # an agent, a group, or None: the run ends
    target: str | None
    description: str
    # where it stands, as `file:line`
    source: str


@dataclass(frozen=True, slots=True)
class Group:
    """One of `routing.parallel_groups`."""

    name: str
    agents: tuple[str, ...]
    wait_for_all: bool
    timeout_seconds: float
    next_agent: str | None


@dataclass(frozen=True, slots=True)
class Routing:
    """Where an agent's words may lead."""

    # in the order of crew.yaml
    agents: tuple[str, ...]
    routes: Mapping[str, tuple[Route, ...]]
    # has an entry only where crew.yaml has one; None: the run ends
    defaults: Mapping[str, str | None]
    # None where the agent says nothing of targets; () where it says "none"
    handoff_targets: Mapping[str, tuple[str, ...] | None]
    waits: frozenset[str]
    terminal: frozenset[str]
    # agents that the order of crew.yaml does not lead on from
    no_auto_route: frozenset[str]
    groups: Mapping[str, Group]
    # how long an agent's pauses wait, and where to go then (None: the run ends)
    wait_seconds: Mapping[str, float]
    unanswered: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the run goes where it goes."""

    why: Why
    signal: str | None = None
    # signals that were found as well
    also_found: tuple[str, ...] = ()
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Handoff:
    """Another agent speaks next."""

    to: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Fork:
    """A group speaks next."""

    group: Group
    reason: Reason


@dataclass(frozen=True, slots=True)
class Pause:
    """A person is asked."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The run ends in good order.

    After a group, the answer is the deciding agent's or, if there is none, the joined text.
    """

    reason: EndReason
    agent_id: str
    decided: bool = True


Decision = Handoff | Fork | Pause | Finish


def decide(routing: Routing, agent_id: str, words: str, spoken: Collection[str]) -> Decision:
    """Where to go after an agent's answer that calls no tools; the first match wins.

    Args:
        routing: the crew's.
        agent_id: who spoke.
        words: the answer.
        spoken: agents that have spoken since the last answer of a person, this one included.
    """
    found = _found(routing, agent_id, words)
    if found:
        route = found[0]
        reason = Reason(
            "signal", route.signal.text, tuple(r.signal.text for r in found[1:]), route.source
        )
        return (
            Finish("signal", agent_id)
            if route.target is None
            else _go(routing, route.target, reason)
        )
    if agent_id in routing.waits:
        return Pause(agent_id)
    if agent_id in routing.terminal:
        return Finish("terminal", agent_id)
    return _without_signal(routing, agent_id, spoken)


def decide_unanswered(routing: Routing, agent_id: str) -> Decision:
    """Where to go when nobody has answered an agent's pause in time."""
    target = routing.unanswered.get(agent_id)
    return (
        Finish("no_answer", agent_id)
        if target is None
        else _go(routing, target, Reason("no_answer"))
    )


def decide_group(
    routing: Routing, group: Group, answers: Mapping[str, str], origin: str, spoken: Collection[str]
) -> Decision:
    """Where to go after a group.

    Args:
        routing: the crew's.
        group: the group that has ended.
        answers: what its members said, without those that failed or were cancelled.
        origin: the agent that started the group or, where a member's signal led to it, that member.
        spoken: as for `decide`.
    """
    if group.next_agent is not None:
        return _go(routing, group.next_agent, Reason("group"))
    ending: Finish | None = None
    for member in group.agents:
        found = _found(routing, member, answers.get(member, ""))
        for route in found:
            if route.target is not None:
                also = tuple(r.signal.text for r in found if r is not route)
                return _go(
                    routing, route.target, Reason("signal", route.signal.text, also, route.source)
                )
            ending = ending or Finish("signal", member)
    if ending is not None:
        return ending
    after = _without_signal(routing, origin, spoken)
    return Finish(after.reason, origin, decided=False) if isinstance(after, Finish) else after


def settles(routing: Routing, group: Group, agent_id: str, words: str) -> bool:
    """Whether a member's answer alone decides where a group goes that does not wait for all."""
    return group.next_agent is not None or any(
        route.target is not None for route in _found(routing, agent_id, words)
    )


def deciding_member(routing: Routing, group: Group, answers: Mapping[str, str]) -> str | None:
    """The member whose signal decides where the group goes, if one does."""
    if group.next_agent is not None:
        return None
    return next(
        (
            m
            for m in group.agents
            if any(r.target is not None for r in _found(routing, m, answers.get(m, "")))
        ),
        None,
    )


def _found(routing: Routing, agent_id: str, words: str) -> Sequence[Route]:
    routes = routing.routes.get(agent_id, ())
    return [routes[place] for place in find([route.signal for route in routes], words)]


def _without_signal(routing: Routing, agent_id: str, spoken: Collection[str]) -> Decision:
    if agent_id in routing.defaults:
        target = routing.defaults[agent_id]
        return (
            Finish("no_next_agent", agent_id)
            if target is None
            else _go(routing, target, Reason("default"))
        )
    targets = routing.handoff_targets.get(agent_id)
    others = [target for target in targets or () if target != agent_id]
    if others:
        return _go(routing, others[0], Reason("handoff_target"))
    # a list of only itself counts as empty, and an empty one as given
    if agent_id not in routing.no_auto_route and targets is None:
        place = (
            routing.agents.index(agent_id) if agent_id in routing.agents else len(routing.agents)
        )
        for later in routing.agents[place + 1 :]:
            if later not in spoken:
                return _go(routing, later, Reason("order"))
    return Finish("no_next_agent", agent_id)


def _go(routing: Routing, target: str, reason: Reason) -> Handoff | Fork:
    group = routing.groups.get(target)
    return Handoff(target, reason) if group is None else Fork(group, reason)
