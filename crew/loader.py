"""A crew's folder -> its configuration, with the place of each mistake; one file's truth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents.config import AgentConfig
from agents.providers.scripted import SCRIPT_FILE, Script
from crew.config import CrewConfig
from crew.problems import Problem
from crew.reading import Document, read
from crew.shaping import fill_environment, ignored_keys, shape
from tools.config import ToolConfig, ToolsFile
from tools.schema import nearest

CREW_FILE = "crew.yaml"
TOOLS_FILE = "tools.yaml"
ENDINGS = (".yaml", ".yml")


@dataclass(slots=True)
class CrewFiles:
    """What a crew's folder says, as far as it can be read."""

    folder: Path
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
        return (self.crew.name if self.crew else "") or self.folder.resolve().name


def read_folder(folder: Path, environment: Mapping[str, str]) -> CrewFiles:
    """Read all files of a crew; what is wrong with each is in `problems`."""
    files = CrewFiles(folder)
    crew_path = _either(folder, CREW_FILE)
    if not folder.is_dir() or crew_path is None:
        if folder.is_dir():
            what = f"there is no crew.yaml in {folder}; `crew init DIR` makes one"
        else:
            what = f"{folder} is a file; give its folder, {folder.parent}" if folder.exists() else f"there is no folder {folder}"
        files.problems.append(Problem(CREW_FILE, 1, 1, "error", "no-crew", what))
        return files
    files.problems += [
        _second(name)
        for name in (CREW_FILE, TOOLS_FILE, SCRIPT_FILE)
        if all((folder / (Path(name).stem + e)).is_file() for e in ENDINGS)
    ]
    _read_crew(files, crew_path, environment)
    _read_agents(files, environment)
    _read_tools(files, environment)
    if (script := _either(folder, SCRIPT_FILE)) is not None:
        document = _read(files, script)
        files.script, problems = shape(document, Script)
        files.problems += problems
    return files


def _second(name: str) -> Problem:
    other = Path(name).stem + ENDINGS[1]
    return Problem(other, 1, 1, "warning", "ignored-file", f"{name} is there too, and is the one that is read")


def _either(folder: Path, name: str) -> Path | None:
    return next((path for ending in ENDINGS if (path := folder / (Path(name).stem + ending)).is_file()), None)


def _read(files: CrewFiles, path: Path) -> Document:
    name = path.relative_to(files.folder).as_posix()
    try:
        document = read(name, path.read_bytes())
    except OSError as error:
        document = Document(
            name, "", problems=[Problem(name, 1, 1, "error", "unreadable", f"the file cannot be read: {error.strerror}")]
        )
    files.documents[name] = document
    files.problems += document.problems
    return document


def _read_crew(files: CrewFiles, path: Path, environment: Mapping[str, str]) -> None:
    document = _read(files, path)
    # crew.yml is known by the same name
    files.documents[CREW_FILE] = document
    files.problems += fill_environment(document, (("providers",), ("tools",)), environment)
    files.problems += ignored_keys(document, CrewConfig)
    files.crew, problems = shape(document, CrewConfig)
    files.problems += problems
    if files.crew is not None:
        files.tools = dict(files.crew.tools)
        files.tool_files = dict.fromkeys(files.tools, document)


def _read_agents(files: CrewFiles, environment: Mapping[str, str]) -> None:
    found = sorted(path for path in (files.folder / "agents").glob("*") if path.suffix in ENDINGS and path.is_file())
    for path in found:
        document = _read(files, path)
        files.problems += fill_environment(
            document, (("provider_url",), ("primary", "provider_url"), ("backup", "provider_url")), environment
        )
        files.problems += ignored_keys(document, AgentConfig)
        agent, problems = shape(document, AgentConfig)
        files.problems += problems
        if agent is None:
            # known by what it says of itself, or its file's name, so that nothing else seems to be missing
            said = document.data.get("id") if isinstance(document.data, dict) else None
            files.agent_files.setdefault(str(said) if isinstance(said, str) else path.stem, document)
        elif agent.id in files.agents:
            first = files.agent_files[agent.id].file
            files.problems.append(document.problem(("id",), "agent-twice", f"agent {agent.id} is defined in {first} already"))
        else:
            files.agents[agent.id], files.agent_files[agent.id] = agent, document
            if agent.id != path.stem:
                text = f"agent {agent.id} stands in {document.file}; a file named {agent.id}.yaml is easier to find"
                files.problems.append(document.problem(("id",), "file-name", text, severity="warning"))


def _read_tools(files: CrewFiles, environment: Mapping[str, str]) -> None:
    path = _either(files.folder, TOOLS_FILE)
    if path is None:
        return
    document = _read(files, path)
    files.problems += fill_environment(document, (("tools",),), environment)
    config, problems = shape(document, ToolsFile)
    files.problems += problems
    for name, tool in (config.tools if config is not None else {}).items():
        if name in files.tools:
            where = files.tool_files[name].file
            files.problems.append(
                document.problem(("tools", name), "tool-twice", f"tool {name} is defined in {where} already", key=True)
            )
        else:
            files.tools[name], files.tool_files[name] = tool, document


def unknown(
    document: Document,
    path: tuple[str | int, ...],
    what: str,
    name: str,
    known: Mapping[str, object] | frozenset[str],
    *,
    key: bool = False,
) -> Problem:
    """The problem of a name that nothing has."""
    near = nearest(name, known)
    listed = f"; known: {', '.join(sorted(known)[:12])}" if known and near is None else ""
    return document.problem(path, f"unknown-{what.split()[0]}", f"unknown {what} {name!r}{listed}", key=key, suggestion=near)
