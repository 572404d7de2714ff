"""What a crew's files say, as far as they can be read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.config import AgentConfig
from agents.costs.shape import PricesFile
from agents.outputs.schema import Field
from agents.outputs.vocabularies import Vocabulary
from agents.providers.scripted import Script
from crew.config.files.changes import Change
from crew.config.files.document import Document, YamlPath
from crew.config.files.environment import ReadSecret
from crew.config.files.sources import CREW_FILE, Sources
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem
from tools.config import ToolConfig
from tools.kinds.mcp.lock import Locked
from tools.text.secrets import Secrets


@dataclass(slots=True)
class CrewFiles:
    """What a crew's files say, as far as they can be read."""

    sources: Sources
    documents: dict[str, Document] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    # what was left out of each file, by its name: paths as written; () is the whole file
    changed: dict[str, set[YamlPath]] = field(default_factory=dict)
    crew: CrewConfig | None = None
    # by id, in the order of the files' names; and the file of each
    agents: dict[str, AgentConfig] = field(default_factory=dict)
    agent_files: dict[str, Document] = field(default_factory=dict)
    # the tools of both files, and the document of each
    tools: dict[str, ToolConfig] = field(default_factory=dict)
    tool_files: dict[str, Document] = field(default_factory=dict)
    script: Script | None = None
    # OpenAPI documents that tools name, as plain data; without those that cannot be read
    api_documents: dict[str, Any] = field(default_factory=dict)
    # the texts of the files that blocks of `context` name, by those names
    context_texts: dict[str, str] = field(default_factory=dict)
    # the schemas of typed answers by agent, and the vocabularies; those that are right
    outputs: dict[str, Field] = field(default_factory=dict)
    vocabularies: dict[str, Vocabulary] = field(default_factory=dict)
    # the schemas of blocks of core memory, by their names; those that are right
    core: dict[str, Field] = field(default_factory=dict)
    # the tools of MCP servers that mcp.lock.json has, by their entries
    locked: Locked = field(default_factory=dict)
    # of prices.json
    prices: PricesFile | None = None
    # gets what is read from the environment
    secrets: Secrets = field(default_factory=Secrets)
    # those that files read from the environment, with their places
    secrets_read: list[ReadSecret] = field(default_factory=list)
    # keys that stand in crew.yaml or tools.yaml itself, by their paths
    literals: Mapping[YamlPath, str] = field(default_factory=dict)
    # changes of the sources that name a place of no file
    unmade: list[Change] = field(default_factory=list)

    @property
    def crew_document(self) -> Document:
        """crew.yaml, or an empty document where there is none."""
        return self.documents.get(CREW_FILE) or Document(CREW_FILE, "")

    @property
    def texts(self) -> dict[str, str]:
        """The files' texts by their names."""
        return {name: document.text for name, document in self.documents.items()}

    @property
    def name(self) -> str:
        """The crew's name: the one given, or the folder's."""
        given = self.crew.name if self.crew is not None else ""
        return given or self.sources.folder.resolve().name

    def is_whole(self, file: str, *keys: str) -> bool:
        """Return whether nothing was left out of a file, or of some of its keys at the top."""
        changed = self.changed.get(file, set())
        if not keys:
            return not changed
        return not any(path == () or path[0] in keys for path in changed)

    def names_in(self, file: str, path: YamlPath) -> Collection[str] | None:
        """Return the names in a mapping of a file, also of wrong entries.

        None where it is wrong itself.

        Of a wrong entry only what is wrong in it is a problem, not that it is missing.
        """
        document = self.documents.get(file)
        data: Any = document.data if document is not None else {}
        for part in path:
            if data is None:
                return ()
            if not isinstance(data, dict):
                return None
            data = data.get(part)
        if data is None:
            return ()
        if not isinstance(data, dict):
            return None
        return [name for name in data if not name.startswith("x-")]
