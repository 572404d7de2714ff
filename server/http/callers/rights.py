"""What a caller may do: scopes, and the runs that are there for it."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request

from crew.journal.query import ID as ID_PATTERN
from crew.journal.query import user_id_error
from crew.journal.records.rows import RunRow
from crew.runs.errors import UnknownRun
from server.http.callers.auditor import operation_of
from server.http.callers.pace import RateLimits
from server.http.errors import HttpProblem, bad_request
from server.http.services import services_of
from server.tokens import Caller, Scope

ID = re.compile(ID_PATTERN)
Endpoint = Callable[[Request], Awaitable[Any]]


def caller_of(request: Request) -> Caller:
    """Return who sends a request."""
    caller: Caller = request.state.caller
    return caller


def token_limits(request: Request) -> RateLimits:
    """Return how much each token may ask."""
    limits: RateLimits = request.app.state.limits
    return limits


def require(request: Request, scope: Scope) -> None:
    """Raise HttpProblem unless the caller has a scope."""
    if scope not in caller_of(request).scopes:
        services = services_of(request)
        services.metrics.refused.labels("scope").inc()
        detail = f"{operation_of(request)} needs {scope}"
        services.auditor.record_soon(request, "refused", detail)
        kind = "token" if caller_of(request).ticket is None else "ticket"
        raise HttpProblem(403, f"this {kind} may not do that: it needs the scope {scope!r}")


def user_of(request: Request, given: str | None) -> str:
    """Return the user a request is for: the token's owner, or the one an acting token names.

    "" for no person. Raises HttpProblem.
    """
    caller = caller_of(request)
    if given is None:
        return caller.user_id
    if (error := user_id_error(given)) is not None:
        raise bad_request([("user_id", error)])
    if given != caller.user_id and "act_as" not in caller.scopes:
        text = "this token is for another user; to name one it needs the scope 'act_as'"
        raise HttpProblem(403, f"user_id: {text}", [("user_id", text)])
    return given


def named_user(request: Request) -> str:
    """Return the user that the address names; raises HttpProblem where that is not the caller's."""
    user_id: str = request.path_params["user"]
    caller = caller_of(request)
    if (error := user_id_error(user_id)) is not None:
        raise bad_request([("user", error)])
    if user_id != caller.owner and not {"act_as", "admin"} & set(caller.scopes):
        text = "this token is for another user; it needs the scope 'act_as' or 'admin'"
        raise HttpProblem(403, f"user: {text}", [("user", text)])
    return user_id


async def own_run(request: Request, run_id: str) -> RunRow:
    """Return a run, if it is there for the caller; raises UnknownRun as if it were not."""
    caller = caller_of(request)
    # no store is asked for what cannot be an id: PostgreSQL takes no NUL
    if ID.fullmatch(run_id) is None:
        raise UnknownRun(run_id)
    row = await services_of(request).runs.row(run_id)
    if not _sees(caller, row):
        raise UnknownRun(run_id)
    return row


def _sees(caller: Caller, row: RunRow) -> bool:
    """Return whether a run is there for a caller."""
    ticket = caller.ticket
    if ticket is not None and ticket.run_id == row.run_id:
        # it was made by one who sees the run
        return True
    if (place := caller.place) is None:
        return caller.sees(row.owner)
    if row.owner != caller.owner or row.user_id != place.user_id:
        return False
    return place.conversation_id in ("", row.conversation_id)


def bound_conversation(caller: Caller, given: str | None) -> str:
    """Return the conversation that a start is for; "" for none.

    Raises:
        HttpProblem: the caller's ticket is for another one.
    """
    bound = caller.place.conversation_id if caller.place is not None else ""
    if bound and given not in (None, bound):
        text = "this ticket is for another conversation"
        raise HttpProblem(403, f"conversation_id: {text}", [("conversation_id", text)])
    return bound or given or ""
