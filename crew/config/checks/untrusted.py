"""Agents that read text of others and may act once, without a person between."""

from collections.abc import Iterator

from crew.config.crew_files import CrewFiles
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem
from crew.config.untrusted import notes_untrusted
from tools.toolbox import Toolbox

MAX_LISTED = 5


def check_untrusted(files: CrewFiles, crew: CrewConfig, tools: Toolbox) -> Iterator[Problem]:
    """Yield agents that what they read may make act."""
    if not notes_untrusted(files):
        return
    known = {
        agent_id: tools.named(name for name in agent.tool_names if name in tools.names).values()
        for agent_id, agent in files.agents.items()
    }
    given = [tool for own in known.values() for tool in own]
    others = {name for name, config in crew.documents.items() if config.is_untrusted}
    if "after_untrusted" in crew.settings.model_fields_set:
        # images that people send are text of others, too
        has_images = crew.conversations is not None
        reads = others or has_images or any(tool.is_untrusted for tool in given)
        if not reads and files.is_whole(CREW_FILE, "tools"):
            text = "after_untrusted has no effect: no agent has a tool that gives text of others"
            path = ("settings", "after_untrusted")
            yield files.crew_document.problem(path, "ignored-key", text, key=True)
        if crew.settings.after_untrusted != "allow":
            return
    for agent_id, own in known.items():
        reading = sorted({tool.name for tool in own if tool.is_untrusted})
        reading += [one for one in crew.listed_documents(files.agents[agent_id]) if one in others]
        acting = sorted(
            {tool.name for tool in own if tool.effect == "once" and tool.approval is None}
        )
        if reading and acting:
            text = (
                f"{agent_id} reads text of others ({_listed(reading)}) and may act on it without a "
                f"person ({_listed(acting)}): write settings.after_untrusted: approve"
            )
            document = files.agent_files[agent_id]
            yield document.problem(("tools",), "untrusted-then-act", text, key=True)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
