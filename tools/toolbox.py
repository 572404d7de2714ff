"""The tools of a crew by their names, and by the names of entries that describe several."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tools.definition import Tool
from tools.search import TOOL_SEARCH


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The tools of one entry, which an agent may name together by the entry's name."""

    tools: tuple[Tool, ...]


@dataclass(slots=True)
class Toolbox:
    """Every tool that agents may name."""

    by_name: dict[str, Tool]
    # by the names of their entries
    sets: dict[str, ToolSet] = field(default_factory=dict)
    # of the crew's files, in their order
    own: list[Tool] = field(default_factory=list)

    @property
    def names(self) -> Mapping[str, Tool | ToolSet]:
        """What an agent's list of tools may name."""
        return {**self.sets, **self.by_name}

    def add(self, entry: str, made: Tool | ToolSet) -> Iterator[str]:
        """Add what an entry makes; yields the names that are taken: their tools are left out."""
        if isinstance(made, ToolSet):
            self.sets[entry] = made
        for tool in made.tools if isinstance(made, ToolSet) else (made,):
            if tool.name in self.by_name or tool.name == TOOL_SEARCH:
                yield tool.name
            else:
                self.by_name[tool.name] = tool
                self.own.append(tool)

    def changed(self, change: Callable[[Tool], Tool]) -> "Toolbox":
        """Return the same tools, changed; `own` stays."""
        by_name = {name: change(tool) for name, tool in self.by_name.items()}
        sets = {
            name: ToolSet(tuple(by_name[tool.name] for tool in one.tools))
            for name, one in self.sets.items()
        }
        return Toolbox(by_name, sets, self.own)

    def named(self, names: Iterable[str]) -> dict[str, Tool]:
        """Return the tools of an agent's list, by their own names; without those left out."""
        found: dict[str, Tool] = {}
        for name in names:
            if name in self.sets:
                found |= {tool.name: tool for tool in self.sets[name].tools}
            elif name in self.by_name:
                found[name] = self.by_name[name]
        return found
