"""The rules that decided where an answer led, each in its order: applied, or why not."""

from collections.abc import Callable, Container, Sequence

from crew.routing.decisions import deciding_member
from crew.routing.members import members_found
from crew.routing.rules import (
    AgentAnswer,
    FixedRule,
    OrderRule,
    OutputRule,
    Routing,
    Rule,
    SignalRule,
    Transition,
    rules_in_use,
)
from crew.why.near import find_matched, near_signals
from crew.why.steps import MatchedText, Ruling

KINDS = {
    "pause": "wait for a person",
    "terminal": "end the run",
    "end": "end the run",
}


def rulings_of(
    rules: Sequence[Rule],
    answer: AgentAnswer,
    visited: Container[str],
    mask: Callable[[str], str],
) -> tuple[list[Ruling], MatchedText | None]:
    """Return each rule with what became of it, and the words that decided.

    Args:
        rules: in their order.
        answer: that was looked at.
        visited: agents that have answered since the last answer of a person.
        mask: takes secrets out of a text.
    """
    found: list[Ruling] = []
    matched: MatchedText | None = None
    is_decided = False
    for rule in rules_in_use(rules):
        name = _name(rule)
        transition = rule.apply(answer, visited)
        if transition is None:
            if not is_decided:
                found.append(Ruling(name, False, _why_not(rule, answer), _source(rule)))
        elif is_decided:
            found.append(_not_reached(name, transition))
        else:
            is_decided = True
            if transition.route is not None:
                matched = find_matched(transition.route.signal, mask(answer.words))
            because = [_why(transition, matched), *_nearly(rule, transition, answer)]
            found.append(Ruling(name, True, "; ".join(because), transition.source))
    return found, matched


def _nearly(rule: Rule, transition: Transition, answer: AgentAnswer) -> list[str]:
    """Return what is nearly a signal of a rule, beside those that are there."""
    if not isinstance(rule, SignalRule):
        return []
    there = (transition.route, *transition.others)
    return list(near_signals([one for one in rule.routes if one not in there], answer.words))


def leads_to(transition: Transition) -> str:
    """Return where a transition leads, in words."""
    if transition.target is not None:
        return f"go to {transition.target}"
    return KINDS.get(transition.kind, "end the run")


def _why(transition: Transition, matched: MatchedText | None) -> str:
    match transition.kind:
        case "signal":
            others = ", ".join(one.signal.text for one in transition.others)
            lost = f"; also there, later in the file: {others}" if others else ""
            place = f", place {matched.start}" if matched is not None else ""
            words = f' in "{matched.text}"{place}' if matched is not None else ""
            signal = transition.route.signal.text if transition.route is not None else ""
            return f"{signal}{words}{lost}"
        case "output":
            fields = dict(transition.matched or {})
            return f"the answer fits {transition.label or 'without condition'}: {fields}"
        case _:
            return leads_to(transition)


def _why_not(rule: Rule, answer: AgentAnswer) -> str:
    match rule:
        case SignalRule(routes):
            near = list(near_signals(routes, answer.words))
            if near:
                return f"no signal is there, but {'; '.join(near)}"
            return f"none of {', '.join(one.signal.text for one in routes)} is in the answer"
        case OutputRule():
            return "there is no typed answer" if answer.output is None else "no route fits it"
        case OrderRule():
            return "no agent behind it in the list was not there yet"
        case _:
            return "it does not apply"


def _not_reached(name: str, transition: Transition) -> Ruling:
    return Ruling(name, False, f"not reached: would {_have(transition)}", transition.source)


def _have(transition: Transition) -> str:
    words = leads_to(transition)
    done = {"go": "gone", "wait": "waited", "end": "ended"}
    verb, _, rest = words.partition(" ")
    return f"have {done[verb]} {rest}"


def _name(rule: Rule) -> str:
    if rule.key:
        return rule.key
    return "order" if isinstance(rule, OrderRule) else "end"


def _source(rule: Rule) -> str | None:
    match rule:
        case SignalRule(routes):
            return routes[0].source
        case OutputRule(routes):
            return routes[0].source
        case FixedRule(transition=transition):
            return transition.source
        case _:
            return None


def group_rulings(
    routing: Routing, name: str, answers: dict[str, AgentAnswer], mask: Callable[[str], str]
) -> tuple[list[Ruling], MatchedText | None]:
    """Return what decided where a group led: its next agent, or the signals of its members.

    None of it applies where the rules of the agent that began the group decide.

    Args:
        routing: of the crew.
        name: of the group.
        answers: of its members.
        mask: takes secrets out of a text.
    """
    group, found = routing.groups[name], []
    if group.next_agent is not None:
        source = routing.source("group", name)
        return [Ruling("next_agent", True, f"go to {group.next_agent}", source)], None
    led = members_found(routing, group.agents, answers)
    decider = deciding_member(routing, group, answers) or next(iter(led), None)
    matched: MatchedText | None = None
    for member in group.agents:
        name = f"answer of {member}"
        if member not in answers:
            found.append(Ruling(name, False, "it has none"))
        elif member not in led:
            near = list(near_signals(routing.routes.get(member, ()), answers[member].words))
            found.append(Ruling(name, False, "; ".join(near) or "it leads nowhere"))
        elif member == decider:
            taken = led[member]
            if taken.route is not None:
                matched = find_matched(taken.route.signal, mask(answers[member].words))
            found.append(Ruling(name, True, _why(taken, matched), taken.source))
        else:
            text = f"not reached: {leads_to(led[member])}, but {decider} decides"
            found.append(Ruling(name, False, text, led[member].source))
    return found, matched
