"""The API: each operation once. Routes, scopes, names of parameters and the document follow."""

from typing import Any, get_args

from crew.journal.events import RunStatus
from crew.journal.query import SourceKind
from crew.journal.records.spent.costs import KEYS
from server.http.bodies import (
    AnswerBody,
    ForkBody,
    PotBody,
    QueryBody,
    ReplayBody,
    ReplaysBody,
    StartBody,
    TicketBody,
)
from server.http.endpoints import (
    crew,
    grants,
    health,
    hooks,
    lists,
    openapi,
    runs,
    tickets,
)
from server.http.endpoints.documents import DOCUMENTS
from server.http.endpoints.edited import EDITED
from server.http.endpoints.explored import EXPLORED
from server.http.endpoints.rehearsed import checked, kept, replays, why
from server.http.endpoints.remembered import REMEMBERED
from server.http.endpoints.spent import budgets, costs
from server.http.endpoints.waiting import WAITING
from server.http.openapi import answers
from server.http.openapi.costs import BudgetsAnswer, CostsAnswer, PotAnswer
from server.http.openapi.parameters import (
    AFTER,
    AGENT,
    EVENT_PARAMETERS,
    FLAG,
    KEY,
    LIMIT,
    MOMENT,
    PROMPTS,
    RUN_PARAMETERS,
    STREAM_PARAMETERS,
    TEXT,
    USAGE,
    query_parameter,
)
from server.http.openapi.rehearsed import (
    CheckedReload,
    NewestRehearsals,
    NewestReplays,
    RehearsalsAnswer,
    ReplayAnswer,
    ReplaysAddress,
    ReplaysAnswer,
    ReplaysEvent,
    WhyAnswer,
)
from server.http.operations import (
    API,
    BODY,
    JSON,
    NDJSON,
    PLAIN,
    SSE,
    YAML,
    Answers,
    ApiOperation,
    get_operation,
    post_operation,
)

