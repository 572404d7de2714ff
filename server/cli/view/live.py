"""The last lines of a terminal while a run is at work: who does what, and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from crew.journal.state import MEMBER_CODES
from crew.journal.wire import RunEvent

REFRESHES_PER_SECOND = 8


@dataclass(frozen=True, slots=True)
class _Work:
    """Something that is under way; times as of `monotonic`."""

    text: str
    since: float
    # None: as long as it takes
    until: float | None = None


class LiveLines:
    """Follows events, and is drawn anew all the time; nothing where the output is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live: Live | None = None
        self.work: dict[tuple[str, str], _Work] = {}
        self.tokens, self.cost = 0, 0.0
        self.begun = monotonic()
        # the line that is being written
        self.partial = ""
        self.spinner = Spinner("dots")

    def begin(self) -> None:
        """Draw from now on."""
        if not self.console.is_terminal:
            return
        self.begun, self.work = monotonic(), {}
        self.live = Live(
            console=self.console,
            get_renderable=self._draw,
            refresh_per_second=REFRESHES_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.live.start()

    def end(self) -> None:
        """Remove it: the run pauses, or has ended."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def follow(self, event: RunEvent) -> None:
        """Update who is at work by an event."""
        data, now = event.metadata, monotonic()
        match event.type:
            case "agent_start" | "agent_delta" | "agent_thinking":
                # a step that is taken again has begun before
                work = _Work(f"{event.agent} speaks", now)
                self.work.setdefault(("agent", _who(data)), work)
            case "warning" if data["code"] in MEMBER_CODES:
                self.work.pop(("agent", _who(data)), None)
            case "agent_response":
                self.work.pop(("agent", _who(data)), None)
                self.tokens += data["usage"]["total_tokens"]
                self.cost += data["usage"].get("cost_usd", 0.0)
            case "tool_start":
                text = f"{event.agent}: {data['tool']}"
                self.work[_call(data)] = _Work(text, now, now + data["timeout_seconds"])
            case "tool_result":
                self.work.pop(_call(data), None)

    def _draw(self) -> RenderableType:
        now = monotonic()
        parts = [f"{now - self.begun:.0f} s"]
        for one in self.work.values():
            if one.until is None:
                parts.append(f"{one.text} {now - one.since:.0f} s")
            else:
                parts.append(f"{one.text}, {max(0.0, one.until - now):.0f} s left")
        if self.tokens:
            parts.append(f"{self.tokens} tokens")
        if self.cost:
            parts.append(f"{self.cost:.4f} USD")
        self.spinner.update(text=Text(" · ".join(parts), style="dim", overflow="ellipsis"))
        lines = [Text(f"  {self.partial}")] if self.partial else []
        return Group(*lines, self.spinner)


def _call(data: Mapping[str, Any]) -> tuple[str, str]:
    return data["agent_id"], data["call_id"]


def _who(data: Mapping[str, Any]) -> str:
    return f"{data['agent_id']} {data.get('task', '')}"
