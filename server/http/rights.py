"""What a caller may do: scopes, and whose runs are there for it."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request

from crew.journal.rows import RunRow
from crew.runs.errors import UnknownRun
from server.http.errors import HttpProblem
from server.http.services import services_of
from server.tokens import Caller, Scope

Endpoint = Callable[[Request], Awaitable[Any]]


def caller_of(request: Request) -> Caller:
    """Who sends a request."""
    caller: Caller = request.state.caller
    return caller


def require(request: Request, scope: Scope) -> None:
    """Raise HttpProblem unless the caller has a scope."""
    scopes = caller_of(request).scopes
    if scope not in scopes and "admin" not in scopes:
        services_of(request).metrics.refused.labels("scope").inc()
        kind = "token" if caller_of(request).ticket is None else "ticket"
        raise HttpProblem(403, f"this {kind} may not do that: it needs the scope {scope!r}")


def needing(scope: Scope, endpoint: Endpoint) -> Endpoint:
    """An endpoint for callers with a scope."""

    async def checked(request: Request) -> Any:
        require(request, scope)
        return await endpoint(request)

    checked.__doc__ = endpoint.__doc__
    return checked


async def own_run(request: Request, run_id: str) -> RunRow:
    """A run, if it is there for the caller; raises UnknownRun as if it were not."""
    caller = caller_of(request)
    row = await services_of(request).runs.row(run_id)
    if not caller.sees(row.owner):
        raise UnknownRun(run_id)
    return row
