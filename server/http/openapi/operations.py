"""What each address takes, and what it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from crew.journal.events import RunStatus
from crew.journal.query import ID, MAX_PRIORITY, MAX_USER_ID, SourceKind
from server.http.bodies import (
    TIME,
    AnswerBody,
    ChangeBody,
    ConversationBody,
    ForkBody,
    ForkConversationBody,
    QueryBody,
    StartBody,
    TicketBody,
)
from server.http.openapi.answers import (
    AddressAnswer,
    CrewAnswer,
    GrantsAnswer,
    HealthAnswer,
    IgnoredAnswer,
    InboxAnswer,
    MetricsAnswer,
    NotReadyAnswer,
    ReadyAnswer,
    ReloadAnswer,
    ResultAnswer,
    RunAnswer,
    RunsAnswer,
    TicketAnswer,
)
from server.http.openapi.conversations import (
    BegunConversation,
    ChangedConversation,
    ConversationAnswer,
    ConversationsAnswer,
    ExportAnswer,
)
from server.http.openapi.parameters import (
    AFTER,
    CONVERSATION_ID,
    DELTAS,
    FLAG,
    INBOX_LIMIT,
    KEY,
    LIMIT,
    RUN_ID,
    TICKET,
    USER,
    query_parameter,
)

API = "/api/crew"
RUN = f"{API}/runs/{{run_id}}"
GRANTS = f"{API}/grants"
CONVERSATIONS = f"{API}/conversations"
CONVERSATION = f"{CONVERSATIONS}/{{conversation_id}}"
JSON, SSE, TEXT = "application/json", "text/event-stream", "text/plain"
MARKDOWN = "text/markdown"
# what every guarded address may answer
GUARDED = (400, 401, 403, 421, 429)


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One method of one address."""

    method: str
    path: str
    # the scope that its token needs; None: no token
    scope: str | None
    # by status: the media type and the shape of its JSON; None: nothing
    answers: Mapping[int, tuple[str, Any] | None]
    problems: Sequence[int] = ()
    parameters: Sequence[dict[str, Any]] = ()
    body: Any = None


STREAM: dict[int, tuple[str, Any] | None] = {200: (SSE, None)}
STARTS = (409, 413, 415, 422, 503)

