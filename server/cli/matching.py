"""Options that say which runs are meant, by what they are."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from crew.journal.query import SourceKind
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
CostOver = Annotated[
    float | None,
    typer.Option("--cost-over", metavar="USD", help="It has cost more.", show_default=False),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Which runs are meant, by the names of the API; None: whatever it is."""

    status: str | None = None
    agent_id: str | None = None
    text: str | None = None
    since: str | None = None
    until: str | None = None
    source: str | None = None
    owner: str | None = None
    user_id: str | None = None
    tool: str | None = None
    cost_over: float | None = None

    def wanted(self) -> dict[str, Any]:
        """Return what is given, with times as the API takes them."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        found = {name: value for name, value in given.items() if value is not None}
        for name in ("since", "until"):
            if name in found and (length := length_of(found[name])) is not None:
                found[name] = rfc3339(datetime.now(UTC) - length)
        return found
