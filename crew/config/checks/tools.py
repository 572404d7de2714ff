"""What tools may do that is worth knowing before anything starts."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from crew.config.checks.schemas import check_schema
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.problems import Problem
from tools.config import AgentTool, CommandTool, CommonTool, HttpTool, McpServer
from tools.config.command import Confined
from tools.config.common import OneTool
from tools.config.http import Reached
from tools.confinement import landlock
from tools.definition import Tool
from tools.errors import ToolDefinitionError
from tools.kinds.command.arguments import SHELL_SIGNS
from tools.kinds.http.addresses import Allowance, DeniedError
from tools.kinds.http.request import parse_url
from tools.schemas.json_pointer import POINTER
from tools.toolbox import Toolbox, ToolSet

# names that a message lists
MAX_LISTED = 5


def check_tools(files: CrewFiles, tools: Toolbox) -> Iterator[Problem]:
    """Yield a warning for each tool that reaches nothing, or is not confined, pinned or guarded."""
    sets = tools.sets
    for name, tool in files.tools.items():
        one = tools.by_name.get(name)
        made = [one] if one is not None else []
        made += sets[name].tools if name in sets else ()
        document, path = files.tool_files[name], ("tools", name)
        if isinstance(tool, AgentTool):
            # see `outputs.plans`
            continue
        match tool:
            case HttpTool(url=str(url)) | McpServer(url=str(url)):
                if (why := _refused(url, tool)) is not None:
                    text = f"every call is refused: {why}"
                    yield document.problem((*path, "url"), "private-address", text)
            case CommandTool() | McpServer() if _is_unconfined(tool):
                text = "the command is not confined: the kernel has no Landlock"
                yield document.problem(path, "unconfined-command", text, key=True)
        if isinstance(tool, McpServer) and tool.pin and name not in files.locked:
            text = "what the server says of its tools may change; pin it: crew tools DIR --lock"
            yield document.problem(path, "unpinned", text, key=True)
        yield from _check_kept(document, path, tool, made)
        pointer = tool.show.text if tool.show is not None else None
        if pointer is not None and not re.fullmatch(POINTER, pointer):
            text = f"{pointer!r} is no JSON pointer, such as /summary or /items/0/name"
            near = f"/{pointer}" if re.fullmatch(POINTER, f"/{pointer}") else None
            where = (*path, "show", "text")
            yield document.problem(where, "show-text", text, suggestion=near)
        if name in sets:
            yield from _check_guarded(document, path, sets[name])
        if isinstance(tool, OneTool):
            yield from check_schema(document, (*path, "parameters"), tool.parameters)
        if isinstance(tool, CommandTool):
            yield from _check_signs(document, path, tool)
        if isinstance(tool, Confined):
            yield from _check_folders(document, path, tool, files.sources.folder)


def _check_kept(
    document: Document, path: YamlPath, tool: CommonTool, made: Sequence[Tool]
) -> Iterator[Problem]:
    """Yield results that are kept although their calls act."""
    if tool.cache_seconds is None:
        if tool.cache_shared:
            text = "cache_shared has no effect: cache_seconds is not given"
            yield document.problem((*path, "cache_shared"), "ignored-key", text, key=True)
        return
    acting = [one.name for one in made if one.effect != "read"]
    if acting:
        listed = ", ".join(acting[:MAX_LISTED]) + (", …" if len(acting) > MAX_LISTED else "")
        text = f"results are kept of calls that only read, and these may act: {listed}; write"
        text = f"{text} `effect: read` if they do not, or remove cache_seconds"
        yield document.problem((*path, "cache_seconds"), "cache-effect", text, key=True)


def _check_signs(document: Document, path: YamlPath, tool: CommandTool) -> Iterator[Problem]:
    """Yield the first argument that only a shell would understand."""
    for place, word in enumerate(tool.argv):
        if place and word in SHELL_SIGNS:
            text = f"{word} is an argument here: there is no shell; write a script, and name it"
            yield document.problem((*path, "argv", place), "no-shell", text)
            return


def _check_folders(
    document: Document, path: YamlPath, tool: Confined, folder: Path
) -> Iterator[Problem]:
    """Yield files and folders that are allowed and not there."""
    for key in ("read", "write"):
        for place, name in enumerate(getattr(tool, key)):
            if not (folder / Path(name).expanduser()).exists():
                text = f"there is no file or folder {name}, so allowing it has no effect"
                yield document.problem((*path, key, place), "no-folder", text)


def _is_unconfined(tool: Confined) -> bool:
    return tool.sandbox == "auto" and not landlock.version()


def _check_guarded(document: Document, path: YamlPath, made: ToolSet) -> Iterator[Problem]:
    """Yield tools that act, are described by others, and need no approval."""
    acting = [one.name for one in made.tools if one.effect == "once" and one.approval is None]
    if acting:
        listed = ", ".join(acting[:MAX_LISTED]) + (", …" if len(acting) > MAX_LISTED else "")
        text = f"nobody is asked before these tools act, which others describe: {listed}"
        yield document.problem(path, "unguarded", text, key=True)


def _refused(url: str, tool: Reached) -> str | None:
    """Return why the host that stands in a URL is refused, if it is."""
    try:
        host = parse_url(url).hostname or ""
        Allowance.of(tool.allow_private).require_host(host)
    except DeniedError as error:
        return str(error)
    except ToolDefinitionError:
        # an error of its own
        return None
    return None
