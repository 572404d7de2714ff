"""What a caller may do: scopes, and the runs that are there for it."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request

from crew.journal.query import ID as ID_PATTERN
from crew.journal.query import user_id_error
from crew.journal.records.rows import RunRow
from crew.runs.errors import UnknownRun
from server.http.callers.pace import RateLimits
from server.http.errors import HttpProblem, bad_request
from server.http.services import services_of
from server.tokens import Caller, Scope

ID = re.compile(ID_PATTERN)
# of a path, in the audit
MAX_PATH = 200
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
        path = f"{request.method} {request.url.path[:MAX_PATH]}"
        services.auditor.record_soon(request, "refused", f"{path} needs {scope}")
        kind = "token" if caller_of(request).ticket is None else "ticket"
        raise HttpProblem(403, f"this {kind} may not do that: it needs the scope {scope!r}")


def user_of(request: Request, given: str | None) -> str:
    """Return the user a request is for: the token's owner, or the one an acting token names.

    "" for no person. Raises HttpProblem.
    """
    caller = caller_of(request)
    if given is None:
        return caller.owner
    if (error := user_id_error(given)) is not None:
        raise bad_request([("user_id", error)])
    if given != caller.owner and "act_as" not in caller.scopes:
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
    # a ticket for a run was made by one who sees it
    has_ticket = caller.ticket is not None and caller.ticket.run_id == run_id
    if not (has_ticket or caller.sees(row.owner)):
        raise UnknownRun(run_id)
    return row
