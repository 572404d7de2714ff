"""Where the answers of a group's members lead the group."""

from collections.abc import Iterator, Mapping, Sequence

from crew.routing.rules import (
    AgentAnswer,
    OutputRule,
    Route,
    Routing,
    SignalRule,
    Transition,
    find_routes,
    take,
    winnable,
)


def member_transition(routing: Routing, member: str, answer: AgentAnswer) -> Transition | None:
    """Return where a member's answer leads by itself: a target before an end."""
    for rule in routing.rules[member]:
        match rule:
            case OutputRule():
                transition = rule.apply(answer, ())
                return None if transition is None or transition.kind == "pause" else transition
            case SignalRule(routes):
                found = find_routes(routes, answer)
                aimed = [route for route in found if route.target is not None]
                return take((aimed or found)[0], found) if found else None
    return None


def members_found(
    routing: Routing, members: Sequence[str], answers: Mapping[str, AgentAnswer]
) -> dict[str, Transition]:
    """Return where the members' answers lead, in their order; without those that lead nowhere."""
    found = {m: member_transition(routing, m, answers[m]) for m in members if m in answers}
    return {member: one for member, one in found.items() if one is not None}


def member_transitions(routing: Routing, member: str) -> Iterator[Transition]:
    """Yield where a member's answers can lead its group."""
    for rule in routing.rules[member]:
        match rule:
            case OutputRule():
                yield from (one for one in rule.transitions(()) if one.kind != "pause")
            case SignalRule(routes):
                yield from (take(route, ()) for route in winnable_in_group(routes))


def may_decide_nothing(routing: Routing, member: str) -> bool:
    """Return whether an answer of a member can lead its group nowhere."""
    rule = routing.rules[member][0]
    if not isinstance(rule, OutputRule):
        return True
    return rule.conditional or any(one.kind == "pause" for one in rule.transitions(()))


def group_transitions(routing: Routing, members: Sequence[str]) -> Iterator[tuple[str, Transition]]:
    """Yield where a group can be led when these members answer, and by which of them.

    The first target wins; an end only where none has a target.
    """
    made = {member: list(member_transitions(routing, member)) for member in members}
    silent = {member: may_decide_nothing(routing, member) for member in members}
    aims = {
        member: not silent[member] and all(one.target is not None for one in found)
        for member, found in made.items()
    }
    for place, member in enumerate(members):
        earlier, others = members[:place], [one for one in members if one != member]
        for transition in made[member]:
            if transition.target is not None:
                can_be = not any(aims[one] for one in earlier)
            else:
                is_first = all(silent[one] for one in earlier)
                can_be = is_first and not any(aims[one] for one in others)
            if can_be:
                yield member, transition


def winnable_in_group(routes: Sequence[Route]) -> list[Route]:
    """Return a member's routes that can decide where its group leads: targets beat ends."""
    aimed = [route for route in routes if route.target is not None]
    ends = [route for route in routes if route.target is None]
    return winnable(aimed) + [route for route in ends if route in winnable([*aimed, route])]
