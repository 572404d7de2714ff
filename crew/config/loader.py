"""A crew's files -> its configuration, as far as each file is right, with all mistakes in them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.config import AgentConfig
from agents.context.shape import TextBlockConfig
from agents.costs.shape import PRICES_FILE, PricesFile
from agents.providers.scripted import SCRIPT_FILE, Script
from crew.config.binding import BoundDocument, S, bind, ignored_keys
from crew.config.crew_files import CrewFiles
from crew.config.files.changes import apply_changes
from crew.config.files.data_files import read_data
from crew.config.files.document import Document, YamlPath
from crew.config.files.environment import (
    fill_environment,
    literal_secrets,
    restore_literals,
    warn_of_literals,
)
from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources, why_not_read
from crew.config.files.yaml_reader import read, read_text
from crew.config.keys.crew_file import CrewConfig
from crew.config.memory import parse_core
from crew.config.outputs import parse_outputs, read_vocabularies
from tools.config import OpenApiTool, ToolsFile
from tools.kinds.mcp.lock import LOCK_FILE, from_lock
from tools.text.secrets import Secrets

# stands for a required text that is missing, so that the rest can be checked
MISSING = "?"
AGENT_URLS: tuple[YamlPath, ...] = (
    ("provider_url",),
    ("primary", "provider_url"),
    ("backup", "provider_url"),
)


def read_files(
    sources: Sources,
    environment: Mapping[str, str],
    secrets: Secrets,
    literals: Mapping[YamlPath, str] | None = None,
) -> CrewFiles:
    """Read all files of a crew; all mistakes in them are in `problems`.

    Args:
        sources: the files.
        environment: for `${NAME}`.
        secrets: gets the values that are read so.
        literals: of the crew as it is now, for files that were kept without them.
    """
    files = CrewFiles(sources, problems=list(sources.problems), secrets=secrets)
    files.unmade = list(sources.changes)
    _read_agents(files, environment)
    if (crew := sources.find(CREW_FILE)) is not None:
        _read_crew(files, crew, environment, literals)
    if (tools := sources.find(TOOLS_FILE)) is not None:
        _read_tools(files, tools, environment, literals)
    _read_api_documents(files)
    _read_context_texts(files)
    _read_outputs(files)
    _read_lock(files)
    if PRICES_FILE in sources.files:
        # JSON is YAML, too, and is read so with its lines
        document = _read(files, PRICES_FILE)
        files.prices = _bind(files, document, PricesFile, {}, (), environment)
    if (script := sources.find(SCRIPT_FILE)) is not None:
        document = _read(files, script)
        files.documents[SCRIPT_FILE] = document
        files.script = _bind(files, document, Script, {}, (), environment)
    return files


def _read(files: CrewFiles, name: str) -> Document:
    document = read(name, files.sources.files[name])
    files.documents[name] = document
    files.problems += document.problems
    if document.problems:
        files.changed.setdefault(name, set()).update(
            document.wrong if document.data is not None else {()}
        )
    return document


def _change(files: CrewFiles, document: Document, agent_id: str | None = None) -> None:
    """Make the changes of the sources that are about a file; an agent's, where one is named."""
    files.unmade = apply_changes(document, files.unmade, agent_id)


def _bind(
    files: CrewFiles,
    document: Document,
    kind: type[S],
    placeholders: Mapping[str, Any],
    variables: tuple[YamlPath, ...],
    environment: Mapping[str, str],
) -> S | None:
    """Return the document as a `kind`.

    `variables`: the parts that are filled from the environment.
    """
    unset = fill_environment(document, variables, environment, files.secrets, files.secrets_read)
    ignored = ignored_keys(document, kind)
    bound: BoundDocument[S] = bind(document, kind, placeholders)
    # what a missing variable leaves behind is no second mistake
    places = {(problem.line, problem.column) for problem in unset}
    problems = [one for one in bound.problems if (one.line, one.column) not in places]
    files.problems += [*unset, *ignored, *problems]
    changed = bound.changed if bound.value is not None else {()}
    if changed:
        files.changed.setdefault(document.file, set()).update(changed)
    return bound.value


def _read_crew(
    files: CrewFiles,
    name: str,
    environment: Mapping[str, str],
    literals: Mapping[YamlPath, str] | None,
) -> None:
    document = _read(files, name)
    # crew.yml is known by the same name
    files.documents[CREW_FILE] = document
    _change(files, document)
    variables: tuple[YamlPath, ...] = (("providers",), ("tools",), ("notify",))
    helpers = document.data.get("helpers") if isinstance(document.data, dict) else None
    for helper in helpers if isinstance(helpers, dict) else ():
        variables = (*variables, *(("helpers", helper, *path) for path in AGENT_URLS))
    # without a list of agents, those that have files are meant
    agents = {"agents": list(files.agent_files)} if files.agent_files else {}
    _find_literals(files, document, literals)
    files.crew = _bind(files, document, CrewConfig, agents, variables, environment)
    if files.crew is not None:
        files.tools = dict(files.crew.tools)
        files.tool_files = dict.fromkeys(files.tools, document)


