"""What a rehearsal names, beside what the crew has."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from agents.errors import ProviderError
from agents.helper import PREFIX
from crew.assembly.checked import Checked
from crew.assembly.helpers import PROMPTS
from crew.assembly.models import named_model
from crew.config.crew_files import CrewFiles
from crew.config.files.document import YamlPath
from crew.config.problems import Problem, ProblemCode, has_failed
from crew.config.routing_plan import entry_point, routing_of
from crew.rehearsal.files.arguments import wrong_arguments, wrong_parts
from crew.rehearsal.files.bound import Case, PlacedInvariant, Rehearsals
from crew.rehearsal.files.paths import PathCheck
from crew.rehearsal.keys.expected import Expect, Occurrence
from crew.routing.graph import RoutingGraph
from crew.routing.rules import Routing
from tools.definition import Tool
from tools.text.suggest import nearest

# what has a place in a file of rehearsals
Placed = Case | PlacedInvariant
HELPERS = tuple(f"{PREFIX}{name}" for name in PROMPTS)


@dataclass(slots=True)
class CaseChecks:
    """Checks of the rehearsals of one crew."""

    files: CrewFiles
    # as far as their files were imported, and all of their names
    tools: Mapping[str, Tool]
    tool_names: Collection[str]
    routing: Routing
    graph: RoutingGraph
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def of(cls, checked: Checked) -> "CaseChecks":
        """Return the checks for a crew without errors."""
        files = checked.files
        routing = routing_of(files, checked.tools.names)
        graph = RoutingGraph.of(routing, entry_point(files))
        names = {*checked.tools.names, *files.tools}
        return cls(files, checked.tools.by_name, names, routing, graph)

    def check(self, case: Case) -> list[Problem]:
        """Return what a rehearsal names that is not there."""
        self.problems = []
        keys = case.keys
        self._starts(case)
        for speaker in keys.says:
            agent, _, _ = speaker.partition("/")
            if not agent.startswith(PREFIX) or agent not in HELPERS:
                self._agent(case, ("says", speaker), agent, HELPERS)
        self._said_calls(case)
        for name in keys.returns:
            self._tool(case, ("returns", name), name)
        for number, fault in enumerate(keys.faults):
            self._tool(case, ("faults", number, "tool"), fault.tool)
            self._tool(case, ("faults", number, "changes"), fault.changes)
            self._agent(case, ("faults", number, "model"), fault.model, self._providers())
            servers = {name for name, one in self.files.tools.items() if one.kind == "mcp"}
            if fault.server is not None and fault.server not in servers:
                place = ("faults", number, "server")
                self._unknown(case, place, "bad-value", "MCP server", fault.server, servers)
        for path, expect in expectations_of(case):
            self._expect(case, path, expect, self._start(case))
        return self.problems

    def check_invariants(self, found: Rehearsals) -> Iterator[Problem]:
        """Yield what the invariants of all rehearsals name that is not there."""
        ids = {one.id for one in found.cases}
        # one that has a mistake is not among them
        has_all = not has_failed(found.problems)
        for one in found.invariants:
            self.problems, keys = [], one.keys
            for name, occurrence in (("never", keys.never), ("when", keys.when)):
                if occurrence is not None:
                    self._occurrence(one, (name,), occurrence)
            if keys.always is not None:
                self._expect(one, ("always",), keys.always, self.graph.entry_point)
            for number, case_id in enumerate(keys.except_ if has_all else ()):
                if case_id not in ids:
                    path = ("except", number)
                    self._unknown(one, path, "bad-value", "rehearsal", case_id, ids)
            yield from self.problems

    def _providers(self) -> Collection[str]:
        crew = self.files.crew
        named = crew.providers if crew is not None else ()
        return {*named, *(one.provider for one in self.files.agents.values() if one.provider)}

    def _starts(self, case: Case) -> None:
        keys, crew = case.keys, self.files.crew
        assert crew is not None, "only of a crew without errors"
        if keys.query is not None:
            self._agent(case, ("query", "agent"), keys.query.agent)
        if keys.turns and crew.conversations is None:
            text = "the crew has no conversations; add conversations to crew.yaml, or use query"
            self._refuse(case, ("turns",), "bad-value", text)
        if keys.hook is not None and keys.hook.name not in crew.hooks:
            self._unknown(case, ("hook", "name"), "bad-value", "hook", keys.hook.name, crew.hooks)

    def _start(self, case: Case) -> str:
        """Return who speaks first."""
        keys, crew = case.keys, self.files.crew
        given = keys.query.agent if keys.query is not None else None
        if keys.hook is not None and crew is not None and keys.hook.name in crew.hooks:
            given = crew.hooks[keys.hook.name].agent
        return given or self.graph.entry_point

    def _said_calls(self, case: Case) -> None:
        """Find calls that the tools refuse, unless an error is expected."""
        refused = {
            one.tool
            for _, expect in expectations_of(case)
            for one in expect.calls
            if one.status == "error"
        }
        for speaker, answers in case.keys.says.items():
            if case.keys.cassette is not None and not case.must_be_used("says", speaker):
                # a model has made them: they are recorded
                continue
            for number, answer in enumerate(answers):
                for place, call in enumerate(answer.calls):
                    tool = self.tools.get(call.tool)
                    if tool is None or call.tool in refused:
                        continue
                    if why := wrong_arguments(tool, call.arguments):
                        path = ("says", speaker, number, "calls", place)
                        text = f"{call.tool} refuses these arguments: {why}"
                        self._refuse(case, path, "wrong-arguments", text)

    def _expect(self, case: Placed, path: YamlPath, expect: Expect, start: str) -> None:
        if expect.path is not None:
            checked = PathCheck(self.routing, self.graph, start)
            for number, code, text, near in checked.problems(expect.path):
                self._refuse(case, (*path, "path", number), code, text, near)
        for number, call in enumerate(expect.calls):
            place = (*path, "calls", number)
            self._agent(case, (*place, "agent"), call.agent)
            self._tool(case, (*place, "after"), call.after)
            for name in (call.tool, *(call.only or ())):
                self._tool(case, place, name)
            tool = self.tools.get(call.tool or "")
            if tool is not None and (why := wrong_parts(tool, call.arguments)):
                self._refuse(case, (*place, "arguments"), "wrong-arguments", why)
        for number, one in enumerate(expect.never):
            self._occurrence(case, (*path, "never", number), one)
        for number, pause in enumerate(expect.pauses or ()):
            self._agent(case, (*path, "pauses", number, "agent"), pause.agent)
            for name in pause.calls or ():
                self._tool(case, (*path, "pauses", number, "calls"), name)
        for number, judge in enumerate(expect.judge):
            self._model(case, (*path, "judge", number, "model"), judge.model)
        for agent_id in (*expect.asked, *expect.output):
            key = "asked" if agent_id in expect.asked else "output"
            self._agent(case, (*path, key, agent_id), agent_id)
        for agent_id, asked in expect.asked.items():
            for name in asked.tools or ():
                self._tool(case, (*path, "asked", agent_id, "tools"), name)

    def _occurrence(self, case: Placed, path: YamlPath, one: Occurrence) -> None:
        self._tool(case, path, one.call)
        self._agent(case, path, one.agent)
        if one.signal is not None:
            self._signal(case, path, one.signal)
        tool = self.tools.get(one.call or "")
        if tool is not None and (why := wrong_parts(tool, one.arguments)):
            self._refuse(case, (*path, "arguments"), "wrong-arguments", why)

    def _agent(
        self, case: Placed, path: YamlPath, name: str | None, others: Collection[str] = ()
    ) -> None:
        known = self.routing.agents
        if name is not None and name not in known and name not in others:
            self._unknown(case, path, "unknown-agent", "agent", name, (*known, *others))

    def _tool(self, case: Placed, path: YamlPath, name: str | None) -> None:
        if name is not None and name not in self.tool_names:
            self._unknown(case, path, "unknown-tool", "tool", name, self.tool_names)

    def _model(self, case: Placed, path: YamlPath, name: str) -> None:
        assert self.files.crew is not None, "only of a crew without errors"
        try:
            named_model(self.files.crew, name)
        except ProviderError as error:
            self._refuse(case, path, "bad-value", str(error))

    def _signal(self, case: Placed, path: YamlPath, text: str) -> None:
        known = [one.signal.text for routes in self.routing.routes.values() for one in routes]
        if text not in known:
            self._unknown(case, path, "unknown-signal", "signal", text, known)

    def _unknown(
        self,
        case: Placed,
        path: YamlPath,
        code: ProblemCode,
        what: str,
        name: str,
        known: Collection[str],
    ) -> None:
        near = nearest(name, known)
        self._refuse(case, path, code, f"there is no {what} {name!r}", near)

    def _refuse(
        self, case: Placed, path: YamlPath, code: ProblemCode, text: str, near: str | None = None
    ) -> None:
        place = case.place(path)
        problem = Problem(place.file, place.line, place.column, code, text, near)
        self.problems.append(problem)


def expectations_of(case: Case) -> Iterator[tuple[YamlPath, Expect]]:
    """Yield all that a rehearsal expects, with its path."""
    yield ("expect",), case.keys.expect
    for number, turn in enumerate(case.keys.turns):
        yield ("turns", number, "expect"), turn.expect
