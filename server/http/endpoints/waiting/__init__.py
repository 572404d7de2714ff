"""The operations on runs that wait for a person: `inbox` (their list, and who looks at them)."""

from server.http.endpoints.waiting import inbox
from server.http.openapi.parameters import (
    AFTER,
    AGENT,
    ASKED_TOOL,
    INBOX_LIMIT,
    OWNER,
    query_parameter,
)
from server.http.openapi.waiting import InboxAnswer, ViewersAnswer
from server.http.operations import API, BODY, get_operation, post_operation

WAITING = (
    get_operation(
        f"{API}/inbox",
        "read",
        inbox.list_inbox,
        InboxAnswer,
        (404, 503),
        AGENT,
        OWNER,
        ASKED_TOOL,
        query_parameter("limit", "So many at most.", **INBOX_LIMIT),
        AFTER,
    ),
    post_operation(
        f"{API}/runs/{{run_id}}/viewers",
        "read",
        inbox.announce_viewer,
        200,
        ViewersAnswer,
        (404, *BODY, 503),
        inbox.ViewerBody,
    ),
)
