"""Text of others that a run has read, and what that means for calls that act once."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from agents.agent import Agent
from agents.events import ToolReturned
from crew.journal.events import StoredEvent
from crew.journal.remembered.events import DocumentsShown, Tainted
from crew.journal.state import RunState
from tools.approval import ApprovalRule
from tools.calls import ToolCall, ToolResult
from tools.definition import Tool


class Taint:
    """Notes what one run has read, before it is shown to any model."""

    def __init__(
        self,
        state: RunState,
        find: Callable[[str], Agent | None],
        record: Callable[[StoredEvent], None],
    ) -> None:
        """Of a run.

        Args:
            state: of the run; has the sources.
            find: returns an agent of the crew by its id.
            record: records an event of the run.
        """
        self._state, self._find, self._record = state, find, record

    def by_result(self, event: ToolReturned) -> None:
        """Note the tool of a result, if what it gives is of others; also of an error."""
        agent, result = self._find(event.agent_id), event.result
        tool = agent.tools.get(result.tool) if agent is not None else None
        if tool is None or not tool.is_untrusted or result.status == "denied":
            return
        self._add(event.agent_id, event.group, [result.tool], event.task, event.within)

    def by_documents(self, event: DocumentsShown) -> None:
        """Note what gave the text of others that an agent is shown."""
        self._add(event.agent_id, event.group, event.untrusted, event.task, event.within)

    def by_context(self, agent_id: str, group: str | None, sources: Iterable[str]) -> None:
        """Note what had been read in exchanges that an agent is shown now."""
        self._add(agent_id, group, sources)

    def _add(
        self,
        agent_id: str,
        group: str | None,
        sources: Iterable[str],
        task: str = "",
        within: str = "",
    ) -> None:
        agent, state = self._find(agent_id), self._state
        if agent is None or agent.after_untrusted is None:
            return
        for source in sources:
            if source not in state.taint:
                is_first = not state.taint
                self._record(Tainted(agent.id, agent.name, group, source, is_first, task, within))


def is_guarded(tool: Tool, agent: Agent, state: RunState) -> bool:
    """Return whether a person is to approve a call of a tool since the run has read such text."""
    return bool(state.taint) and tool.effect == "once" and agent.after_untrusted == "approve"


def guarded(tool: Tool) -> Tool:
    """Return a tool each call of which is approved by a person, whatever its arguments are."""
    return replace(tool, approval=replace(tool.approval or ApprovalRule(), when=()))


def is_refused(tool: Tool, agent: Agent, state: RunState) -> bool:
    """Return whether calls of a tool are not made since the run has read such text."""
    return bool(state.taint) and tool.effect == "once" and agent.after_untrusted == "refuse"


def refusal(call: ToolCall, state: RunState) -> ToolResult:
    """Return the result of a call that is not made."""
    text = (
        f"Denied: the run has read text of others ({', '.join(state.taint)}), and then makes no "
        "calls that act once (settings.after_untrusted: refuse)"
    )
    return ToolResult.of(call, "denied", text)
