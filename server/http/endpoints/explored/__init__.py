"""The operations on stored runs, and on what starts them.

`looking` (search, compare, export), `ending` (deleted, cancelled), `audit`, `automation`
(schedules, hooks, channels), `acting` (what people do with these), `bodies` (of requests).
"""

from typing import Any

from crew.journal.query import ID
from crew.routing.render import RENDERERS
from server.http.endpoints import crew
from server.http.endpoints.explored import acting, audit, automation, ending, looking
from server.http.endpoints.explored.bodies import MatchingRunsBody, PausedBody
from server.http.openapi.answers import AddressAnswer, IgnoredAnswer
from server.http.openapi.explored import (
    AuditAnswer,
    CancelledAnswer,
    ChannelsAnswer,
    ComparisonAnswer,
    DeletedAnswer,
    ExportedRun,
    HooksAnswer,
    ScheduleAnswer,
    SchedulesAnswer,
    SearchAnswer,
    TestAnswer,
)
from server.http.openapi.parameters import AFTER, LIMIT, MOMENT, query_parameter
from server.http.operations import (
    API,
    BODY,
    HTML,
    JSON,
    MARKDOWN,
    PLAIN,
    ApiOperation,
    get_operation,
    post_operation,
)

OF_RUN: dict[str, Any] = {"pattern": f"^{ID}$", "wrong": "is no id of a run"}
RUN = f"{API}/runs/{{run_id}}"


EXPLORED = (
    # before the addresses of single runs, which it looks like
    post_operation(
        f"{API}/runs/delete",
        "run",
        ending.delete_matching,
        200,
        DeletedAnswer,
        (409, *BODY, 503),
        MatchingRunsBody,
    ),
    post_operation(
        f"{API}/runs/cancel",
        "run",
        ending.cancel_matching,
        200,
        CancelledAnswer,
        (409, *BODY, 503),
        MatchingRunsBody,
    ),
    get_operation(
        f"{API}/search",
        "read",
        looking.search_runs,
        SearchAnswer,
        (404, 503),
        query_parameter(
            "q",
            "The words, in whatever case.",
            required=True,
            pattern=r"^[^\u0000]{2,200}$",
            wrong="has 2 to 200 characters, and no NUL",
        ),
        query_parameter("limit", "So many at most.", **{**LIMIT, "maximum": 200}),
        AFTER,
    ),
    get_operation(
        f"{API}/compare",
        "read",
        looking.compare_runs,
        ComparisonAnswer,
        (404, 503),
        query_parameter("a", "A run.", required=True, **OF_RUN),
        query_parameter("b", "The other run.", required=True, **OF_RUN),
    ),
    ApiOperation(
        "get",
        f"{RUN}/export",
        "read",
        looking.export_run,
        {200: (f"{MARKDOWN}, {HTML}", ExportedRun)},
        (404, 503),
        (
            query_parameter(
                "format", "Of the document.", enum=["json", "md", "html"], default="json"
            ),
        ),
    ),
    ApiOperation("delete", RUN, "run", ending.delete_run, {204: None}, (404, 409, 503)),
    get_operation(f"{API}/schedules", "read", automation.show_schedules, SchedulesAnswer, (503,)),
    post_operation(
        f"{API}/schedules/{{name}}/run",
        "admin",
        acting.run_schedule,
        202,
        AddressAnswer,
        (402, 404, 409, 422, 429, 503),
    ),
    post_operation(
        f"{API}/schedules/{{name}}/pause",
        "admin",
        acting.pause_or_resume,
        200,
        ScheduleAnswer,
        (404, *BODY, 503),
        PausedBody,
    ),
    get_operation(f"{API}/hooks", "read", automation.show_hooks, HooksAnswer, (503,)),
    ApiOperation(
        "post",
        f"{API}/hooks/{{name}}/test",
        "admin",
        acting.test_hook,
        {202: (JSON, AddressAnswer), 200: (JSON, IgnoredAnswer)},
        (402, 404, *BODY, 422, 429, 503),
        body=dict[str, Any],
    ),
    get_operation(f"{API}/channels", "read", automation.show_channels, ChannelsAnswer, (503,)),
    post_operation(
        f"{API}/channels/{{name}}/test",
        "admin",
        acting.test_channel,
        200,
        TestAnswer,
        (404, 503),
    ),
    ApiOperation(
        "get",
        f"{API}/graph",
        "read",
        crew.show_graph,
        {200: (PLAIN, None)},
        (),
        (query_parameter("format", "Of the text.", enum=list(RENDERERS), default="text"),),
    ),
    get_operation(
        f"{API}/audit",
        "admin",
        audit.show_audit,
        AuditAnswer,
        (503,),
        query_parameter("action", "Only this one.", enum=list(audit.ACTIONS)),
        query_parameter("run_id", "Only what is about it.", **OF_RUN),
        query_parameter("name", "Only what this token, or account, did."),
        query_parameter("since", "Only what was done then or later.", **MOMENT),
        query_parameter("until", "Only what was done before.", **MOMENT),
        query_parameter("limit", "So many at most.", **{**LIMIT, "maximum": 1000}),
    ),
)
