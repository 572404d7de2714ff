"""Whether a crew's routing has the steps of an expected path; pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from crew.config.problems import ProblemCode
from crew.rehearsal.keys.expected import ANY, ExpectedStep
from crew.routing.graph import NO_WAYS, RoutingGraph
from crew.routing.rules import Routing
from crew.routing.steps import Why
from tools.text.suggest import nearest

# steps that are no agents and no groups
SPECIAL = ("pause", "end")
# what may stand behind a handoff, besides signals
WHYS = frozenset(get_args(Why))
Found = tuple[int, ProblemCode, str, str | None]


@dataclass(frozen=True, slots=True)
class PathCheck:
    """Checks the paths of one crew."""

    routing: Routing
    graph: RoutingGraph
    # who speaks first
    start: str

    def problems(self, path: Sequence[ExpectedStep]) -> Iterator[Found]:
        """Yield what cannot be: the step's number, code, text, and the nearest name."""
        known = (*self.routing.agents, *self.routing.groups, *SPECIAL)
        # who leads on; None: it may be anyone
        before: str | None = None
        for number, step in enumerate(path):
            if step.name in ANY:
                before = None
                continue
            if step.name not in known:
                text = f"there is no agent or group {step.name!r}"
                yield number, "unknown-agent", text, nearest(step.name, known)
                return
            if step.name in SPECIAL:
                continue
            if number == 0 and step.name != self.start:
                text = f"the run begins with {self.start}"
                yield number, "unreachable-path", text, None
            elif before is not None and (why := self._no_edge(before, step.name)) is not None:
                yield number, "unreachable-path", why, None
            elif step.why is not None and (found := self._no_way(number, before, step)) is not None:
                yield found
            before = step.name

    def _no_edge(self, before: str, name: str) -> str | None:
        edges = [one for one in self.graph.edges if one.kind not in NO_WAYS]
        if any(one.from_ == before and one.to == name for one in edges):
            return None
        for group in self.routing.groups.values():
            if name in group.agents and before == group.name:
                return f"{name} speaks as a member of {before}, which is one step"
        ways = sorted({one.to for one in edges if one.from_ == before})
        leads = ", ".join(ways) if ways else "nowhere"
        return f"nothing leads from {before} to {name}; {before} leads to {leads}"

    def _no_way(self, number: int, before: str | None, step: ExpectedStep) -> Found | None:
        """Return that no such signal leads to a step."""
        why = step.why or ""
        if why in WHYS:
            return None
        if before is None:
            signals = [one.signal.text for all_ in self.routing.routes.values() for one in all_]
            if why in signals:
                return None
            text = f"there is no signal {why!r}"
            return number, "unknown-signal", text, nearest(why, (*signals, *WHYS))
        givers = self.routing.groups[before].agents if before in self.routing.groups else (before,)
        routes = [one for giver in givers for one in self.routing.routes.get(giver, ())]
        signals = [one.signal.text for one in routes]
        if why not in signals:
            text = f"{before} has no signal {why!r}"
            return number, "unknown-signal", text, nearest(why, (*signals, *WHYS))
        if all(one.target != step.name for one in routes if one.signal.text == why):
            text = f"{why} of {before} does not lead to {step.name}"
            return number, "unreachable-path", text, None
        return None
