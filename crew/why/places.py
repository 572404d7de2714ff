"""Where the files of a revision say something: settings, tools, budgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.routing_plan import file_line, routing_of
from crew.routing.rules import Routing
from tools.approval import ApprovalRule
from tools.config import SetOfTools, ToolConfig
from tools.config.common import CommonTool
from tools.config.mcp import McpServer
from tools.toolbox import Toolbox

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class FilePlaces:
    """Finds lines in the files of a crew."""

    files: CrewFiles
    routing: Routing
    # the entry of each tool that stands with others in one
    entries: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: CrewFiles, tools: Toolbox) -> "FilePlaces":
        """Return that of a crew without errors; `tools`: that its agents may have."""
        entries = {tool.name: entry for entry, one in tools.sets.items() for tool in one.tools}
        return cls(files, routing_of(files, {**files.tools, **tools.names}), entries)

    def setting(self, name: str) -> str:
        """Return where a setting stands, or that it is the default."""
        return _line(self.files.crew_document, ("settings", name))

    def agent_key(self, agent_id: str, name: str) -> str:
        """Return where a key of an agent stands, or that it is the default."""
        document = self.files.agent_files.get(agent_id)
        return DEFAULT if document is None else _line(document, (name,))

    def tool(self, name: str) -> str | None:
        """Return where a tool stands; None: it is built in, or unknown."""
        entry = self._entry(name)
        document = self.files.tool_files.get(entry)
        return None if document is None else file_line(document, ("tools", entry), key=True)

    def approval(self, name: str) -> ApprovalRule | None:
        """Return when calls of a tool need approval; None: the files do not say."""
        entry = self._entry(name)
        found = self.files.tools.get(entry)
        if isinstance(found, McpServer):
            return found.approval_of(name.removeprefix(found.prefix_of(entry)))
        return found.approval if isinstance(found, CommonTool) else None

    def approval_line(self, name: str, path: YamlPath) -> str | None:
        """Return where a part of when calls of a tool need approval stands; None: nowhere."""
        entry = self._entry(name)
        if (document := self.files.tool_files.get(entry)) is None:
            return None
        key, at = ("requires_approval", *path), ("tools", entry)
        own = (*at, "tools", name.removeprefix(f"{entry}_"), *key)
        lines = (_line(document, one) for one in (own, (*at, *key)))
        return next((line for line in lines if line != DEFAULT), None)

    def prices(self, provider: str, name: str) -> str | None:
        """Return where the prices of a model stand in `models`; None: not there.

        Args:
            provider: that answered.
            name: as the provider names the model.
        """
        models = self.files.crew.models if self.files.crew is not None else {}
        for alias, one in models.items():
            is_it = (one.model or alias) == name and one.provider in (None, provider)
            if is_it and one.prices is not None:
                return _line(self.files.crew_document, ("models", alias, "prices"))
        return None

    def _entry(self, name: str) -> str:
        """Return the entry in tools.yaml of a tool."""
        if name in self.entries or name in self.files.tools:
            return self.entries.get(name, name)
        # a server that was not started to look at the run
        servers = ((entry, one) for entry, one in self.files.tools.items())
        found = [one for one in servers if name.startswith(_prefix(*one))]
        return max(found, key=lambda one: len(one[0]))[0] if found else name

    def taint_rule(self, agent_id: str) -> str | None:
        """Return where it stands what text of others means for calls; None: nowhere."""
        own = self.agent_key(agent_id, "after_untrusted")
        line = own if own != DEFAULT else self.setting("after_untrusted")
        return line if line != DEFAULT else None


def _line(document: Document, path: YamlPath) -> str:
    data = document.data
    for part in path:
        is_there = isinstance(data, dict) and part in data
        if not (is_there or (isinstance(data, list) and isinstance(part, int))):
            return DEFAULT
        data = data[part]
    return file_line(document, path, key=not isinstance(path[-1], int))


def _prefix(entry: str, config: ToolConfig) -> str | tuple[()]:
    """Return what the names of an entry's tools begin with; nothing begins with ()."""
    return config.prefix_of(entry) if isinstance(config, SetOfTools) else ()
