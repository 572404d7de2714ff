"""Each thing of a crew's files that a mutant changes; pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from agents.config import AgentConfig
from crew.assembly.checked import Checked
from crew.config.crew_files import CrewFiles
from crew.config.files.changes import Change
from crew.config.files.document import Document, YamlPath
from tools.config import AgentTool
from tools.config.common import CommonTool

MutantKind = Literal["route", "group", "limit", "approval", "tool", "budget", "prompt", "sampling"]
# of what is sent to models alone: pins notice it
OF_WORDS: frozenset[MutantKind] = frozenset({"prompt", "sampling"})
FACTORS = (0.3, 10)
LIMITS = ("max_handoffs", "max_rounds", "timeout_seconds")
BUDGETS = ("max_tokens_per_call", "max_tokens_per_day", "max_cost_per_day_usd")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one thing."""

    kind: MutantKind
    text: str
    # `file:line` of the thing
    source: str
    change: Change


def mutants_of(checked: Checked) -> list[Mutant]:
    """Return all mutants of a crew without errors."""
    files = checked.files
    made = _Maker(files)
    return [
        *made.routes(),
        *made.groups(),
        *made.limits(),
        *made.agents(),
        *made.tools(),
    ]


@dataclass(frozen=True, slots=True)
class _Maker:
    files: CrewFiles

    @property
    def names(self) -> list[str]:
        """What routes may lead to."""
        crew = self.files.crew
        assert crew is not None, "only of a crew without errors"
        return [*crew.agents, *crew.routing.parallel_groups]

    def _of_crew(
        self, kind: MutantKind, text: str, path: YamlPath, value: Any, *, removed: bool = False
    ) -> Mutant:
        source = _source(self.files.crew_document, path)
        return Mutant(kind, text, source, Change(path, value, removed))

    def _others(self, *taken: str | None) -> list[str]:
        return [name for name in self.names if name not in taken][:1]

    def routes(self) -> Iterator[Mutant]:
        """Yield the mutants of routes."""
        crew = self.files.crew
        assert crew is not None, "only of a crew without errors"
        for agent, routes in crew.routing.signals.items():
            for number, route in enumerate(routes):
                path: YamlPath = ("routing", "signals", agent, number)
                name = f"{agent} {route.signal}"
                wrong = f"{route.signal[:1]}x{route.signal[1:]}"
                yield self._of_crew("route", f"{name} is misspelt", (*path, "signal"), wrong)
                for other in self._others(route.target, agent):
                    text = f"{name} → {other}"
                    yield self._of_crew("route", text, (*path, "target"), other)
                if route.target is not None:
                    yield self._of_crew("route", f"{name} → the end", (*path, "target"), None)
                if len(routes) > 1:
                    yield self._of_crew("route", f"{name} is gone", path, None, removed=True)
        for agent, target in crew.routing.defaults.items():
            path = ("routing", "defaults", agent)
            for other in self._others(target, agent):
                yield self._of_crew("route", f"{agent} default → {other}", path, other)
            yield self._of_crew("route", f"{agent} default is gone", path, None, removed=True)
        for agent, rules in crew.routing.agent_behaviors.items():
            if rules.wait_for_signal:
                path = ("routing", "agent_behaviors", agent, "wait_for_signal")
                yield self._of_crew("route", f"{agent} does not wait", path, value=False)
        for other in [one for one in crew.agents if one != crew.entry_point][:1]:
            yield self._of_crew("route", f"the entry point is {other}", ("entry_point",), other)

    def groups(self) -> Iterator[Mutant]:
        """Yield the mutants of groups."""
        crew = self.files.crew
        assert crew is not None, "only of a crew without errors"
        for name, group in crew.routing.parallel_groups.items():
            path: YamlPath = ("routing", "parallel_groups", name)
            for member in group.agents if len(group.agents) > 1 else ():
                left = [one for one in group.agents if one != member]
                text = f"group {name} without {member}"
                yield self._of_crew("group", text, (*path, "agents"), left)
            for other in self._others(group.next_agent, name, *group.agents):
                text = f"group {name} → {other}"
                yield self._of_crew("group", text, (*path, "next_agent"), other)
            waits = not group.wait_for_all
            text = f"group {name}: wait_for_all {str(waits).lower()}"
            yield self._of_crew("group", text, (*path, "wait_for_all"), waits)

    def limits(self) -> Iterator[Mutant]:
        """Yield the mutants of settings."""
        crew = self.files.crew
        assert crew is not None, "only of a crew without errors"
        for name in LIMITS:
            value = getattr(crew.settings, name)
            for changed in _scaled(value):
                text = f"settings.{name} {value:g} → {changed:g}"
                yield self._of_crew("limit", text, ("settings", name), changed)

    def agents(self) -> Iterator[Mutant]:
        """Yield the mutants of agents."""
        crew = self.files.crew
        assert crew is not None, "only of a crew without errors"
        for agent_id in crew.agents:
            config, document = self.files.agents[agent_id], self.files.agent_files[agent_id]
            for kind, text, path, value, removed in _of_agent(config):
                change = Change(("agents", agent_id, *path), value, removed)
                yield Mutant(kind, f"{agent_id}: {text}", _source(document, path), change)

    def tools(self) -> Iterator[Mutant]:
        """Yield the mutants of tools."""
        for name, config in self.files.tools.items():
            if isinstance(config, AgentTool):
                continue
            document = self.files.tool_files[name]
            for kind, text, path, value, removed in _of_tool(config):
                whole = ("tools", name, *path)
                change = Change(whole, value, removed)
                yield Mutant(kind, f"{name}: {text}", _source(document, whole), change)


