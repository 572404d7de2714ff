"""Timeouts that never come, since one around them ends first."""

from collections.abc import Iterator
from dataclasses import dataclass

from crew.config.costs.others import models_of_helpers
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import models_of
from crew.config.problems import Problem
from tools.config import AgentTool, McpServer

TIMEOUT = "timeout_seconds"


@dataclass(frozen=True, slots=True)
class TimeoutBound:
    """What a timeout of the settings ends, and after how many seconds."""

    setting: str
    what: str
    seconds: float

    def check(self, document: Document, path: YamlPath, seconds: float) -> Iterator[Problem]:
        """Yield a warning if a timeout inside of it is longer."""
        if seconds > self.seconds:
            text = f"{path[-1]} of {seconds:g} s never comes: settings.{self.setting} ends"
            text = f"{text} {self.what} after {self.seconds:g} s; lower this one, or raise that one"
            yield document.problem(path, "timeout-above", text)


def check_timeouts(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield a warning for each timeout that is written and longer than the one around it."""
    if not files.is_whole(CREW_FILE, "settings"):
        return
    settings, document = crew.settings, files.crew_document
    run = TimeoutBound(TIMEOUT, "the run", settings.timeout_seconds)
    calls = TimeoutBound(
        "tool_result_timeout_seconds",
        "all calls of an answer",
        settings.tool_result_timeout_seconds,
    )
    for key, around in {
        "tool_result_timeout_seconds": run,
        "parallel_timeout_seconds": run,
        "tool_execution_timeout_seconds": calls,
    }.items():
        if key in settings.model_fields_set:
            yield from around.check(document, ("settings", key), getattr(settings, key))
    for name, group in crew.routing.parallel_groups.items():
        if group.timeout_seconds is not None:
            of_group = ("routing", "parallel_groups", name, TIMEOUT)
            yield from run.check(document, of_group, group.timeout_seconds)
    asked = _asked_in_runs(files, crew)
    for name, provider in crew.providers.items():
        if TIMEOUT in provider.model_fields_set and name in asked:
            of_provider = ("providers", name, TIMEOUT)
            yield from run.check(document, of_provider, provider.timeout_seconds)
    for name, tool in files.tools.items():
        of_tool, path = files.tool_files[name], ("tools", name)
        if tool.timeout_seconds is not None:
            # an agent as a tool has its own time
            bound = run if isinstance(tool, AgentTool) else calls
            yield from bound.check(of_tool, (*path, TIMEOUT), tool.timeout_seconds)
        if isinstance(tool, McpServer):
            for inner, own in tool.tools.items():
                if own.timeout_seconds is not None:
                    inner_path = (*path, "tools", inner, TIMEOUT)
                    yield from calls.check(of_tool, inner_path, own.timeout_seconds)


def _asked_in_runs(files: CrewFiles, crew: CrewConfig) -> set[str]:
    """Return the providers of agents alone: what a helper says may take longer than a run."""
    agents = (files.agents[name] for name in crew.agents if name in files.agents)
    used = {one.config.provider for agent in agents for one in models_of(agent, crew.models)}
    return used - {one.config.provider for one in models_of_helpers(files, crew)}
