"""What an operator sees of a run in the terminal."""

import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from crew.journal.query import Verdict

COLOURS = ("cyan", "magenta", "yellow", "green", "blue")
SHOWN_LINES = 8


class RunView:
    """Prints the events of a run as they come; plain text where the output is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.colours: dict[str, str] = {}
        # an answer is being written piece by piece
        self.writing = False
        # what the newest pause asks: None for an agent's own words
        self.question: str | None = None

    def show(self, public: str) -> None:
        """Print one event (the JSON that clients are told)."""
        event = json.loads(public)
        content, data = event["content"], event["metadata"]
        if self.writing and event["type"] != "agent_delta":
            self.console.print()
        match event["type"]:
            case "agent_start" if not data["group"]:
                self._head(event["agent"], f"round {data['round']}, {data['model']}")
            case "agent_delta" if not data["group"]:
                self.console.print(escape(content), end="", soft_wrap=True, highlight=False)
            case "agent_response" if data["group"]:
                # members speak at once: each answer under its own name
                self._head(event["agent"], f"in {data['group']}, {data['model']}")
                self._body(content)
            case "agent_response" if not self.writing and content.strip():
                self._body(content)
            case "tool_start":
                arguments = ", ".join(
                    f"{key}={json.dumps(value, ensure_ascii=False)}"
                    for key, value in data["arguments"].items()
                )
                self.console.print(
                    f"  [dim]→ {escape(data['tool'])}({escape(arguments)})[/]", highlight=False
                )
            case "tool_result":
                self._result(content, data)
            case "handoff":
                signal = f" {data['signal']}" if data["signal"] else ""
                where = f", {data['source']}" if data["source"] else ""
                self.console.print(
                    f"  [bold]↪ {escape(content)}[/] [dim]({data['why']}{escape(signal)}{escape(where)})[/]",
                    highlight=False,
                )
            case "parallel_start" | "parallel_end":
                word = "starts" if event["type"] == "parallel_start" else "has ended"
                self.console.print(
                    f"  [bold]⑂ {escape(content)} {word}[/] [dim]({', '.join(data['agents'])})[/]",
                    highlight=False,
                )
            case "warning":
                self.console.print(
                    f"  [yellow]⚠ {escape(content)}[/] [dim]({data['code']})[/]", highlight=False
                )
            case "error":
                self.console.print(
                    f"[bold red]✗ {escape(content)}[/] [dim]({data['reason']})[/]", highlight=False
                )
            case "gap":
                self.console.print(f"[dim]… {escape(content)}; it came out as:[/]", highlight=False)
                self._body(data["snapshot"]["answer"] or "")
            case "start":
                self.question = None
            case "pause":
                self._pause(data)
            case "done":
                self._end(data)
        self.writing = event["type"] == "agent_delta" and not data["group"]

    @property
    def prompt(self) -> str:
        """What to ask the person at a pause."""
        words = {None: "", "approval": "yes, or why not", "unknown_outcome": "retry or skip"}[
            self.question
        ]
        return f"[bold]{words}> [/]"

    @property
    def asks(self) -> str:
        """How the newest pause is answered on the command line."""
        return {
            None: '"…"',
            "approval": "--decision approve|deny",
            "unknown_outcome": "--decision retry|skip",
        }[self.question]

    def decision(self, text: str) -> Verdict | None:
        """What an answer decides; None where it is words for the agent, or a no with its reason."""
        word = text.strip().lower()
        if self.question == "approval" and word in ("y", "yes", "approve"):
            return "approve"
        if self.question == "unknown_outcome" and word == "retry":
            return "retry"
        return "skip" if self.question == "unknown_outcome" and word == "skip" else None

    def _pause(self, data: dict[str, Any]) -> None:
        self.question = data.get("question")
        for call in data.get("calls", ()):
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            asks = "needs your yes" if self.question == "approval" else "may have acted already"
            self.console.print(
                f"  [bold yellow]? {escape(call['tool'])} {escape(arguments)} {asks}[/]",
                highlight=False,
            )

    def _head(self, name: str, what: str) -> None:
        colour = self.colours.setdefault(name, COLOURS[len(self.colours) % len(COLOURS)])
        self.console.print(
            f"\n[bold {colour}]● {escape(name)}[/] [dim]({escape(what)})[/]", highlight=False
        )

    def _body(self, text: str) -> None:
        self._indented(Text(text.rstrip()), 2)

    def _result(self, content: str, data: dict[str, Any]) -> None:
        output = content.partition(" → ")[2]
        mark, colour = ("✓", "green") if data["status"] == "success" else ("✗", "red")
        tries = f", {data['attempts']} attempts" if data["attempts"] > 1 else ""
        self.console.print(
            f"  [{colour}]{mark} {escape(data['tool'])}[/] [dim]({data['duration_seconds']:.2f} s{tries})[/]",
            highlight=False,
        )
        lines = output.splitlines()
        more = [f"… {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
        self._indented(Text("\n".join((*lines[:SHOWN_LINES], *more)), style="dim"), 4)

    def _indented(self, text: Text, by: int) -> None:
        """A terminal gets its lines wrapped within the indentation.

        Anything else gets them as they are.
        """
        if self.console.is_terminal:
            self.console.print(Padding(text, (0, 0, 0, by)))
        else:
            self.console.print(
                "\n".join(" " * by + line for line in text.plain.splitlines()),
                soft_wrap=True,
                markup=False,
            )

    def _end(self, data: dict[str, Any]) -> None:
        tokens, cost = data["usage"]["total_tokens"], data["usage"].get("cost_usd")
        money = f", {cost:.4f} USD" if cost else ""
        counts = f"rounds: {data['rounds']}, handoffs: {data['handoffs']}, tokens: {tokens}"
        text = f"{counts}{money}, {data['duration_seconds']:.1f} s"
        if data["reason"] == "paused":
            self.console.print(
                f"\n[bold yellow]⏸ paused: {escape(data['agent_id'])} waits for your answer[/] [dim]({text})[/]",
                highlight=False,
            )
        elif data["reason"] in ("max_handoffs", "max_rounds", "cancelled"):
            self.console.print(
                f"\n[bold yellow]⚠ stopped: {data['reason']}[/] [dim]({text})[/]", highlight=False
            )
        else:
            self.console.print(
                f"\n[bold green]✔ {data['reason']}[/] [dim]({text})[/]", highlight=False
            )
