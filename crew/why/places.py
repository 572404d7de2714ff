"""Where the files of a revision say something: settings, tools, budgets."""

from collections.abc import Mapping
from dataclasses import dataclass

from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.routing_plan import file_line, routing_of
from crew.routing.rules import Routing

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class FilePlaces:
    """Finds lines in the files of a crew."""

    files: CrewFiles
    routing: Routing

    @classmethod
    def of(cls, files: CrewFiles, tools: Mapping[str, object]) -> "FilePlaces":
        """Return that of a crew without errors; `tools`: that its agents may have, by name."""
        return cls(files, routing_of(files, tools))

    def setting(self, name: str) -> str:
        """Return where a setting stands, or that it is the default."""
        return _line(self.files.crew_document, ("settings", name))

    def agent_key(self, agent_id: str, name: str) -> str:
        """Return where a key of an agent stands, or that it is the default."""
        document = self.files.agent_files.get(agent_id)
        return DEFAULT if document is None else _line(document, (name,))

    def tool(self, name: str) -> str | None:
        """Return where a tool stands; None: it is built in, or unknown."""
        document = self.files.tool_files.get(name)
        return None if document is None else file_line(document, ("tools", name), key=True)


def _line(document: Document, path: YamlPath) -> str:
    data = document.data
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return DEFAULT
        data = data[part]
    return file_line(document, path, key=True)
