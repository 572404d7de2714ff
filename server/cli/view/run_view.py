"""What an operator sees of a run in the terminal."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from crew.journal.query import CallDecision
from crew.journal.wire import RunEvent
from server.cli.view.lines import CLEAR, PROMPTS, asked_lines, plan_lines, with_amounts
from server.cli.view.live import LiveLines
from server.cli.words import decision_in
from tools.text.texts import map_texts, visible

COLOURS = ("cyan", "magenta", "yellow", "green", "blue")
# of a tool's output
MAX_LINES = 8
# of text beside the name of a lane, in columns
LEAST_WIDTH = 20
# questions that are answered by JSON, too
FILLED = frozenset({"approval", "form", "plan", "budget"})
# warnings after which an answer is written anew
# known, and not shown
SILENT = frozenset({"agent_thinking", "task_start", "plan_end", "context", "compacted", "ping"})
ASKED_AGAIN = frozenset({"model_retry", "model_backup"})


class RunView:
    """Prints the events of a run as they come; plain text where the output is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        # what the run is asked
        self.query = ""
        self.colours: dict[str, str] = {}
        # an answer has been written, piece by piece
        self.writing = False
        self.live = LiveLines(console)
        # the member of a group whose lines come now
        self.lane = ""
        # what the newest pause asks; "" for an agent's own words
        self.question = ""
        # the calls that it asks about
        self.calls: Sequence[Mapping[str, Any]] = ()

    def show(self, event: RunEvent) -> None:
        """Print one event."""
        event = replace(
            event,
            agent=visible(event.agent),
            content=visible(event.content),
            metadata=map_texts(event.metadata, visible),
        )
        data = event.metadata
        self.live.follow(event)
        if self.live.partial and event.type != "agent_delta":
            self._body(self.live.partial)
            self.live.partial = ""
        lane = f"{event.agent} {data.get('task', '')}".rstrip()
        self.lane = lane if data.get("group") else ""
        match event.type:
            case "agent_start" | "agent_delta" | "agent_response":
                self._show_agent(event)
            case "tool_start" | "tool_progress" | "tool_result":
                self._show_tool(event)
            case "show" | "memory" | "tainted" | "passages":
                self._show_in_short(event)
            case "handoff":
                self._show_handoff(event)
            case "parallel_start" | "parallel_end":
                word = "starts" if event.type == "parallel_start" else "has ended"
                members = ", ".join(data["agents"])
                self._print(f"  [bold]∥ {escape(event.content)} {word}[/] [dim]({members})[/]")
            case "plan" | "task_end":
                for line in plan_lines(event):
                    self._print(line)
            case "warning" | "error" | "gap" | "answered":
                self._show_note(event)
            case "start":
                self.question, self.calls = "", ()
                if not data["resumed"]:
                    self._print(f"[dim]{escape(data['crew'])}, run {data['run_id']}[/]")
                    self._indented(Text(f"» {visible(self.query)}", style="bold"), 0)
            case "pause":
                self._show_pause(data)
            case "done":
                self._show_end(data)
            case kind if kind not in SILENT:
                # of a newer server
                self._print(f"[dim]{escape(visible(event.encoded))}[/]")
        self.writing = self._is_writing(event)

    def _is_writing(self, event: RunEvent) -> bool:
        if event.type == "agent_delta":
            return not event.metadata["group"]
        ends = event.type in ("agent_start", "agent_response")
        return self.writing and not ends and event.metadata.get("code") not in ASKED_AGAIN

    @property
    def prompt(self) -> str:
        """What to ask the person at a pause."""
        text = PROMPTS.get(self.question, "")
        shown = with_amounts(text, self.calls[0]) if self.calls else text
        return f"[bold]{shown}> [/]"

    @property
    def call_prompts(self) -> list[tuple[Mapping[str, Any], str]]:
        """The calls that the newest pause asks about, and what to ask on each."""
        return [(call, f"[bold]{escape(self._question(call))}> [/]") for call in self.calls]

    def _question(self, call: Mapping[str, Any]) -> str:
        ask = with_amounts(PROMPTS.get(self.question, ""), call)
        if self.question == "approval":
            words = ["yes"]
            if "run" in call.get("remember", ()):
                words.append("run (yes to this tool for the rest of the run)")
            if "always" in call.get("remember", ()):
                words.append("always (yes to this call in all runs)")
            if "edit" in call.get("may", ()):
                words.append('other arguments as {"JSON": …}')
            if "done" in call.get("may", ()):
                words.append("= and what it returns")
            ask = f"allow it? {', '.join(words)}, or no and why"
        return ask if len(self.calls) < 2 else f"{call['tool']} ({call['call_id']}): {ask}"

    def decide(self, text: str, call: Mapping[str, Any]) -> CallDecision:
        """Read what a person's line decides on a call.

        Raises:
            ValueError: it decides nothing, or begins like JSON and is none.
        """
        word, hash_ = text.strip(), call.get("hash", "")
        made = partial(CallDecision, call["call_id"], agent_id=call["agent_id"], hash=hash_)
        if (decided := decision_in(word, self.question)) is not None:
            decision, reason = decided
            return made(decision, reason=reason)
        remember = next((one for one in call.get("remember", ()) if one == word.lower()), None)
        if self.question == "approval" and remember is not None:
            return made("approve", remember=remember)
        if self.question in FILLED and word.startswith("{"):
            return made("approve", arguments=parse_arguments(word))
        if word.startswith("="):
            return made("done", result=word[1:].strip())
        clear = with_amounts(CLEAR[self.question], call)
        raise ValueError(f"{text.strip()!r} decides nothing: {clear}")

    def _print(self, markup: str) -> None:
        # a terminal wraps lines; what reads a pipe wants them whole
        whole, lead = not self.console.is_terminal, self._lead()
        if whole or not lead:
            self.console.print(f"{lead}{markup}", highlight=False, soft_wrap=whole)
            return
        before, text = Text.from_markup(lead), Text.from_markup(markup)
        width = max(LEAST_WIDTH, self.console.width - before.cell_len)
        indent = len(text.plain) - len(text.plain.lstrip(" "))
        text = text[indent:]
        # each line has the lane's name, and goes on under its first word
        before.append(" " * indent)
        for line in text.wrap(self.console, width - indent):
            self.console.print(Text.assemble(before, line), highlight=False, soft_wrap=True)

    def _lead(self) -> str:
        """Return the beginning of each line of a group's member: members work at the same time."""
        return f"  [{self._colour(self.lane)}]{escape(self.lane)}[/] │" if self.lane else ""

    def _colour(self, name: str) -> str:
        return self.colours.setdefault(name, COLOURS[len(self.colours) % len(COLOURS)])

    def _show_agent(self, event: RunEvent) -> None:
        data, model = event.metadata, event.metadata.get("model")
        if data["group"]:
            # members speak at the same time: what each says, in one piece
            if event.type == "agent_response":
                self._show_answer(event)
        elif event.type == "agent_start":
            self._head(event.agent, f"round {data['round']}, {model}")
        elif event.type == "agent_delta":
            *lines, self.live.partial = f"{self.live.partial}{event.content}".split("\n")
            for line in lines:
                self._body(line)
        elif not self.writing:
            self._show_answer(event)

    def _show_answer(self, event: RunEvent) -> None:
        """Show a whole answer; of a typed one, its fields and what is wrong with it."""
        data = event.metadata
        for name, value in data.get("output", {}).items():
            self._indented(Text(f"{name}: {_value(value)}"), 2)
        if "output" not in data and event.content.strip():
            self._body(event.content)
        for problem in data.get("invalid", ()):
            self._print(f"  [yellow]⚠ {escape(problem)}[/]")
        if unknown := data.get("output_unknown"):
            self._print(f"  [dim]unknown: {escape(', '.join(unknown))}[/]")

    def _show_note(self, event: RunEvent) -> None:
        data = event.metadata
        match event.type:
            case "warning":
                code = data["code"]
                self._print(f"  [yellow]⚠ {escape(event.content)}[/] [dim]({code})[/]")
            case "error":
                reason = data["reason"]
                self._print(f"[bold red]✗ {escape(event.content)}[/] [dim]({reason})[/]")
            case "answered":
                by = f" [dim]({escape(data['by'])})[/]" if data["by"] else ""
                self._print(f"\n[bold]» {escape(event.content)}[/]{by}")
            case "gap":
                self._print(f"[dim]… {escape(event.content)}; the result is:[/]")
                self._body(data["snapshot"]["answer"] or "")

    def _show_tool(self, event: RunEvent) -> None:
        data = event.metadata
        if event.type == "tool_start":
            pairs = data["arguments"].items()
            arguments = ", ".join(f"{key}={_json(value)}" for key, value in pairs)
            self._print(f"  [dim]→ {escape(data['tool'])}({escape(arguments)})[/]")
            return
        if event.type == "tool_progress":
            total = f" of {data['total']:g}" if data["total"] is not None else ""
            told = f"{data['progress']:g}{total} {data['message']}".rstrip()
            self._print(f"  [dim]… {escape(data['tool'])}: {escape(told)}[/]")
            return
        mark, colour = ("✓", "green") if data["status"] == "success" else ("✗", "red")
        about = f"{data['duration_seconds']:.2f} s"
        if data["attempts"] > 1:
            about = f"{about}, {data['attempts']} attempts"
        self._print(f"  [{colour}]{mark} {escape(data['tool'])}[/] [dim]({about})[/]")
        lines = data["output"].splitlines()
        shown = lines[:MAX_LINES]
        if len(lines) > MAX_LINES:
            shown.append(f"… {len(lines) - MAX_LINES} more lines")
        self._indented(Text("\n".join(shown), style="dim"), 4)

    def _show_in_short(self, event: RunEvent) -> None:
        data = event.metadata
        if event.type == "show":
            what, how = f"▦ {data['component']}", data["tool"]
        elif event.type == "tainted":
            what, how = f"⚠ {data['source']}", "text of others"
        elif event.type == "passages":
            numbers = ", ".join(f"[{one['n']}] {one['name']}" for one in data["passages"])
            what, how = f"❝ {numbers}", "passages"
        else:
            what, how = f"✎ {data['block'] or 'recall'}", f"memory {data['op']}"
        self._print(f"  [bold]{escape(what)}[/] [dim]({escape(how)})[/]")

    def _show_handoff(self, event: RunEvent) -> None:
        data = event.metadata
        about = data["why"]
        if data["signal"]:
            about = f"{about} {escape(data['signal'])}"
        if matched := data.get("matched"):
            fields = (f"{name} {_value(value)}" for name, value in matched.items())
            about = f"{about} {escape(', '.join(fields))}"
        if data["source"]:
            about = f"{about}, {escape(data['source'])}"
        self._print(f"  [bold]↪ {escape(event.content)}[/] [dim]({about})[/]")

    def _show_pause(self, data: Mapping[str, Any]) -> None:
        self.question = data.get("question") or ""
        self.calls = data.get("calls", [])
        if budget := data.get("budget"):
            self._print(f"  [bold yellow]? spend more? {escape(budget['text'])}[/]")
        for call in self.calls if not budget else ():
            for line in asked_lines(self.question, call, is_one=len(self.calls) == 1):
                self._print(line)
        if form := data.get("form"):
            self._show_form(form)

    def _show_form(self, form: Mapping[str, Any]) -> None:
        self._indented(Text(form["message"]), 4)
        if "url" in form:
            self._indented(Text(f"do it at {form['url']}, then say yes"), 4)
        for name, one in form["schema"].get("properties", {}).items():
            about = one.get("description") or one.get("title") or ""
            known = one.get("enum") or [each.get("const") for each in one.get("oneOf", ())]
            choices = f", one of {', '.join(map(str, known))}" if known else ""
            told = f"{name} ({one.get('type', 'any')}{choices}) {about}".rstrip()
            self._indented(Text(f"- {told}"), 4)

    def _head(self, name: str, about: str) -> None:
        self._print(f"\n[bold {self._colour(name)}]● {escape(name)}[/] [dim]({escape(about)})[/]")

    def _body(self, text: str) -> None:
        self._indented(Text(text.rstrip()), 2)

    def _indented(self, text: Text, by: int) -> None:
        """Print lines wrapped within the indentation on a terminal, whole elsewhere."""
        lead = self._lead()
        if self.console.is_terminal and not lead:
            self.console.print(Padding(text, (0, 0, 0, by)))
            return
        for line in text.plain.splitlines():
            self._print(" " * by + escape(line))

    def _show_end(self, data: Mapping[str, Any]) -> None:
        usage = data["usage"]
        tokens = usage["total_tokens"]
        text = f"rounds: {data['rounds']}, handoffs: {data['handoffs']}, tokens: {tokens}"
        cost, unpriced = usage.get("cost_usd"), (data.get("cost") or {}).get("unpriced", 0)
        if cost:
            text = f"{text}, {'≥ ' if unpriced else ''}{cost:.4f} USD"
        if unpriced:
            text = f"{text}, {unpriced} unpriced"
        text = f"{text}, {data['duration_seconds']:.1f} s"
        match data["reason"]:
            case "paused":
                agent = escape(data["agent_id"])
                head = f"[bold yellow]⏸ paused: {agent} waits for your answer[/]"
            case "max_handoffs" | "max_rounds" | "budget" | "cancelled" | "abandoned":
                head = f"[bold yellow]⚠ stopped: {data['reason']}[/]"
            case reason:
                head = f"[bold green]✔ {reason}[/]"
        self._print(f"\n{head} [dim]({text})[/]")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _value(value: Any) -> str:
    """Return a value of a typed answer: texts as they are, a list of them with commas."""
    match value:
        case str():
            return value
        case None:
            return "–"
        case list() if not any(isinstance(one, dict | list) for one in value):
            return ", ".join(_value(one) for one in value) or "–"
        case _:
            return _json(value)


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments that a person writes in place of a call's; raises ValueError."""
    try:
        arguments = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(arguments, dict):
        # as JSON that cannot be read
        raise ValueError('arguments are an object: {"name": value}')  # noqa: TRY004
    return arguments