def _read_agents(files: CrewFiles, environment: Mapping[str, str]) -> None:
    # a file that cannot be read is still there
    for problem in files.sources.problems:
        if problem.code == "unreadable" and problem.file.startswith("agents/"):
            files.agent_files[Path(problem.file).stem] = Document(problem.file, "")
            files.changed[problem.file] = {()}
    for file in files.sources.agents:
        _read_agent(files, file, environment)


def _read_agent(files: CrewFiles, file: str, environment: Mapping[str, str]) -> None:
    document, stem = _read(files, file), Path(file).stem
    _change(files, document, _agent_id(document, stem))
    placeholders = {"id": stem, "name": MISSING, "role": MISSING}
    agent = _bind(files, document, AgentConfig, placeholders, AGENT_URLS, environment)
    if agent is None:
        files.agent_files.setdefault(_agent_id(document, stem), document)
    elif agent.id in files.agents:
        first, second = files.agent_files[agent.id], document
        if stem == agent.id:
            # the file of this name is the one that is meant
            first, second = document, first
            files.agents[agent.id], files.agent_files[agent.id] = agent, document
        text = f"agent {agent.id} is defined in {first.file} already"
        related = [first.related(("id",), f"agent {agent.id}")]
        files.problems.append(second.problem(("id",), "agent-twice", text, related=related))
    else:
        files.agents[agent.id], files.agent_files[agent.id] = agent, document


def _agent_id(document: Document, stem: str) -> str:
    """Return by what an agent is known: its id, or its file's name."""
    given = document.data.get("id") if isinstance(document.data, dict) else None
    return str(given) if isinstance(given, str) else stem


def _find_literals(
    files: CrewFiles, document: Document, literals: Mapping[YamlPath, str] | None
) -> None:
    """Find the secrets that stand in a file itself, and put those back that were not kept."""
    if literals is not None:
        files.problems += restore_literals(document, literals)
    found = literal_secrets(document)
    files.literals = {**files.literals, **found}
    for value in found.values():
        files.secrets.add(value)
    files.problems += warn_of_literals(document, found)


def _read_tools(
    files: CrewFiles,
    name: str,
    environment: Mapping[str, str],
    literals: Mapping[YamlPath, str] | None,
) -> None:
    document = _read(files, name)
    files.documents[TOOLS_FILE] = document
    _change(files, document)
    _find_literals(files, document, literals)
    config = _bind(files, document, ToolsFile, {"tools": {}}, (("tools",),), environment)
    for tool_name, tool in (config.tools if config is not None else {}).items():
        if tool_name in files.tools:
            first, place = files.tool_files[tool_name], ("tools", tool_name)
            text = f"tool {tool_name} is defined in {first.file} already"
            related = [first.related(place, f"tool {tool_name}", key=True)]
            files.problems.append(
                document.problem(place, "tool-twice", text, key=True, related=related)
            )
        else:
            files.tools[tool_name], files.tool_files[tool_name] = tool, document


def _read_api_documents(files: CrewFiles) -> None:
    for name, tool in files.tools.items():
        if not isinstance(tool, OpenApiTool) or tool.document in files.documents:
            continue
        content = files.sources.files.get(tool.document)
        if content is None:
            text = why_not_read(tool.document)
            place = ("tools", name, "document")
            files.problems.append(files.tool_files[name].problem(place, "openapi", text))
            continue
        document = read_data(tool.document, content)
        files.documents[tool.document] = document
        files.problems += document.problems
        if document.data is not None:
            files.api_documents[tool.document] = document.data


def _read_context_texts(files: CrewFiles) -> None:
    owners = [(files.agent_files[one.id], one.context) for one in files.agents.values()]
    if files.crew is not None:
        owners.append((files.crew_document, files.crew.context))
    for document, context in owners:
        for place, block in enumerate((context.blocks or ()) if context is not None else ()):
            if isinstance(block, TextBlockConfig) and block.file is not None:
                path = ("context", "blocks", place, "file")
                _read_context_text(files, document, block.file, path)


def _read_context_text(files: CrewFiles, document: Document, file: str, path: YamlPath) -> None:
    content = files.sources.files.get(file)
    if content is None:
        text = why_not_read(file)
        files.problems.append(document.problem(path, "bad-value", text))
        return
    found = read_text(file, content)
    files.problems += found.problems
    files.context_texts[file] = found.text


def _read_outputs(files: CrewFiles) -> None:
    files.outputs, problems = parse_outputs(files.agents, files.agent_files)
    files.problems += problems
    if files.crew is None:
        return
    contents = files.sources.files
    words, problems, wrong = read_vocabularies(files.crew, files.crew_document, contents)
    files.vocabularies = words
    files.problems += problems
    files.core, problems = parse_core(files.crew, files.crew_document)
    files.problems += problems
    files.documents.update(wrong)


def _read_lock(files: CrewFiles) -> None:
    content = files.sources.files.get(LOCK_FILE)
    if content is None:
        return
    document = read_data(LOCK_FILE, content)
    files.documents[LOCK_FILE] = document
    files.problems += document.problems
    if document.problems:
        return
    try:
        files.locked = from_lock(document.data)
    except ValueError as error:
        files.problems.append(document.problem((), "mcp-lock", str(error)))
