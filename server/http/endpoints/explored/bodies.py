"""The bodies of requests about many stored runs."""

from typing import Annotated

from pydantic import Field, Strict

from crew.journal.events import RunStatus
from crew.journal.query import ID, MAX_USER_ID, SourceKind
from crew.journal.records.listing import TIME, Waiting
from server.http.bodies import WHOLE, Body

# as in the parameters of GET /api/crew/runs
NO_NUL = r"^[^\x00]+$"


class RunFilterBody(Body):
    """Which runs are meant; without a value: all that the caller may see."""

    status: RunStatus | None = None
    """Only those with it."""
    source: SourceKind | None = None
    """Only those it has started."""
    agent_id: Annotated[str, Field(pattern=ID)] | None = None
    """Only those in which it spoke last."""
    text: Annotated[str, Field(pattern=NO_NUL, max_length=200)] | None = None
    """Only those with it in their query, in whatever case."""
    since: Annotated[str, Field(pattern=f"^{TIME}$")] | None = None
    """Only those started then or later."""
    until: Annotated[str, Field(pattern=f"^{TIME}$")] | None = None
    """Only those started before."""
    reason: Annotated[str, Field(pattern="^[a-z_]{1,64}$")] | None = None
    """Only those that have ended so."""
    owner: Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,64}$")] | None = None
    """Only those of it; for scope admin."""
    user_id: Annotated[str, Field(pattern=NO_NUL, max_length=MAX_USER_ID)] | None = None
    """Only those for it."""
    source_name: Annotated[str, Field(pattern=ID)] | None = None
    """Only those of this schedule or hook."""
    cost_over: Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)] | None = None
    """Only those that have cost more, in USD."""
    tool: Annotated[str, Field(pattern=ID)] | None = None
    """Only those that have called it."""
    waiting: Waiting | None = None
    """Only paused ones, that wait for this."""


class MatchingRunsBody(Body):
    """Runs to delete, or to cancel."""

    filter: RunFilterBody
    """Which."""
    expect: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = 0
    """How many there are; with another number nothing is done."""
    dry: Annotated[bool, Strict()] = False
    """Only count them."""


class PausedBody(Body):
    """Whether a schedule starts runs."""

    paused: Annotated[bool, Strict()]
    """`true`: nothing is started at its times; `false`: from now on."""
