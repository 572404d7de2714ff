"""Options that say which runs are meant, by what they are."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from crew.journal.query import SourceKind
from crew.journal.records.listing import TIME, Waiting, beginning_of
from tools.clock import rfc3339
from tools.text.lengths import length_of

Agent = Annotated[
    str | None,
    typer.Option("--agent", metavar="ID", help="It spoke last, or asks.", show_default=False),
]
Text = Annotated[str | None, typer.Option("--text", help="It is in the query.", show_default=False)]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Not started before: a time, its beginning, or so long ago, as 7d.",
        show_default=False,
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Started before.", show_default=False),
]
StartedBy = Annotated[
    SourceKind | None, typer.Option("--source", help="What has started it.", show_default=False)
]
Owner = Annotated[
    str | None,
    typer.Option("--owner", metavar="NAME", help="The token that it is of.", show_default=False),
]
OfUser = Annotated[
    str | None,
    typer.Option("--user", metavar="ID", help="The person that it is for.", show_default=False),
]
Tool = Annotated[
    str | None,
    typer.Option("--tool", metavar="NAME", help="It has called it.", show_default=False),
]
WaitsFor = Annotated[
    Waiting | None,
    typer.Option("--waiting", help="It is paused, and waits for this.", show_default=False),
]
CostOver = Annotated[
    float | None,
    typer.Option("--cost-over", metavar="USD", help="It has cost more.", show_default=False),
]


def wanted_of(**given: str | float | None) -> dict[str, Any]:
    """Return what is meant by options, with times as the API takes them.

    Args:
        given: by the names of the API; None: whatever it is.

    Raises:
        typer.BadParameter: a time is none.
    """
    found: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
    for name in ("since", "until"):
        if name in found:
            found[name] = time_of(found[name], f"--{name}")
    return found


def time_of(text: str, option: str) -> str:
    """Return a time that an option gives, or one so long ago; raises typer.BadParameter."""
    if (length := length_of(text)) is not None:
        return rfc3339(datetime.now(UTC) - length)
    try:
        if re.fullmatch(TIME, text) is not None:
            beginning_of(text)
            return text
    except ValueError:
        # no calendar has that day
        pass
    wrong = "write a time like 2026-01-31T09:30:00Z, its beginning, or so long ago, as 7d"
    raise typer.BadParameter(wrong, param_hint=option)