# kind, text, path, value, whether it is removed
Made = tuple[MutantKind, str, YamlPath, Any, bool]


def _of_agent(config: AgentConfig) -> Iterator[Made]:
    for tool in config.tools:
        left = [one for one in config.tools if one != tool]
        yield "tool", f"has no {tool}", ("tools",), left, False
    if config.is_terminal:
        yield "route", "is not terminal", ("is_terminal",), False, False
    if config.handoff_targets:
        yield "route", "has no handoff_targets", ("handoff_targets",), None, True
    for name in BUDGETS:
        value = getattr(config.cost_limits, name, None)
        if value:
            yield "budget", f"{name} × 0.3", ("cost_limits", name), _kept(value, 0.3), False
    lines = config.system_prompt.splitlines()
    for number, line in enumerate(lines):
        if line.strip():
            text = "\n".join([*lines[:number], *lines[number + 1 :]])
            shown = line.strip()[:40]
            yield "prompt", f"prompt without {shown!r}", ("system_prompt",), text, False
    if config.description:
        yield "prompt", "another description", ("description",), f"{config.description} x", False
    if config.temperature is not None:
        cooler = 0.0 if config.temperature else 1.0
        yield "sampling", "another temperature", ("temperature",), cooler, False


def _of_tool(config: Any) -> Iterator[Made]:
    if not isinstance(config, CommonTool):
        return
    if (rule := config.approval) is not None:
        yield "approval", "asks no person", ("requires_approval",), False, False
        if rule.deadline_seconds is not None:
            place: YamlPath = ("requires_approval", "deadline_seconds")
            sooner = _kept(rule.deadline_seconds, 0.3)
            yield "approval", "deadline × 0.3", place, sooner, False
            other = "fail" if rule.on_deadline == "refuse" else "refuse"
            place = ("requires_approval", "on_deadline")
            yield "approval", f"on_deadline {other}", place, other, False
    effect = getattr(config, "effect", None)
    if effect == "once":
        yield "tool", "effect idempotent", ("effect",), "idempotent", False
    properties = (getattr(config, "parameters", None) or {}).get("properties", {})
    for name, schema in properties.items():
        values = schema.get("enum") if isinstance(schema, dict) else None
        for value in values if values and len(values) > 1 else ():
            left = [one for one in values or () if one != value]
            enum: YamlPath = ("parameters", "properties", name, "enum")
            yield "tool", f"{name} cannot be {value}", enum, left, False
    if config.timeout_seconds:
        for changed in _scaled(config.timeout_seconds):
            yield "limit", f"timeout_seconds {changed:g}", ("timeout_seconds",), changed, False


def _scaled(value: float) -> Iterator[float]:
    for factor in FACTORS:
        if (changed := _kept(value, factor)) != value:
            yield changed


def _kept(value: float, factor: float) -> float:
    """Return a value so many times as large: whole where it was, and one at least."""
    return max(1, int(value * factor)) if isinstance(value, int) else value * factor


def _source(document: Document, path: YamlPath) -> str:
    return f"{document.file}:{document.key_at(path)[0]}"
