"""An operation of the API: what it takes, answers and needs; and the routes that follow from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from server.http.callers.rights import Endpoint, require
from server.http.openapi.parameters import Parameter
from server.tokens import Scope

JSON, SSE, PLAIN = "application/json", "text/event-stream", "text/plain"
MARKDOWN = "text/markdown"
# by status: the media type and the shape of its JSON; None: nothing
Answers = Mapping[int, tuple[str, Any] | None]


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One method of one address."""

    method: str
    path: str
    # the scope that its token needs; None: no token
    scope: Scope | None
    endpoint: Endpoint
    answers: Answers
    # the statuses of its problems, beside those of all
    problems: Sequence[int] = ()
    # of its query string and its headers, described; those of its path follow from that
    parameters: Sequence[Parameter] = ()
    body: Any = None
    # the scope depends on what is sent, so the endpoint looks at it
    checks_scope: bool = False

    @property
    def in_query(self) -> dict[str, Parameter]:
        """The parameters that its query string may have, by their names."""
        return {one.name: one for one in self.parameters if one.place == "query"}


def routes_of(operations: Sequence[ApiOperation]) -> list[Route]:
    """Make the routes of operations: one for each path, with its methods."""
    paths: dict[str, dict[str, ApiOperation]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.upper()] = one
    return [Route(path, _endpoint(found), methods=list(found)) for path, found in paths.items()]


def _endpoint(operations: Mapping[str, ApiOperation]) -> Endpoint:
    in_query = {method: operation.in_query for method, operation in operations.items()}

    async def answer(request: Request) -> Any:
        # a route of GET has HEAD, too
        method = request.method if request.method in operations else "GET"
        operation, request.state.parameters = operations[method], in_query[method]
        if operation.scope is not None and not operation.checks_scope:
            require(request, operation.scope)
        return await operation.endpoint(request)

    return answer
