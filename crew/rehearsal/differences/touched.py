"""Which parts of a crew differ between two versions, and which rehearsals may meet them; pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from crew.assembly.checked import Checked
from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources
from crew.rehearsal.differences.differences import NOTHING
from crew.rehearsal.differences.flat import leaves_of
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.expected import ANY

# parts of `routing` the entries of which are of an agent
OF_AGENTS = frozenset({"signals", "agent_behaviors", "defaults", "outputs"})


@dataclass(slots=True)
class Touched:
    """The agents, groups and tools that differ, or that lead elsewhere."""

    names: set[str] = field(default_factory=set)
    # something of all differs, such as a setting or the script
    is_all: bool = False

    @classmethod
    def of(cls, then: Checked, now: Checked) -> "Touched":
        """Compare two crews without errors."""
        found = cls(is_all=_others(then.files.sources) != _others(now.files.sources))
        before, after = leaves_of(then), leaves_of(now)
        for path in dict.fromkeys((*before, *after)):
            if before.get(path, NOTHING).value != after.get(path, NOTHING).value:
                found._add(path)
        return found

    def _add(self, path: tuple[str, ...]) -> None:
        match path:
            case ("agents" | "tools", name, *_):
                self.names.add(name)
            case ("routing", "parallel_groups", name, *_):
                self.names.add(name)
            case ("routing", part, name, *_) if part in OF_AGENTS:
                self.names.add(name)
            case ("agents",):
                # what is new or gone has paths of its own
                return
            case _:
                self.is_all = True

    def meets(self, case: Case, crew: Checked) -> bool:
        """Return whether a rehearsal may meet what differs: also where its path is not known."""
        if self.is_all:
            return True
        expected = [case.keys.expect, *(one.expect for one in case.keys.turns)]
        paths = [one.path for one in expected if one.path is not None]
        is_known = len(paths) == max(1, len(case.keys.turns))
        if not is_known or any(step.name in ANY for path in paths for step in path):
            return True
        names = {step.name for path in paths for step in path}
        names |= {speaker.partition("/")[0] for speaker in case.keys.says}
        return not self.names.isdisjoint({*names, *case.keys.returns, *_behind(names, crew)})


def _behind(names: set[str], crew: Checked) -> Iterator[str]:
    """Yield the members of groups, the tools of agents, and the agents that are tools."""
    files = crew.files
    groups = files.crew.routing.parallel_groups if files.crew is not None else {}
    agents = {name for name in names if name in files.agents}
    for name in names & groups.keys():
        agents |= set(groups[name].agents)
    left = list(agents)
    while left:
        agent_id = left.pop()
        yield agent_id
        for name in files.agents[agent_id].tool_names if agent_id in files.agents else ():
            yield name
            tool = crew.tools.by_name.get(name)
            if tool is not None and tool.agent_id and tool.agent_id not in agents:
                agents.add(tool.agent_id)
                left.append(tool.agent_id)


def _others(sources: Sources) -> dict[str, bytes]:
    """Return the files that are neither crew.yaml, tools.yaml nor an agent's."""
    own = {sources.find(CREW_FILE), sources.find(TOOLS_FILE), *sources.agents}
    return {name: content for name, content in sources.files.items() if name not in own}