OPERATIONS = (
    ApiOperation(
        "get",
        f"{API}/stream",
        "run",
        STREAM | {204: None},
        (404, 405, 409, 422, 503),
        (
            query_parameter("q", "What is asked: text, or the JSON of a body.", minLength=1),
            query_parameter(
                "run_id", "The run that is answered; without q, it is followed.", pattern=ID
            ),
            query_parameter("resume_agent_id", "The agent that starts.", pattern=ID),
            query_parameter(
                "priority", "Of the run.", type="integer", minimum=0, maximum=MAX_PRIORITY
            ),
            DELTAS,
            query_parameter("user_id", "Whom the run is for.", minLength=1, maxLength=MAX_USER_ID),
            query_parameter(
                "conversation_id", "The conversation that it goes on with.", pattern=ID
            ),
            query_parameter(
                "idempotency_key", "As the header of a POST.", pattern="^[!#-~]{1,255}$"
            ),
            TICKET,
        ),
    ),
    ApiOperation("post", f"{API}/stream", "run", STREAM, (404, *STARTS), (KEY,), QueryBody),
    ApiOperation(
        "post", f"{API}/run", "run", {200: (JSON, ResultAnswer)}, (404, *STARTS), (KEY,), QueryBody
    ),
    ApiOperation(
        "get",
        API,
        "read",
        {200: (JSON, CrewAnswer)},
        (),
        (query_parameter("prompts", "With the system prompts.", **FLAG),),
    ),
    ApiOperation(
        "post", f"{API}/reload", "admin", {200: (JSON, ReloadAnswer)}, (413, 415, 422, 503)
    ),
    ApiOperation(
        "post",
        f"{API}/tickets",
        "read",
        {201: (JSON, TicketAnswer)},
        (404, 413, 415),
        body=TicketBody,
    ),
    ApiOperation(
        "post", f"{API}/runs", "run", {202: (JSON, AddressAnswer)}, STARTS, (KEY,), StartBody
    ),
    ApiOperation(
        "get",
        f"{API}/runs",
        "read",
        {200: (JSON, RunsAnswer)},
        (404, 503),
        (
            query_parameter("status", "Only those with it.", enum=list(get_args(RunStatus))),
            query_parameter("source", "Only those it started.", enum=list(get_args(SourceKind))),
            query_parameter("agent_id", "Only those in which it spoke last, or asks.", pattern=ID),
            query_parameter(
                "text",
                "Only those with it in their query, in whatever case.",
                pattern="^[^\\u0000]{0,200}$",
            ),
            query_parameter("since", "Only those started then or later.", pattern=f"^{TIME}$"),
            query_parameter("until", "Only those started before.", pattern=f"^{TIME}$"),
            query_parameter("limit", "So many at most; 50 unless given.", **LIMIT),
            AFTER,
        ),
    ),
    ApiOperation(
        "get",
        f"{API}/inbox",
        "read",
        {200: (JSON, InboxAnswer)},
        (404, 503),
        (query_parameter("limit", "So many at most; 50 unless given.", **INBOX_LIMIT), AFTER),
    ),
    ApiOperation("get", RUN, "read", {200: (JSON, RunAnswer)}, (404, 503), (RUN_ID,)),
    ApiOperation(
        "get",
        f"{RUN}/events",
        "read",
        STREAM | {204: None},
        (404, 405, 503),
        (
            RUN_ID,
            query_parameter(
                "after",
                "The last event that is known: `n` or `run:n`.",
                pattern="^([A-Za-z0-9_-]{1,128}:)?[0-9]{1,15}$",
            ),
            DELTAS,
            TICKET,
        ),
    ),
    ApiOperation(
        "post",
        f"{RUN}/resume",
        "answer",
        {202: (JSON, AddressAnswer)},
        (404, *STARTS),
        (RUN_ID, KEY),
        AnswerBody,
    ),
    *(
        ApiOperation(
            "post",
            f"{RUN}/{act}",
            "run",
            {202: (JSON, AddressAnswer)},
            (404, 409, 413, 415, 503),
            (RUN_ID,),
        )
        for act in ("cancel", "retry")
    ),
    ApiOperation(
        "post",
        f"{RUN}/fork",
        "run",
        {202: (JSON, AddressAnswer)},
        (404, *STARTS),
        (RUN_ID, KEY),
        ForkBody,
    ),
    ApiOperation(
        "get",
        CONVERSATIONS,
        "read",
        {200: (JSON, ConversationsAnswer)},
        (503,),
        (
            USER,
            query_parameter("q", "Only those with it in their title or a query.", maxLength=200),
            query_parameter("limit", "So many at most; 50 unless given.", **LIMIT),
            query_parameter(
                "after",
                "The `next` of the page before.",
                pattern="^[0-9TZ:.-]{1,40}~[A-Za-z0-9_-]{1,128}$",
            ),
        ),
    ),
    ApiOperation(
        "post",
        CONVERSATIONS,
        "run",
        {201: (JSON, BegunConversation)},
        (413, 415, 503),
        body=ConversationBody,
    ),
    ApiOperation(
        "get",
        CONVERSATION,
        "read",
        {200: (JSON, ConversationAnswer)},
        (404, 503),
        (
            CONVERSATION_ID,
            USER,
            query_parameter("limit", "So many exchanges at most; 50 unless given.", **LIMIT),
            query_parameter(
                "after",
                "The number of the last exchange that is known.",
                type="integer",
                minimum=0,
                maximum=999_999_999,
            ),
        ),
    ),
    ApiOperation(
        "patch",
        CONVERSATION,
        "run",
        {200: (JSON, ChangedConversation)},
        (404, 413, 415, 503),
        (CONVERSATION_ID,),
        ChangeBody,
    ),
    ApiOperation(
        "delete",
        CONVERSATION,
        "run",
        {204: None},
        (404, 409, 503),
        (CONVERSATION_ID, USER, query_parameter("cancel", "End its run first.", **FLAG)),
    ),
    ApiOperation(
        "post",
        f"{CONVERSATION}/fork",
        "run",
        {201: (JSON, BegunConversation)},
        (404, 409, 413, 415, 503),
        (CONVERSATION_ID,),
        ForkConversationBody,
    ),
    ApiOperation(
        "get",
        f"{CONVERSATION}/export",
        "read",
        {200: (MARKDOWN, ExportAnswer)},
        (404, 503),
        (
            CONVERSATION_ID,
            USER,
            query_parameter("format", "json unless given.", enum=["json", "md"]),
        ),
    ),
    ApiOperation(
        "post",
        f"{API}/hooks/{{name}}",
        "hook",
        {202: (JSON, AddressAnswer), 200: (JSON, IgnoredAnswer)},
        (404, 413, 415, 422, 503),
        (
            {
                "name": "name",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "pattern": ID},
            },
        ),
        dict[str, Any],
    ),
    ApiOperation("get", GRANTS, "answer", {200: (JSON, GrantsAnswer)}, (503,)),
    ApiOperation(
        "delete",
        f"{GRANTS}/{{grant_id}}",
        "answer",
        {204: None},
        (404, 503),
        (
            {
                "name": "grant_id",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "pattern": "^[A-Za-z0-9]{1,64}$"},
            },
        ),
    ),
    ApiOperation("get", "/health", None, {200: (JSON, HealthAnswer)}),
    ApiOperation("get", "/ready", None, {200: (JSON, ReadyAnswer), 503: (JSON, NotReadyAnswer)}),
    ApiOperation(
        "get",
        "/metrics",
        "read",
        {200: (TEXT, MetricsAnswer)},
        (),
        (query_parameter("format", "prometheus unless given.", enum=["prometheus", "json"]),),
    ),
    ApiOperation("get", "/openapi.json", "read", {200: (JSON, dict[str, Any])}),
)
