"""The API: each operation once. Routes, scopes, names of parameters and the document follow."""

from typing import Any, get_args

from crew.journal.events import RunStatus
from crew.journal.query import ID, SourceKind
from server.http.bodies import (
    NO_TIME,
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
from server.http.callers.rights import Endpoint
from server.http.endpoints import (
    conversations,
    crew,
    grants,
    health,
    hooks,
    lists,
    openapi,
    runs,
    tickets,
)
from server.http.endpoints.conversations import CURSOR
from server.http.openapi import answers
from server.http.openapi.conversations import (
    BegunConversation,
    ChangedConversation,
    ConversationAnswer,
    ConversationsAnswer,
    ExportAnswer,
)
from server.http.openapi.parameters import (
    AFTER,
    EVENT_PARAMETERS,
    FLAG,
    INBOX_LIMIT,
    KEY,
    LIMIT,
    STREAM_PARAMETERS,
    TEXT,
    USER,
    Parameter,
    query_parameter,
)
from server.http.operations import JSON, MARKDOWN, PLAIN, SSE, Answers, ApiOperation
from server.tokens import Scope

API = "/api/crew"
RUN = f"{API}/runs/{{run_id}}"
CONVERSATIONS = f"{API}/conversations"
CONVERSATION = f"{CONVERSATIONS}/{{conversation_id}}"
# of a body, and of what starts or answers a run
BODY = (413, 415)
STARTS = (409, *BODY, 422, 503)
STREAM: Answers = {200: (SSE, None), 204: None}
KEYED = (KEY,)
MOMENT: dict[str, Any] = {"pattern": f"^{TIME}$", "wrong": NO_TIME}


def _get(
    path: str,
    scope: Scope | None,
    endpoint: Endpoint,
    answer: Any,
    problems: tuple[int, ...] = (),
    *parameters: Parameter,
) -> ApiOperation:
    return ApiOperation("get", path, scope, endpoint, {200: (JSON, answer)}, problems, parameters)


def _post(
    path: str,
    scope: Scope,
    endpoint: Endpoint,
    status: int,
    answer: Any,
    problems: tuple[int, ...],
    body: Any = None,
    **more: Any,
) -> ApiOperation:
    answered = {status: (JSON, answer)}
    return ApiOperation("post", path, scope, endpoint, answered, problems, body=body, **more)


OPERATIONS = (
    ApiOperation(
        "get",
        f"{API}/stream",
        "run",
        runs.stream,
        STREAM,
        (404, 405, 409, 422, 503),
        STREAM_PARAMETERS,
        checks_scope=True,
    ),
    ApiOperation(
        "post",
        f"{API}/stream",
        "run",
        runs.stream,
        STREAM,
        (404, *STARTS),
        KEYED,
        QueryBody,
        checks_scope=True,
    ),
    _post(
        f"{API}/run",
        "run",
        runs.run_to_end,
        200,
        answers.ResultAnswer,
        (404, *STARTS),
        QueryBody,
        parameters=KEYED,
        checks_scope=True,
    ),
    _get(
        API,
        "read",
        crew.show_crew,
        answers.CrewAnswer,
        (),
        query_parameter("prompts", "With the system prompts.", **FLAG),
    ),
    _get(f"{API}/tools", "read", crew.show_tools, answers.ToolsAnswer),
    _get(f"{API}/models", "read", crew.show_models, answers.ClientModelsAnswer),
    _post(f"{API}/reload", "admin", crew.reload, 200, answers.ReloadAnswer, (*BODY, 422, 503)),
    _post(
        f"{API}/tickets",
        "read",
        tickets.make,
        201,
        answers.TicketAnswer,
        (404, *BODY),
        TicketBody,
        checks_scope=True,
    ),
    _post(
        f"{API}/runs",
        "run",
        runs.start_run,
        202,
        answers.AddressAnswer,
        STARTS,
        StartBody,
        parameters=KEYED,
        checks_scope=True,
    ),
    _get(
        f"{API}/runs",
        "read",
        lists.list_runs,
        answers.RunsAnswer,
        (404, 503),
        query_parameter("status", "Only those with it.", enum=list(get_args(RunStatus))),
        query_parameter("source", "Only those it started.", enum=list(get_args(SourceKind))),
        query_parameter(
            "agent_id",
            "Only those in which it spoke last, or asks.",
            pattern=ID,
            wrong="is no id of an agent",
        ),
        query_parameter("text", "Only those with it in their query, in whatever case.", **TEXT),
        query_parameter("since", "Only those started then or later.", **MOMENT),
        query_parameter("until", "Only those started before.", **MOMENT),
        query_parameter("limit", "So many at most.", **LIMIT),
        AFTER,
    ),
    _get(
        f"{API}/inbox",
        "read",
        lists.list_inbox,
        answers.InboxAnswer,
        (404, 503),
        query_parameter("limit", "So many at most.", **INBOX_LIMIT),
        AFTER,
    ),
    _get(RUN, "read", runs.show_run, answers.RunAnswer, (404, 503)),
    ApiOperation(
        "get", f"{RUN}/events", "read", runs.events, STREAM, (404, 405, 503), EVENT_PARAMETERS
    ),
    _post(
        f"{RUN}/resume",
        "answer",
        runs.resume_run,
        202,
        answers.AddressAnswer,
        (404, *STARTS),
        AnswerBody,
        parameters=KEYED,
    ),
    _post(
        f"{RUN}/cancel", "run", runs.cancel_run, 202, answers.AddressAnswer, (404, 409, *BODY, 503)
    ),
    _post(
        f"{RUN}/retry", "run", runs.retry_run, 202, answers.AddressAnswer, (404, 409, *BODY, 503)
    ),
    _post(
        f"{RUN}/fork",
        "run",
        runs.fork_run,
        202,
        answers.AddressAnswer,
        (404, *STARTS),
        ForkBody,
        parameters=KEYED,
    ),
    _get(
        CONVERSATIONS,
        "read",
        conversations.list_conversations,
        ConversationsAnswer,
        (404, 503),
        USER,
        query_parameter("q", "Only those with it in their title or a query.", **TEXT),
        query_parameter("limit", "So many at most.", **LIMIT),
        query_parameter(
            "after",
            "The `next` of the page before.",
            pattern=f"^{CURSOR}$",
            wrong="is no `next` of a page",
        ),
    ),
    _post(
        CONVERSATIONS,
        "run",
        conversations.create_conversation,
        201,
        BegunConversation,
        (404, *BODY, 503),
        ConversationBody,
    ),
    _get(
        CONVERSATION,
        "read",
        conversations.show_conversation,
        ConversationAnswer,
        (404, 503),
        USER,
        query_parameter("limit", "So many exchanges at most.", **LIMIT),
        query_parameter(
            "after",
            "The number of the last exchange that is known.",
            type="integer",
            minimum=0,
            maximum=999_999_999,
            default=0,
            wrong="is the number of an exchange",
        ),
    ),
    ApiOperation(
        "patch",
        CONVERSATION,
        "run",
        conversations.change_conversation,
        {200: (JSON, ChangedConversation)},
        (404, *BODY, 503),
        body=ChangeBody,
    ),
    ApiOperation(
        "delete",
        CONVERSATION,
        "run",
        conversations.delete_conversation,
        {204: None},
        (404, 409, 503),
        (USER, query_parameter("cancel", "End its run first.", **FLAG)),
    ),
    _post(
        f"{CONVERSATION}/fork",
        "run",
        conversations.fork_conversation,
        201,
        BegunConversation,
        (404, 409, *BODY, 503),
        ForkConversationBody,
    ),
    ApiOperation(
        "get",
        f"{CONVERSATION}/export",
        "read",
        conversations.export_conversation,
        {200: (MARKDOWN, ExportAnswer)},
        (404, 503),
        (USER, query_parameter("format", "Of the text.", enum=["json", "md"], default="json")),
    ),
    ApiOperation(
        "post",
        f"{API}/hooks/{{name}}",
        "hook",
        hooks.receive,
        {202: (JSON, answers.AddressAnswer), 200: (JSON, answers.IgnoredAnswer)},
        (404, *BODY, 422, 503),
        body=dict[str, Any],
    ),
    _get(f"{API}/grants", "answer", grants.list_grants, answers.GrantsAnswer, (503,)),
    ApiOperation(
        "delete",
        f"{API}/grants/{{grant_id}}",
        "answer",
        grants.revoke_grant,
        {204: None},
        (404, 503),
    ),
    _get("/health", None, health.health, answers.HealthAnswer),
    ApiOperation(
        "get",
        "/ready",
        None,
        health.ready,
        {200: (JSON, answers.ReadyAnswer), 503: (JSON, answers.NotReadyAnswer)},
    ),
    ApiOperation(
        "get",
        "/metrics",
        "read",
        health.metrics,
        {200: (PLAIN, answers.MetricsAnswer)},
        (),
        (
            query_parameter(
                "format", "Of the text.", enum=["prometheus", "json"], default="prometheus"
            ),
        ),
    ),
    _get("/openapi.json", "read", openapi.show_document, dict[str, Any]),
)
# a worker has these alone
WORKER_OPERATIONS = tuple(
    one for one in OPERATIONS if one.path in ("/health", "/ready", "/metrics")
)
