"""What tools may do that is worth knowing before anything starts."""

from collections.abc import Iterator

from crew.config.loader import CrewFiles
from crew.config.problems import Problem
from tools.config import CommandTool, HttpTool
from tools.errors import ToolDefinitionError
from tools.kinds.command import landlock
from tools.kinds.http.addresses import Allowance, DeniedError
from tools.kinds.http.request import parse_url


def check_tools(files: CrewFiles) -> Iterator[Problem]:
    """A warning for each HTTP tool that reaches nothing, and each command without a sandbox."""
    for name, tool in files.tools.items():
        document, path = files.tool_files[name], ("tools", name)
        match tool:
            case HttpTool() if (why := _refused(tool)) is not None:
                text = f"every call is refused: {why}"
                yield document.problem((*path, "url"), "private-address", text)
            case CommandTool(sandbox="auto") if not landlock.version():
                text = "the command is not confined: the kernel has no Landlock"
                yield document.problem(path, "unconfined-command", text, key=True)


def _refused(tool: HttpTool) -> str | None:
    """Why the host that stands in the URL is refused, if it is."""
    try:
        host = parse_url(tool.url).hostname or ""
        Allowance.of(tool.allow_private).require_host(host)
    except DeniedError as error:
        return str(error)
    except ToolDefinitionError:
        # an error of its own
        return None
    return None
