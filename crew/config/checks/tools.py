"""What tools may do that is worth knowing before anything starts."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from crew.config.checks.schemas import check_schema
from crew.config.files.document import Document, YamlPath
from crew.config.loader import CrewFiles
from crew.config.problems import Problem
from tools.config import CommandTool, HttpTool, McpServer
from tools.config.command import Confined
from tools.config.common import OneTool
from tools.config.http import Reached
from tools.errors import ToolDefinitionError
from tools.kinds.command import landlock
from tools.kinds.http.addresses import Allowance, DeniedError
from tools.kinds.http.request import parse_url
from tools.toolbox import ToolSet

# names that a message lists
MAX_LISTED = 5


def check_tools(files: CrewFiles, sets: Mapping[str, ToolSet]) -> Iterator[Problem]:
    """Yield a warning for each tool that reaches nothing, or is not confined, pinned or guarded."""
    for name, tool in files.tools.items():
        document, path = files.tool_files[name], ("tools", name)
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
        if name in sets:
            yield from _check_guarded(document, path, sets[name])
        if isinstance(tool, OneTool):
            yield from check_schema(document, (*path, "parameters"), tool.parameters)
        if isinstance(tool, Confined):
            yield from _check_folders(document, path, tool, files.sources.folder)


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
