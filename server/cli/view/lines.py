"""The lines of plans and questions in a terminal, as markup."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.markup import escape

from crew.journal.call_text import call_text
from crew.journal.wire import RunEvent
from server.cli.hints import budget_example

MARKS = {"done": "[green]✓", "failed": "[red]✗", "skipped": "[yellow]–"}
ASKS = {
    "approval": "needs your approval",
    "form": "asks you something first",
    "unknown_outcome": "may have acted already",
    "restored": "needs your word before it goes on",
}
# what to say, by the kind of the question
PROMPTS = {
    "form": 'fill it in as {"JSON": …}, yes if there is nothing to fill in, or no',
    "approval": "allow it? yes, or no and why",
    "unknown_outcome": "retry or skip",
    "restored": "go on? yes, or no to end it",
    "budget": "spend more? {more}, or no",
    "plan": 'work so? yes, no, what is to be planned otherwise, or tasks as {"JSON": …}',
}
# what an answer must be, where its words decide nothing
CLEAR = {
    "approval": "say yes, no, or why not (no, because …)",
    "form": 'fill it in as {"JSON": …}, or say yes or no',
    "unknown_outcome": "say retry or skip",
    "restored": "say yes or no",
    "budget": "say {more}, or no",
}


def plan_lines(event: RunEvent) -> Iterator[str]:
    """Yield the lines of a `plan` or `task_end` event, as markup."""
    data = event.metadata
    if event.type == "task_end":
        yield f"  {MARKS[data['status']]} {escape(event.content)}[/]"
        return
    yield f"  [bold]⋔ {escape(event.content)}[/]"
    yield from _task_lines(data["tasks"])


def with_amounts(text: str, call: Mapping[str, Any]) -> str:
    """Return words for a person with an example of how to give the budget of a call room."""
    return text.replace("{more}", budget_example(call))


def asked_lines(question: str, call: Mapping[str, Any], *, is_one: bool) -> Iterator[str]:
    """Yield the lines of what a pause asks about a call, as markup.

    Args:
        question: the pause's.
        call: as the event has it.
        is_one: it asks about no other.
    """
    if question == "plan":
        yield "  [bold yellow]? the plan needs your approval[/]"
        yield from _task_lines(call["arguments"]["tasks"])
        return
    known_by = "" if is_one else f" [dim]({escape(call['call_id'])})[/]"
    head, *lines = call_text(call["tool"], call["arguments"]).split("\n")
    yield f"  [bold yellow]? {escape(head)} {ASKS.get(question, '')}[/]{known_by}"
    for line in lines:
        yield f"    [yellow]{escape(line)}[/]"
    if call.get("where"):
        yield f"    [dim]{escape(call['where'])}[/]"


def _task_lines(tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in tasks:
        needs = f" [dim]← {escape(', '.join(one['needs']))}[/]" if one.get("needs") else ""
        name = escape(f"{one['id']} ({one['agent']})")
        yield f"    {name}: {escape(one['ask'])}{needs}"
