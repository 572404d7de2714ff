"""Errors of A2A: a code of JSON-RPC, a status of HTTP, and a reason."""

from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from server.http.errors import HttpProblem
from server.http.responses import JsonResponse

DOMAIN = "a2a-protocol.org"


@dataclass(frozen=True, slots=True)
class A2aKind:
    """A kind of error: its code of JSON-RPC, its status of HTTP, and what programs know it by."""

    code: int
    status: int
    reason: str
    # as google.rpc names the status
    name: str


INVALID, REFUSED = "INVALID_ARGUMENT", "FAILED_PRECONDITION"
# statuses and names are those of A2A 1.0.1, section 5.4
PARSE = A2aKind(-32700, 400, "PARSE_ERROR", INVALID)
INVALID_REQUEST = A2aKind(-32600, 400, "INVALID_REQUEST", INVALID)
NO_METHOD = A2aKind(-32601, 404, "METHOD_NOT_FOUND", "NOT_FOUND")
INVALID_PARAMS = A2aKind(-32602, 400, "INVALID_PARAMS", INVALID)
NO_TASK = A2aKind(-32001, 404, "TASK_NOT_FOUND", "NOT_FOUND")
NOT_CANCELABLE = A2aKind(-32002, 400, "TASK_NOT_CANCELABLE", REFUSED)
NO_PUSH = A2aKind(-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED", REFUSED)
UNSUPPORTED = A2aKind(-32004, 400, "UNSUPPORTED_OPERATION", REFUSED)
NO_CONTENT_TYPE = A2aKind(-32005, 400, "CONTENT_TYPE_NOT_SUPPORTED", INVALID)
NO_VERSION = A2aKind(-32009, 400, "VERSION_NOT_SUPPORTED", REFUSED)
UNAVAILABLE = A2aKind(-32000, 503, "UNAVAILABLE", "UNAVAILABLE")
# of our problems, by their status of HTTP
KINDS = {
    400: INVALID_PARAMS,
    401: A2aKind(-32600, 401, "INVALID_REQUEST", "UNAUTHENTICATED"),
    403: A2aKind(-32600, 403, "INVALID_REQUEST", "PERMISSION_DENIED"),
    404: NO_TASK,
    405: A2aKind(-32601, 405, "METHOD_NOT_FOUND", "UNIMPLEMENTED"),
    409: UNSUPPORTED,
    415: NO_CONTENT_TYPE,
    422: INVALID_PARAMS,
    429: A2aKind(-32600, 429, "INVALID_REQUEST", "RESOURCE_EXHAUSTED"),
    500: A2aKind(-32603, 500, "INTERNAL_ERROR", "INTERNAL"),
}


@dataclass(slots=True, eq=False)
class A2aError(Exception):
    """A request that is answered with an error."""

    kind: A2aKind
    message: str

    @classmethod
    def of(cls, problem: HttpProblem) -> "A2aError":
        """Return a problem of ours as one of A2A's."""
        kind = KINDS.get(problem.status)
        if kind is None:
            kind = UNAVAILABLE if problem.status > 500 else INVALID_REQUEST
            kind = replace(kind, status=problem.status)
        return cls(kind, problem.detail)

    @classmethod
    def of_address(cls, problem: HttpProblem) -> "A2aError":
        """Return a problem of a request that no method has seen: its 404 is of an address."""
        return cls(NO_METHOD, problem.detail) if problem.status == 404 else cls.of(problem)

    def info(self) -> dict[str, Any]:
        """Return what programs read."""
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        return {"@type": kind, "reason": self.kind.reason, "domain": DOMAIN}

    def rpc(self, id_: Any) -> dict[str, Any]:
        """Return it as JSON-RPC has it."""
        error = {"code": self.kind.code, "message": self.message, "data": [self.info()]}
        return {"jsonrpc": "2.0", "id": id_, "error": error}

    def rest(self) -> dict[str, Any]:
        """Return it as HTTP+JSON has it."""
        kind = self.kind
        error = {"code": kind.status, "status": kind.name, "message": self.message}
        return {"error": {**error, "details": [self.info()]}}


def refuse_rpc(problem: HttpProblem) -> Response:
    """Return a problem that came before the request was read, as JSON-RPC has it."""
    headers = dict(problem.headers or {})
    return JsonResponse(A2aError.of_address(problem).rpc(None), problem.status, headers=headers)


def refuse_rest(problem: HttpProblem) -> Response:
    """Return a problem as HTTP+JSON has it."""
    error = A2aError.of_address(problem)
    return JsonResponse(error.rest(), error.kind.status, headers=dict(problem.headers or {}))
