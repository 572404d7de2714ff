"""An operation of the API: what it takes, answers and needs; and the routes that follow from it."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import Scope as AsgiScope

from server.http.callers.rights import Endpoint, require
from server.http.openapi.parameters import Parameter
from server.tokens import Scope

JSON, SSE, PLAIN = "application/json", "text/event-stream", "text/plain"
MARKDOWN = "text/markdown"
HTML = "text/html"
IMAGE = "image/*"
NDJSON, YAML = "application/x-ndjson", "application/yaml"
# where all addresses of crews begin
API = "/api/crew"
# the problems of a body
BODY = (413, 415)
# by status: the media type, or several with commas between them, and the shape of its JSON; None:
# nothing
Answers = Mapping[int, tuple[str, Any] | None]
# the name of a body, which the document has by itself
TAKES = re.compile(r" Takes an? \w+Body\.")


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
    def address(self) -> str:
        """Its path, as the document has it: a part that may have slashes is one as any other."""
        return self.path.replace(":encoded}", "}")

    @property
    def texts(self) -> tuple[str, str]:
        """What it does, in a sentence, and what more there is to say: from its endpoint."""
        first, _, more = (inspect.getdoc(self.endpoint) or "").partition("\n\n")
        said = TAKES.sub("", " ".join(first.partition(": ")[2].split()))
        return said[:1].upper() + said[1:], more

    @property
    def in_query(self) -> dict[str, Parameter]:
        """The parameters that its query string may have, by their names."""
        return {one.name: one for one in self.parameters if one.place == "query"}


def get_operation(
    path: str,
    scope: Scope | None,
    endpoint: Endpoint,
    answer: Any,
    problems: tuple[int, ...] = (),
    *parameters: Parameter,
) -> ApiOperation:
    """Return an operation that reads."""
    return ApiOperation("get", path, scope, endpoint, {200: (JSON, answer)}, problems, parameters)


def post_operation(
    path: str,
    scope: Scope,
    endpoint: Endpoint,
    status: int,
    answer: Any,
    problems: tuple[int, ...],
    body: Any = None,
    **more: Any,
) -> ApiOperation:
    """Return an operation that acts."""
    answered = {status: (JSON, answer)}
    return ApiOperation("post", path, scope, endpoint, answered, problems, body=body, **more)


def routes_of(operations: Sequence[ApiOperation]) -> list[Route]:
    """Make the routes of operations: one for each path, with its methods."""
    paths: dict[str, dict[str, ApiOperation]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.upper()] = one
    return [
        _EncodedRoute(path, _endpoint(found), methods=list(found)) for path, found in paths.items()
    ]


class _Encoded(Convertor[str]):
    """A part of a path that may have slashes, which stand there percent-encoded."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Return the part as it was meant."""
        return value.replace("%2F", "/").replace("%25", "%")

    def to_string(self, value: str) -> str:
        """Return the part as it stands in a path."""
        return _encode(value)


def _encode(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")


register_url_convertor("encoded", _Encoded())


class _EncodedRoute(Route):
    """A route that knows a slash within a part of its path, which is encoded, from one between."""

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        """Return whether a request is for this route; see Route."""
        raw = scope.get("raw_path") or b""
        if b"%" in raw and ":encoded}" in self.path:
            parts = [_encode(unquote(one)) for one in raw.decode("latin-1").split("/")]
            scope = {**scope, "path": "/".join(parts)}
        return super().matches(scope)


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
