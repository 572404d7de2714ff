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
    in_query,
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
class Operation:
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
    Operation(
        "get",
        f"{API}/stream",
        "run",
        STREAM | {204: None},
        (404, 405, 409, 422, 503),
        (
            in_query("q", "What is asked: text, or the JSON of a body.", minLength=1),
            in_query("run_id", "The run that is answered; without q, it is followed.", pattern=ID),
            in_query("resume_agent_id", "The agent that starts.", pattern=ID),
            in_query("priority", "Of the run.", type="integer", minimum=0, maximum=MAX_PRIORITY),
            DELTAS,
            in_query("user_id", "Whom the run is for.", minLength=1, maxLength=MAX_USER_ID),
            in_query("conversation_id", "The conversation that it goes on with.", pattern=ID),
            in_query("idempotency_key", "As the header of a POST.", pattern="^[!#-~]{1,255}$"),
            TICKET,
        ),
    ),
    Operation("post", f"{API}/stream", "run", STREAM, (404, *STARTS), (KEY,), QueryBody),
    Operation(
        "post", f"{API}/run", "run", {200: (JSON, ResultAnswer)}, (404, *STARTS), (KEY,), QueryBody
    ),
    Operation(
        "get",
        API,
        "read",
        {200: (JSON, CrewAnswer)},
        (),
        (in_query("prompts", "With the system prompts.", **FLAG),),
    ),
    Operation("post", f"{API}/reload", "admin", {200: (JSON, ReloadAnswer)}, (413, 415, 422, 503)),
    Operation(
        "post",
        f"{API}/tickets",
        "read",
        {201: (JSON, TicketAnswer)},
        (404, 413, 415),
        body=TicketBody,
    ),
    Operation(
        "post", f"{API}/runs", "run", {202: (JSON, AddressAnswer)}, STARTS, (KEY,), StartBody
    ),
    Operation(
        "get",
        f"{API}/runs",
        "read",
        {200: (JSON, RunsAnswer)},
        (404, 503),
        (
            in_query("status", "Only those with it.", enum=list(get_args(RunStatus))),
            in_query("source", "Only those it started.", enum=list(get_args(SourceKind))),
            in_query("agent_id", "Only those in which it spoke last, or asks.", pattern=ID),
            in_query(
                "text",
                "Only those with it in their query, in whatever case.",
                pattern="^[^\\u0000]{0,200}$",
            ),
            in_query("since", "Only those started then or later.", pattern=f"^{TIME}$"),
            in_query("until", "Only those started before.", pattern=f"^{TIME}$"),
            in_query("limit", "So many at most; 50 unless given.", **LIMIT),
            AFTER,
        ),
    ),
    Operation(
        "get",
        f"{API}/inbox",
        "read",
        {200: (JSON, InboxAnswer)},
        (404, 503),
        (in_query("limit", "So many at most; 50 unless given.", **INBOX_LIMIT), AFTER),
    ),
    Operation("get", RUN, "read", {200: (JSON, RunAnswer)}, (404, 503), (RUN_ID,)),
    Operation(
        "get",
        f"{RUN}/events",
        "read",
        STREAM | {204: None},
        (404, 405, 503),
        (
            RUN_ID,
            in_query(
                "after",
                "The last event that is known: `n` or `run:n`.",
                pattern="^([A-Za-z0-9_-]{1,128}:)?[0-9]{1,15}$",
            ),
            DELTAS,
            TICKET,
        ),
    ),
    Operation(
        "post",
        f"{RUN}/resume",
        "answer",
        {202: (JSON, AddressAnswer)},
        (404, *STARTS),
        (RUN_ID, KEY),
        AnswerBody,
    ),
    *(
        Operation(
            "post",
            f"{RUN}/{act}",
            "run",
            {202: (JSON, AddressAnswer)},
            (404, 409, 413, 415, 503),
            (RUN_ID,),
        )
        for act in ("cancel", "retry")
    ),
    Operation(
        "post",
        f"{RUN}/fork",
        "run",
        {202: (JSON, AddressAnswer)},
        (404, *STARTS),
        (RUN_ID, KEY),
        ForkBody,
    ),
    Operation(
        "get",
        CONVERSATIONS,
        "read",
        {200: (JSON, ConversationsAnswer)},
        (503,),
        (
            USER,
            in_query("q", "Only those with it in their title or a query.", maxLength=200),
            in_query("limit", "So many at most; 50 unless given.", **LIMIT),
            in_query(
                "after",
                "The `next` of the page before.",
                pattern="^[0-9TZ:.-]{1,40}~[A-Za-z0-9_-]{1,128}$",
            ),
        ),
    ),
    Operation(
        "post",
        CONVERSATIONS,
        "run",
        {201: (JSON, BegunConversation)},
        (413, 415, 503),
        body=ConversationBody,
    ),
    Operation(
        "get",
        CONVERSATION,
        "read",
        {200: (JSON, ConversationAnswer)},
        (404, 503),
        (
            CONVERSATION_ID,
            USER,
            in_query("limit", "So many exchanges at most; 50 unless given.", **LIMIT),
            in_query(
                "after",
                "The number of the last exchange that is known.",
                type="integer",
                minimum=0,
                maximum=999_999_999,
            ),
        ),
    ),
    Operation(
        "patch",
        CONVERSATION,
        "run",
        {200: (JSON, ChangedConversation)},
        (404, 413, 415, 503),
        (CONVERSATION_ID,),
        ChangeBody,
    ),
    Operation(
        "delete",
        CONVERSATION,
        "run",
        {204: None},
        (404, 409, 503),
        (CONVERSATION_ID, USER, in_query("cancel", "End its run first.", **FLAG)),
    ),
    Operation(
        "post",
        f"{CONVERSATION}/fork",
        "run",
        {201: (JSON, BegunConversation)},
        (404, 409, 413, 415, 503),
        (CONVERSATION_ID,),
        ForkConversationBody,
    ),
    Operation(
        "get",
        f"{CONVERSATION}/export",
        "read",
        {200: (MARKDOWN, ExportAnswer)},
        (404, 503),
        (CONVERSATION_ID, USER, in_query("format", "json unless given.", enum=["json", "md"])),
    ),
    Operation(
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
    Operation("get", GRANTS, "answer", {200: (JSON, GrantsAnswer)}, (503,)),
    Operation(
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
    Operation("get", "/health", None, {200: (JSON, HealthAnswer)}),
    Operation("get", "/ready", None, {200: (JSON, ReadyAnswer), 503: (JSON, NotReadyAnswer)}),
    Operation(
        "get",
        "/metrics",
        "read",
        {200: (TEXT, MetricsAnswer)},
        (),
        (in_query("format", "prometheus unless given.", enum=["prometheus", "json"]),),
    ),
    Operation("get", "/openapi.json", "read", {200: (JSON, dict[str, Any])}),
)
