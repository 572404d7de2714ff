"""Errors of A2A: a code of JSON-RPC, a status of HTTP, and a reason."""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from server.http.errors import HttpProblem
from server.http.responses import JsonResponse

DOMAIN = "a2a-protocol.org"
# by status of HTTP: as google.rpc names it
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "FAILED_PRECONDITION",
    415: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


@dataclass(frozen=True, slots=True)
class A2aKind:
    """A kind of error."""

    code: int
    status: int
    reason: str


PARSE = A2aKind(-32700, 400, "PARSE_ERROR")
INVALID_REQUEST = A2aKind(-32600, 400, "INVALID_REQUEST")
NO_METHOD = A2aKind(-32601, 404, "METHOD_NOT_FOUND")
INVALID_PARAMS = A2aKind(-32602, 400, "INVALID_PARAMS")
NO_TASK = A2aKind(-32001, 404, "TASK_NOT_FOUND")
NOT_CANCELABLE = A2aKind(-32002, 409, "TASK_NOT_CANCELABLE")
NO_PUSH = A2aKind(-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED")
UNSUPPORTED = A2aKind(-32004, 400, "UNSUPPORTED_OPERATION")
NO_CONTENT_TYPE = A2aKind(-32005, 415, "CONTENT_TYPE_NOT_SUPPORTED")
NO_VERSION = A2aKind(-32009, 400, "VERSION_NOT_SUPPORTED")
UNAVAILABLE = A2aKind(-32000, 503, "UNAVAILABLE")


@dataclass(slots=True, eq=False)
class A2aError(Exception):
    """A request that is answered with an error."""

    kind: A2aKind
    message: str

    @classmethod
    def of(cls, problem: HttpProblem) -> "A2aError":
        """Return a problem of ours as one of A2A's."""
        kind = {404: NO_TASK, 409: UNSUPPORTED, 400: INVALID_PARAMS, 422: INVALID_PARAMS}.get(
            problem.status, UNAVAILABLE if problem.status >= 500 else INVALID_REQUEST
        )
        return cls(A2aKind(kind.code, problem.status, kind.reason), problem.detail)

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
        status = STATUSES.get(self.kind.status, "INTERNAL")
        error = {"code": self.kind.status, "status": status, "message": self.message}
        return {"error": {**error, "details": [self.info()]}}


def refuse_rpc(problem: HttpProblem) -> Response:
    """Return a problem that came before the request was read, as JSON-RPC has it."""
    headers = dict(problem.headers or {})
    return JsonResponse(A2aError.of(problem).rpc(None), problem.status, headers=headers)


def refuse_rest(problem: HttpProblem) -> Response:
    """Return a problem as HTTP+JSON has it."""
    return JsonResponse(
        A2aError.of(problem).rest(), problem.status, headers=dict(problem.headers or {})
    )
