"""What people are to say in the terminal: the question, and what a paused run waits for."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from rich.console import Console

from crew.journal.query import Answer, CallDecision, text_error
from crew.journal.wire import RunEvent
from server.cli.exits import Exit, fail
from server.cli.view.output import Output
from server.cli.view.run_view import RunView
from server.cli.words import decision_in
from tools.handlers.threads import call_in_thread
from tools.text.texts import visible


async def ask_for_answer(output: Output) -> Answer | None:
    """Return a person's answer, on each of several calls by itself; None: the run stays paused."""
    view = output.view
    if not view.calls:
        text = await _ask(output, view.prompt)
        return None if text is None else Answer(text)
    decisions: list[CallDecision] = []
    for call, prompt in view.call_prompts:
        decided = await _ask_for_decision(output, call, prompt)
        if decided is None:
            return None
        if isinstance(decided, str):
            return Answer(decided)
        decisions.append(decided)
    return Answer(decisions=tuple(decisions))


async def _ask_for_decision(
    output: Output, call: Mapping[str, Any], prompt: str
) -> CallDecision | str | None:
    """Return what a person decides, or words by which a plan is made anew; None: neither."""
    while (text := await _ask(output, prompt)) is not None:
        if _is_words(output.view, text):
            return text
        try:
            return output.view.decide(text, call)
        except ValueError as error:
            output.console.print(f"  {visible(str(error))}", markup=False)
    return None


def _is_words(view: RunView, text: str) -> bool:
    """Return whether a line has a plan made anew: it decides nothing."""
    word = text.strip()
    is_other = not word.startswith("{") and decision_in(word, view.question) is None
    return view.question == "plan" and is_other


async def _ask(output: Output, prompt: str) -> str | None:
    """Return a person's line; None at Ctrl-C or Ctrl-D, which leave the run paused."""
    try:
        # in a daemon thread: Ctrl-C must not wait for Enter
        while True:
            text: str = await call_in_thread(lambda: output.console.input(prompt))
            # Enter alone says nothing
            if text.strip():
                return text
    except (asyncio.CancelledError, EOFError):
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        output.console.print()
        return None


async def with_decisions(events: AsyncIterator[RunEvent], answer: Answer) -> Answer:
    """Read an answer in words, where the run's pause asks about calls.

    Args:
        events: of the run, up to the pause.
        answer: in words.

    Raises:
        ValueError: the words decide nothing; the run stays paused.
    """
    view = RunView(Console(quiet=True))
    async for event in events:
        view.show(event)
    if not view.calls or _is_words(view, answer.text):
        return answer
    try:
        decisions = tuple(view.decide(answer.text, call) for call in view.calls)
    except ValueError as error:
        raise ValueError(f"{error}; the run stays paused") from None
    return replace(answer, text="", decisions=decisions)


def read_query(limit: int) -> str:
    """Return what stdin has; no more characters than a query may have are read."""
    # a character has up to four bytes; one more shows that there is more
    content = sys.stdin.buffer.read(4 * limit + 1)
    if len(content) > 4 * limit:
        fail(f"QUERY has more than {limit:,} characters", Exit.USAGE)
    try:
        return content.decode().rstrip("\n")
    except UnicodeDecodeError:
        fail("QUERY: stdin is not valid UTF-8", Exit.USAGE)


async def typed_lines(output: Output) -> AsyncIterator[str]:
    """Yield what a person types, or stdin has, line by line; what cannot be a query is refused."""
    while (text := await _line(output)) is not None:
        if not text.strip():
            continue
        if (wrong := text_error(text)) is not None:
            print(f"crew: the line {wrong}", file=sys.stderr)
            continue
        yield text.strip()


async def _line(output: Output) -> str | None:
    """Return the next line of the person, or of stdin; None at its end."""
    if not sys.stdin.isatty():
        line: str = await call_in_thread(sys.stdin.readline)
        return line.rstrip("\n") if line else None
    try:
        # in a daemon thread: Ctrl-C must not wait for Enter
        text: str = await call_in_thread(lambda: output.console.input("[bold]you>[/] "))
        return text
    except (asyncio.CancelledError, EOFError):
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        output.console.print()
        return None
