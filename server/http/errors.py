"""What errors become over HTTP: problems (RFC 9457)."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from crew.config.errors import ConfigurationError, LostConfiguration
from crew.config.report import problems_document
from crew.journal.errors import StoreError, StoreUnavailable
from crew.runs.errors import (
    AttachmentRefused,
    BlockRefused,
    BudgetSpent,
    ChangedCall,
    ConversationAsks,
    ConversationBusy,
    ConversationFull,
    DocumentRefused,
    Draining,
    ItemRefused,
    KeyReused,
    MayHaveBegun,
    MayNotSpend,
    NoConversations,
    NotForkable,
    NotPaused,
    NotRetryable,
    RecallFull,
    RunEnded,
    StaleVersion,
    TooManyQueued,
    TooManyWait,
    TooMuchStored,
    UnknownAgent,
    UnknownBlock,
    UnknownConversation,
    UnknownDocument,
    UnknownItem,
    UnknownModel,
    UnknownRun,
    WrongDecision,
)
from crew.why.reading import EventsGone
from server.editing.errors import EditRefused
from server.http.access import POLICY
from server.http.pages.console import console_page
from server.http.responses import JsonResponse, run_address
from server.http.services import services_of
from tools.text.texts import map_texts

# problems of one request that are listed
MAX_PROBLEMS = 20
log = logging.getLogger(__name__)

DRAINING = "this server is going down; try again at another one, or in a moment"
RETRY_AFTER = {"Retry-After": "5"}
TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    402: "Payment required",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    412: "Precondition failed",
    413: "Too large",
    414: "URI too long",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Unprocessable content",
    429: "Too many requests",
    431: "Headers too large",
    500: "Internal error",
    503: "Unavailable",
}


@dataclass(slots=True, eq=False)
class HttpProblem(Exception):
    """A request that is answered with a problem."""

    status: int
    detail: str
    # each (field, what is wrong with it)
    errors: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] | None = None
    # further members of the document
    more: Mapping[str, Any] | None = None


def client_left() -> HttpProblem:
    """Answer a client that has left before the end of its body: no error of ours."""
    return HttpProblem(408, "body: the client left before its end")


def problem_document(problem: HttpProblem) -> dict[str, Any]:
    """Build the document of a problem (RFC 9457)."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": TITLES.get(problem.status, "Error"),
        "status": problem.status,
        "detail": problem.detail,
    }
    if problem.errors:
        body["errors"] = [{"field": field, "message": text} for field, text in problem.errors]
    return body | dict(problem.more or {})


