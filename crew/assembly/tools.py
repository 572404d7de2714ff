"""The tools of a crew, and the limits of their calls."""

from collections.abc import Sequence

from crew.assembly.description import DESCRIBE_CREW, description_tool
from crew.config.crew_files import CrewFiles
from crew.config.keys.crew_file import CrewSettings
from crew.config.problems import Problem
from tools.builtin import BUILTIN_TOOLS
from tools.config import McpServer, OpenApiTool, PythonTool
from tools.definition import Tool
from tools.errors import ToolDefinitionError, ToolImportError
from tools.kinds import ToolMaker
from tools.limits.deadline import Limits
from tools.toolbox import Toolbox


def make_tools(
    files: CrewFiles, given: Sequence[Tool], maker: ToolMaker, *, imports: bool
) -> tuple[Toolbox, list[Problem]]:
    """Make every tool of a crew (built-in, given, of its files), and what is wrong with any.

    With `imports`, Python tools are imported, which runs their files; else they are left out.
    """
    builtin = {**BUILTIN_TOOLS, DESCRIBE_CREW: description_tool(files)}
    tools = Toolbox({**builtin, **{tool.name: tool for tool in given}})
    problems: list[Problem] = []
    # modules that do not import: reported once, not for each of their tools
    failed_modules: set[str] = set()
    for name, config in files.tools.items():
        document = files.tool_files[name]
        if name in tools.by_name:
            kind = "a built-in tool" if name in builtin else "a tool that the program gives"
            text = f"{name} is {kind} already; choose another name"
            problems.append(document.problem(("tools", name), "tool-twice", text, key=True))
            continue
        if isinstance(config, PythonTool) and not imports:
            continue
        if isinstance(config, OpenApiTool) and config.document not in files.api_documents:
            # which is a problem of its own
            continue
        if isinstance(config, McpServer) and not imports and name not in files.locked:
            # to ask for its tools is to start it
            continue
        try:
            made = maker.make(name, config)
        except ToolImportError as error:
            if error.module not in failed_modules:
                failed_modules.add(error.module)
                problems.append(_tool_problem(files, name, error))
        except ToolDefinitionError as error:
            problems.append(_tool_problem(files, name, error))
        else:
            for twice in tools.add(name, made):
                text = f"{name} makes a tool {twice}, and there is one of this name already"
                problems.append(document.problem(("tools", name), "tool-twice", text, key=True))
    return tools, problems


def _tool_problem(files: CrewFiles, name: str, error: ToolDefinitionError) -> Problem:
    return files.tool_files[name].problem(("tools", name, *error.path), error.code, str(error))


def tool_limits(settings: CrewSettings) -> Limits:
    """Return the limits of one answer's calls."""
    return Limits(
        sequence_seconds=settings.tool_result_timeout_seconds,
        tool_seconds=settings.tool_execution_timeout_seconds,
        overhead_seconds=settings.tool_overhead_budget_millis / 1000,
        minimum_seconds=settings.min_tool_timeout_millis / 1000,
        retries=settings.tool_retries,
        backoff_min_seconds=settings.retry_backoff_min_millis / 1000,
        backoff_max_seconds=settings.retry_backoff_max_seconds,
        warning_percent=settings.timeout_warning_threshold_pct,
        output_chars=settings.max_tool_output_chars,
        total_output_chars=settings.max_total_tool_output_chars,
        parallel=settings.parallel_tool_calls,
    )