RUN = f"{API}/runs/{{run_id}}"
# of a body, and of what starts or answers a run
STARTS = (402, 409, *BODY, 422, 503)
STREAM: Answers = {200: (SSE, None), 204: None}
KEYED = (KEY,)


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
    post_operation(
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
    get_operation(API, "read", crew.show_crew, answers.CrewAnswer, (), PROMPTS),
    get_operation(f"{API}/tools", "read", crew.show_tools, answers.ToolsAnswer, (503,), USAGE),
    get_operation(f"{API}/models", "read", crew.show_models, answers.ClientModelsAnswer),
    post_operation(
        f"{API}/reload",
        "admin",
        crew.reload_files,
        200,
        answers.ReloadAnswer | CheckedReload,
        (*BODY, 422, 503),
        parameters=(
            query_parameter("check", "Change nothing: say what a reload would come to.", **FLAG),
            query_parameter("force", "Whatever `reload_gate` says.", **FLAG),
        ),
    ),
    post_operation(
        f"{API}/tickets",
        "read",
        tickets.make,
        201,
        answers.TicketAnswer,
        (404, *BODY),
        TicketBody,
        checks_scope=True,
    ),
    post_operation(
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
    get_operation(
        f"{API}/runs",
        "read",
        lists.list_runs,
        answers.RunsAnswer,
        (404, 503),
        query_parameter("status", "Only those with it.", enum=list(get_args(RunStatus))),
        query_parameter("source", "Only those it started.", enum=list(get_args(SourceKind))),
        AGENT,
        query_parameter("text", "Only those with it in their query, in whatever case.", **TEXT),
        *RUN_PARAMETERS,
        query_parameter("since", "Only those started then or later.", **MOMENT),
        query_parameter("until", "Only those started before.", **MOMENT),
        query_parameter("limit", "So many at most.", **LIMIT),
        AFTER,
    ),
    *WAITING,
    *EXPLORED,
    get_operation(RUN, "read", runs.show_run, answers.RunAnswer, (404, 503)),
    ApiOperation(
        "get", f"{RUN}/events", "read", runs.events, STREAM, (404, 405, 503), EVENT_PARAMETERS
    ),
    post_operation(
        f"{RUN}/resume",
        "answer",
        runs.resume_run,
        202,
        answers.AddressAnswer,
        (404, *STARTS),
        AnswerBody,
        parameters=KEYED,
    ),
    post_operation(
        f"{RUN}/cancel", "run", runs.cancel_run, 202, answers.AddressAnswer, (404, 409, *BODY, 503)
    ),
    post_operation(
        f"{RUN}/retry",
        "run",
        runs.retry_run,
        202,
        answers.AddressAnswer,
        (402, 404, 409, *BODY, 503),
    ),
    post_operation(
        f"{RUN}/fork",
        "run",
        runs.fork_run,
        202,
        answers.AddressAnswer,
        (404, *STARTS),
        ForkBody,
        parameters=KEYED,
    ),
    post_operation(
        f"{RUN}/replay",
        "read",
        replays.replay_run,
        200,
        ReplayAnswer,
        (404, *BODY, 422),
        ReplayBody,
    ),
    get_operation(f"{API}/rehearsals", "read", checked.show_newest_rehearsals, NewestRehearsals),
    post_operation(
        f"{API}/rehearsals",
        "admin",
        checked.play_rehearsals,
        200,
        RehearsalsAnswer,
        (*BODY, 422, 503),
    ),
    get_operation(f"{API}/replays", "admin", replays.show_newest_replays, NewestReplays),
    post_operation(
        f"{API}/replays",
        "admin",
        replays.start_replays,
        202,
        ReplaysAddress,
        (404, 409, *BODY, 422),
        ReplaysBody,
    ),
    get_operation(
        f"{API}/replays/{{replays_id}}", "admin", replays.show_replays, ReplaysAnswer, (404,)
    ),
    ApiOperation(
        "get",
        f"{API}/replays/{{replays_id}}/events",
        "admin",
        replays.stream_replays,
        {200: (SSE, ReplaysEvent)},
        (404,),
    ),
    get_operation(
        f"{RUN}/why",
        "read",
        why.show_why,
        WhyAnswer,
        (404, 409, 503),
        query_parameter(
            "event", "Only why this event came.", type="integer", minimum=1, maximum=999_999_999
        ),
    ),
    *(
        ApiOperation("get", f"{RUN}/{name}", "read", endpoint, {200: (media, None)}, (404, 409))
        for name, endpoint, media in (
            ("cassette", kept.show_cassette, NDJSON),
            ("rehearsal", kept.show_rehearsal, YAML),
        )
    ),
    *REMEMBERED,
    *DOCUMENTS,
    *EDITED,
    ApiOperation(
        "post",
        f"{API}/hooks/{{name}}",
        "hook",
        hooks.receive,
        {202: (JSON, answers.AddressAnswer), 200: (JSON, answers.IgnoredAnswer)},
        (404, *BODY, 422, 503),
        body=dict[str, Any],
    ),
    get_operation(
        f"{API}/costs",
        "read",
        costs.show_costs,
        CostsAnswer,
        (503,),
        query_parameter(
            "by",
            f"Keys with commas between them: {', '.join(KEYS)}; agent,model unless given.",
            pattern=f"^({'|'.join(KEYS)})(,({'|'.join(KEYS)})){{0,{len(KEYS) - 1}}}$",
            wrong=f"is one of {', '.join(KEYS)}, or several with commas between them",
        ),
        query_parameter(
            "since",
            "Not longer ago, such as 12h or 7d.",
            pattern="^[0-9]{1,5}[mhd]$",
            wrong="is a length of time, such as 7d",
        ),
    ),
    get_operation(f"{API}/budgets", "read", budgets.show_budgets, BudgetsAnswer, (503,)),
    post_operation(
        f"{API}/budgets/{{name}}/{{pot:encoded}}",
        "admin",
        budgets.add_to_budget,
        200,
        PotAnswer,
        (404, *BODY, 422, 503),
        PotBody,
    ),
    get_operation(f"{API}/grants", "answer", grants.list_grants, answers.GrantsAnswer, (503,)),
    ApiOperation(
        "delete",
        f"{API}/grants/{{grant_id}}",
        "answer",
        grants.revoke_grant,
        {204: None},
        (404, 503),
    ),
    get_operation("/health", None, health.health, answers.HealthAnswer),
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
    get_operation("/openapi.json", "read", openapi.show_document, dict[str, Any]),
)
# a worker has these alone
WORKER_OPERATIONS = tuple(
    one for one in OPERATIONS if one.path in ("/health", "/ready", "/metrics")
)