class ProblemResponse(JsonResponse):
    """A problem as `application/problem+json`, or in the form of the door that was taken."""

    media_type = "application/problem+json"

    def __init__(self, problem: HttpProblem) -> None:
        self.problem = problem
        body = problem_document(problem)
        super().__init__(body, problem.status, headers=dict(problem.headers or {}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        # what answers before an application does has no doors
        doors = scope["app"].state.doors if "app" in scope else ()
        for door in doors:
            if door.has(scope["path"]):
                await door.refuse(self.problem, scope["path"])(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


async def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HttpProblem), "registered for it"
    return ProblemResponse(error)


async def _answer_wrong_decision(request: Request, error: Exception) -> Response:
    text = str(error)
    return ProblemResponse(HttpProblem(400, f"decision: {text}", [("decision", text)]))


async def _answer_draining(request: Request, error: Exception) -> Response:
    return ProblemResponse(HttpProblem(503, DRAINING, headers=RETRY_AFTER))


async def _answer_too_many(request: Request, error: Exception) -> Response:
    assert isinstance(error, TooManyWait), "registered for it"
    status = 503 if error.of_all else 429
    return ProblemResponse(HttpProblem(status, str(error), headers=RETRY_AFTER))


async def _answer_spent(request: Request, error: Exception) -> Response:
    assert isinstance(error, BudgetSpent), "registered for it"
    headers, again = {}, error.resets_at or None
    if again is not None:
        left = datetime.fromisoformat(again) - services_of(request).runs.store.now()
        headers["Retry-After"] = str(max(1, ceil(left.total_seconds())))
    more = {"resets_at": again}
    return ProblemResponse(HttpProblem(402, str(error), headers=headers, more=more))


async def _answer_misconfigured(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConfigurationError), "registered for it"
    detail = f"the crew's files have errors, so nothing was changed: {_first_error(error)}"
    return ProblemResponse(HttpProblem(422, detail, more=problems_document(error.problems)))


async def _answer_lost(request: Request, error: Exception) -> Response:
    assert isinstance(error, LostConfiguration), "registered for it"
    detail = (
        "what this run was started with makes no crew here any more; "
        f"bring back what is missing, or cancel it: {_first_error(error)}"
    )
    return ProblemResponse(HttpProblem(409, detail, more=problems_document(error.problems)))


def _first_error(error: ConfigurationError) -> str:
    first = next(problem for problem in error.problems if problem.severity == "error")
    return f"{first.file}:{first.line}:{first.column}: {first.message}"


async def _answer_store_error(request: Request, error: Exception) -> Response:
    detail = str(error)
    if isinstance(error, StoreUnavailable):
        log.warning("the store cannot be used: %s", error)
        detail = "the store cannot be used for now; try again"
    return ProblemResponse(HttpProblem(503, detail, headers=RETRY_AFTER))


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for it"
    is_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
    if error.status_code == 404 and is_page:
        # a person has mistyped an address
        return console_page(404)
    detail = f"{request.method} {request.url.path}: {error.detail}"
    return ProblemResponse(HttpProblem(error.status_code, detail, headers=error.headers))


async def _answer_mistake(request: Request, error: Exception) -> Response:
    request_id = getattr(request.state, "request_id", "")
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail = f"the server made a mistake; its log has it under request_id {request_id}"
    # it is answered outside of all that gives answers their headers
    headers = {**POLICY, "X-Request-ID": request_id}
    return ProblemResponse(HttpProblem(500, detail, headers=headers))


async def _answer_no_conversations(request: Request, error: Exception) -> Response:
    text = str(error)
    return ProblemResponse(HttpProblem(400, text, [("conversation_id", text)]))


async def _answer_busy(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConversationBusy), "registered for it"
    _count_refusal(request, "busy")
    more = run_address(error.run_id) if error.run_id is not None else None
    return ProblemResponse(HttpProblem(409, str(error), headers=RETRY_AFTER, more=more))


async def _answer_asks(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConversationAsks), "registered for it"
    _count_refusal(request, "asks")
    more = {**run_address(error.run_id), "asks": error.asks}
    return ProblemResponse(HttpProblem(409, str(error), more=more))


async def _answer_full(request: Request, error: Exception) -> Response:
    _count_refusal(request, "full")
    return ProblemResponse(HttpProblem(409, str(error)))


async def _answer_queued(request: Request, error: Exception) -> Response:
    _count_refusal(request, "waiting")
    return ProblemResponse(HttpProblem(429, str(error), headers=RETRY_AFTER))


async def _answer_refused_block(request: Request, error: Exception) -> Response:
    assert isinstance(error, BlockRefused), "registered for it"
    text = str(error)
    if error.is_readonly:
        return ProblemResponse(HttpProblem(403, text))
    return ProblemResponse(HttpProblem(422, f"value: {text}", [("value", text)]))


async def _answer_refused_document(request: Request, error: Exception) -> Response:
    assert isinstance(error, DocumentRefused), "registered for it"
    status = {"large": 413, "full": 409, "folder": 409, "kind": 415, "name": 422}[error.reason]
    return ProblemResponse(HttpProblem(status, str(error)))


async def _answer_refused_attachment(request: Request, error: Exception) -> Response:
    assert isinstance(error, AttachmentRefused), "registered for it"
    field = f"attachments[{error.place}]"
    return ProblemResponse(HttpProblem(400, str(error), [(field, error.why)]))


async def _answer_stale(request: Request, error: Exception) -> Response:
    assert isinstance(error, StaleVersion), "registered for it"
    return ProblemResponse(HttpProblem(412, str(error), more={"version": error.version}))


async def _answer_refused_edit(request: Request, error: Exception) -> Response:
    assert isinstance(error, EditRefused), "registered for it"
    mask = services_of(request).runs.crew.secrets.mask
    more, detail = map_texts(dict(error.more), mask), mask(str(error))
    errors = [(error.field, detail)] if error.field else []
    headers = RETRY_AFTER if error.status == 429 else None
    return ProblemResponse(HttpProblem(error.status, detail, errors, headers, more))


def _count_refusal(request: Request, reason: str) -> None:
    services_of(request).metrics.conversation_refusals.labels(reason).inc()


def _with_status(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        return ProblemResponse(HttpProblem(status, str(error)))

    return answer


# of every error that a request can end with
EXCEPTION_HANDLERS: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    HttpProblem: _answer_problem,
    UnknownRun: _with_status(404),
    UnknownAgent: _with_status(400),
    UnknownModel: _with_status(400),
    WrongDecision: _answer_wrong_decision,
    NotPaused: _with_status(409),
    ChangedCall: _with_status(409),
    NotForkable: _with_status(409),
    NotRetryable: _with_status(409),
    RunEnded: _with_status(409),
    TooManyWait: _answer_too_many,
    BudgetSpent: _answer_spent,
    EventsGone: _with_status(409),
    MayNotSpend: _with_status(403),
    TooMuchStored: _with_status(429),
    KeyReused: _with_status(422),
    Draining: _answer_draining,
    StoreError: _answer_store_error,
    MayHaveBegun: _with_status(503),
    ConfigurationError: _answer_misconfigured,
    LostConfiguration: _answer_lost,
    NoConversations: _answer_no_conversations,
    UnknownConversation: _with_status(404),
    ConversationBusy: _answer_busy,
    ConversationAsks: _answer_asks,
    ConversationFull: _answer_full,
    TooManyQueued: _answer_queued,
    UnknownBlock: _with_status(404),
    UnknownItem: _with_status(404),
    ItemRefused: _with_status(400),
    RecallFull: _with_status(409),
    BlockRefused: _answer_refused_block,
    UnknownDocument: _with_status(404),
    DocumentRefused: _answer_refused_document,
    AttachmentRefused: _answer_refused_attachment,
    StaleVersion: _answer_stale,
    EditRefused: _answer_refused_edit,
    HTTPException: _answer_http_error,
    Exception: _answer_mistake,
}


async def problem_of(request: Request, error: Exception) -> HttpProblem | None:
    """Return the problem that an error is answered with; None where it is a mistake of ours."""
    for kind in type(error).__mro__:
        if kind is not Exception and (answer := EXCEPTION_HANDLERS.get(kind)) is not None:
            response = await answer(request, error)
            assert isinstance(response, ProblemResponse), "all errors are answered so"
            return response.problem
    return None


def bad_request(problems: list[tuple[str, str]]) -> HttpProblem:
    """Return a 400 that lists (field, what is wrong with it)."""
    listed = [(field[:80], message) for field, message in problems[:MAX_PROBLEMS]]
    detail = "; ".join(f"{field}: {message}" for field, message in listed)
    if len(problems) > len(listed):
        detail = f"{detail}; and {len(problems) - len(listed)} more"
    return HttpProblem(400, detail, listed)
