"""A crew's files -> its configuration, with the place of each mistake; one file's truth."""

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.config import AgentConfig
from agents.providers.scripted import SCRIPT_FILE, Script
from crew.config.binding import S, fill_environment, ignored_keys, shape
from crew.config.crew_file import CrewConfig
from crew.config.problems import ErrorCode, Problem
from crew.config.sources import CREW_FILE, TOOLS_FILE, Sources
from crew.config.yaml_reader import Document, Path, read
from tools.config import ToolConfig, ToolsFile


@dataclass(slots=True)
class CrewFiles:
    """What a crew's files say, as far as they can be read."""

    sources: Sources
    documents: dict[str, Document] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    crew: CrewConfig | None = None
    # by id, in the order of the files' names; and the file of each
    agents: dict[str, AgentConfig] = field(default_factory=dict)
    agent_files: dict[str, Document] = field(default_factory=dict)
    # the tools of both files, and the document and path of each
    tools: dict[str, ToolConfig] = field(default_factory=dict)
    tool_files: dict[str, Document] = field(default_factory=dict)
    script: Script | None = None

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
        return (self.crew.name if self.crew else "") or self.sources.folder.resolve().name


def read_files(sources: Sources, environment: Mapping[str, str]) -> CrewFiles:
    """Read all files of a crew; what is wrong with each is in `problems`."""
    files = CrewFiles(sources, problems=list(sources.problems))
    if (crew := sources.named(CREW_FILE)) is not None:
        _read_crew(files, crew, environment)
    _read_agents(files, environment)
    if (tools := sources.named(TOOLS_FILE)) is not None:
        _read_tools(files, tools, environment)
    if (script := sources.named(SCRIPT_FILE)) is not None:
        files.script = _shaped(files, _read(files, script), Script, (), environment)
    return files


def _read(files: CrewFiles, name: str) -> Document:
    document = read(name, files.sources.files[name])
    files.documents[name] = document
    files.problems += document.problems
    return document


def _shaped(
    files: CrewFiles,
    document: Document,
    kind: type[S],
    variables: tuple[Path, ...],
    environment: Mapping[str, str],
) -> S | None:
    """The document as a `kind`, or None.

    `variables`: the parts that are filled from the environment.
    """
    unset = fill_environment(document, variables, environment)
    shaped, problems = shape(document, kind)
    # what a missing variable leaves behind is no second mistake
    places = {(problem.line, problem.column) for problem in unset}
    problems = [problem for problem in problems if (problem.line, problem.column) not in places]
    files.problems += [*unset, *ignored_keys(document, kind), *problems]
    return shaped


def _read_crew(files: CrewFiles, name: str, environment: Mapping[str, str]) -> None:
    document = _read(files, name)
    # crew.yml is known by the same name
    files.documents[CREW_FILE] = document
    files.crew = _shaped(files, document, CrewConfig, (("providers",), ("tools",)), environment)
    if files.crew is not None:
        files.tools = dict(files.crew.tools)
        files.tool_files = dict.fromkeys(files.tools, document)


def _read_agents(files: CrewFiles, environment: Mapping[str, str]) -> None:
    # a file that cannot be read is still there, so nothing else is told of it
    for problem in files.sources.problems:
        if problem.code == "unreadable" and problem.file.startswith("agents/"):
            files.agent_files[pathlib.Path(problem.file).stem] = Document(problem.file, "")
    for file in files.sources.agents:
        document, stem = _read(files, file), pathlib.Path(file).stem
        urls: tuple[Path, ...] = (
            ("provider_url",),
            ("primary", "provider_url"),
            ("backup", "provider_url"),
        )
        agent = _shaped(files, document, AgentConfig, urls, environment)
        if agent is None:
            # known by what it says of itself, or its file's name, so that nothing else seems to be
            # missing
            said = document.data.get("id") if isinstance(document.data, dict) else None
            files.agent_files.setdefault(str(said) if isinstance(said, str) else stem, document)
        elif agent.id in files.agents:
            first = files.agent_files[agent.id].file
            files.problems.append(
                document.problem(
                    ("id",), "agent-twice", f"agent {agent.id} is defined in {first} already"
                )
            )
        else:
            files.agents[agent.id], files.agent_files[agent.id] = agent, document
            if agent.id != stem:
                text = f"agent {agent.id} stands in {document.file}; a file named {agent.id}.yaml is easier to find"
                files.problems.append(document.problem(("id",), "file-name", text))


def _read_tools(files: CrewFiles, name: str, environment: Mapping[str, str]) -> None:
    document = _read(files, name)
    config = _shaped(files, document, ToolsFile, (("tools",),), environment)
    for name, tool in (config.tools if config is not None else {}).items():
        if name in files.tools:
            where = files.tool_files[name].file
            files.problems.append(
                document.problem(
                    ("tools", name),
                    "tool-twice",
                    f"tool {name} is defined in {where} already",
                    key=True,
                )
            )
        else:
            files.tools[name], files.tool_files[name] = tool, document


UNKNOWN: dict[str, ErrorCode] = {
    "agent": "unknown-agent",
    "agent or group": "unknown-agent",
    "tool": "unknown-tool",
    "provider": "unknown-provider",
}


def unknown(
    document: Document,
    path: Path,
    what: str,
    name: str,
    known: Mapping[str, object] | frozenset[str],
    *,
    key: bool = False,
) -> Problem:
    """The problem of a name that nothing has; `what`: a key of UNKNOWN."""
    near = document.near(name, known)
    listed = f"; known: {', '.join(sorted(known)[:12])}" if known and near is None else ""
    return document.problem(
        path, UNKNOWN[what], f"unknown {what} {name!r}{listed}", key=key, suggestion=near
    )
