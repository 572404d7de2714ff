"""Runs in a list, and what one of them waits for."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from crew.journal.wire import RunEvent
from server.cli.view.run_view import RunView
from tools.text.texts import visible, visible_json

LISTED_KEYS = ("run_id", "status", "reason", "started_at", "query", "source", "source_name")


def print_listed(run: Mapping[str, Any], *, as_document: bool) -> None:
    """Print a run of a list: its LISTED_KEYS, as JSON or as a line."""
    if as_document:
        document = {key: run[key] for key in LISTED_KEYS}
        print(visible_json(json.dumps(document, ensure_ascii=False)))
        return
    query = " ".join(run["query"].split())[:60]
    line = f"{run['run_id']}  {run['started_at']}  {run['status']:<9}  {query}"
    if run["source_name"]:
        line = f"{line}  [{run['source']} {run['source_name']}]"
    print(visible(line))


def print_waiting(
    console: Console, run_id: str, query: str, answer: str | None, pause: RunEvent
) -> RunView:
    """Print what a paused run asks; returns the view of it."""
    words = escape(visible(" ".join(query.split())[:200]))
    since = escape(pause.timestamp)
    console.print(f"[bold]{words}[/] [dim]{run_id}, since {since}[/]", soft_wrap=True)
    if answer:
        console.print(f"  {escape(visible(answer.strip()))}", soft_wrap=True)
    view = RunView(console)
    view.show(pause)
    return view


def print_viewers(console: Console, names: Sequence[str]) -> None:
    """Print who looks at a paused run now; a page without a token has no name."""
    if names:
        who = ", ".join(sorted({name or "a page of the console" for name in names}))
        console.print(f"  [yellow]{escape(visible(who))}: looks at it now[/]", soft_wrap=True)
