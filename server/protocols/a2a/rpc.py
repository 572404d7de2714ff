"""The binding to JSON-RPC (`POST /a2a`)."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.errors import CrewError
from server.http.errors import HttpProblem
from server.http.responses import JsonResponse
from server.http.sse import EventStream
from server.protocols.a2a.listing import list_tasks
from server.protocols.a2a.methods import (
    VERSION,
    cancel_task,
    check_version,
    error_of,
    get_task,
    send_message,
    stream_message,
    subscribe,
)
from server.protocols.a2a.problems import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    NO_PUSH,
    PARSE,
    UNSUPPORTED,
    A2aError,
    A2aKind,
)
from server.protocols.clients import read_object
from server.protocols.folds import data_line

PLAIN = {
    "SendMessage": send_message,
    "GetTask": get_task,
    "ListTasks": list_tasks,
    "CancelTask": cancel_task,
}
STREAMS = {"SendStreamingMessage": stream_message, "SubscribeToTask": subscribe}
NOT_OFFERED: dict[str, A2aKind] = {
    "GetExtendedAgentCard": UNSUPPORTED,
    "CreateTaskPushNotificationConfig": NO_PUSH,
    "GetTaskPushNotificationConfig": NO_PUSH,
    "ListTaskPushNotificationConfigs": NO_PUSH,
    "DeleteTaskPushNotificationConfig": NO_PUSH,
}


async def call_method(request: Request) -> Response | EventStream:
    """Answer POST /a2a: one call of JSON-RPC."""
    id_: Any = None
    try:
        try:
            data = await read_object(request, VERSION)
        except HttpProblem as problem:
            if problem.status != 400:
                raise
            kind = INVALID_REQUEST if "a JSON object" in problem.detail else PARSE
            raise A2aError(kind, problem.detail) from None
        id_ = data.get("id")
        if isinstance(id_, bool) or not isinstance(id_, str | int | float | None):
            id_ = None
            raise A2aError(INVALID_REQUEST, "id: must be a text or a number")
        return await _answer(request, data, id_)
    except (A2aError, HttpProblem, CrewError) as error:
        return JsonResponse((await error_of(request, error)).rpc(id_))


async def _answer(request: Request, data: dict[str, Any], id_: Any) -> Response | EventStream:
    method, params = data.get("method"), data.get("params")
    if data.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise A2aError(INVALID_REQUEST, 'must have jsonrpc "2.0" and a method')
    check_version(request)
    if method in NOT_OFFERED:
        raise A2aError(NOT_OFFERED[method], f"{method} is not offered here")
    if method not in PLAIN and method not in STREAMS:
        raise A2aError(NO_METHOD, f"there is no method {method[:100]}")
    if params is not None and not isinstance(params, dict):
        raise A2aError(INVALID_PARAMS, "params: must be an object")
    if method in STREAMS:

        def write(result: dict[str, Any]) -> bytes:
            return data_line({"jsonrpc": "2.0", "id": id_, "result": result})

        def fail(error: A2aError) -> bytes:
            return data_line(error.rpc(id_))

        return await STREAMS[method](request, params or {}, write, fail)
    result = await PLAIN[method](request, params or {})
    if isinstance(result, Response):
        return result
    return JsonResponse({"jsonrpc": "2.0", "id": id_, "result": result})
