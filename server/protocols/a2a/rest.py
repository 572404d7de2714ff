"""The binding to HTTP and JSON (`/a2a/rest`)."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crew.errors import CrewError
from server.http.errors import HttpProblem
from server.http.responses import JsonResponse
from server.http.sse import EventStream
from server.protocols.a2a.card import REST
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
from server.protocols.a2a.problems import INVALID_PARAMS, NO_PUSH, UNSUPPORTED, A2aError
from server.protocols.clients import read_object
from server.protocols.folds import data_line

Answer = Callable[[Request], Awaitable[Any]]
# of a2a's own; a client that does not name it gets plain JSON
OWN_TYPE = "application/a2a+json"
NUMBERS = frozenset({"pageSize", "historyLength"})


def rest_routes() -> list[Route]:
    """Return the routes of the binding."""
    task, push = f"{REST}/tasks/{{id}}", f"{REST}/tasks/{{id}}/pushNotificationConfigs"
    found: list[tuple[str, str, Answer]] = [
        ("POST", f"{REST}/message:send", _send),
        ("POST", f"{REST}/message:stream", _stream),
        ("GET", f"{REST}/tasks", _list),
        ("POST", f"{task}:cancel", _cancel),
        ("POST", f"{task}:subscribe", _subscribe),
        ("GET", f"{task}:subscribe", _subscribe),
        ("GET", task, _get),
        ("GET", f"{REST}/extendedAgentCard", _no_card),
        ("GET", push, _no_push),
        ("POST", push, _no_push),
        ("GET", f"{push}/{{config}}", _no_push),
        ("DELETE", f"{push}/{{config}}", _no_push),
    ]
    by_path: dict[str, dict[str, Answer]] = {}
    for method, path, answer in found:
        by_path.setdefault(path, {})[method] = answer
    return [Route(path, _endpoint(one), methods=list(one)) for path, one in by_path.items()]


def _endpoint(answers: dict[str, Answer]) -> Answer:
    async def endpoint(request: Request) -> Response | EventStream:
        try:
            check_version(request)
            answer = answers["GET" if request.method == "HEAD" else request.method]
            result = await answer(request)
        except (A2aError, HttpProblem, CrewError) as error:
            found = await error_of(request, error)
            return JsonResponse(found.rest(), found.kind.status)
        if isinstance(result, Response | EventStream):
            return result
        takes = request.headers.get("accept", "")
        return JsonResponse(result, media_type=OWN_TYPE if OWN_TYPE in takes else None)

    return endpoint


async def _send(request: Request) -> Any:
    return await send_message(request, await read_object(request, VERSION))


async def _stream(request: Request) -> EventStream:
    return await stream_message(request, await read_object(request, VERSION), data_line, _fail)


async def _list(request: Request) -> Any:
    return await list_tasks(request, _parameters(request))


async def _get(request: Request) -> Any:
    return await get_task(request, {**_parameters(request), "id": request.path_params["id"]})


async def _cancel(request: Request) -> Any:
    return await cancel_task(request, {"id": request.path_params["id"]})


async def _subscribe(request: Request) -> EventStream:
    return await subscribe(request, {"id": request.path_params["id"]}, data_line, _fail)


async def _no_card(request: Request) -> Any:
    raise A2aError(UNSUPPORTED, "there is no extended card")


async def _no_push(request: Request) -> Any:
    raise A2aError(NO_PUSH, "push notifications are not offered")


def _parameters(request: Request) -> dict[str, Any]:
    """Return the query string with values of their kinds; raises A2aError."""
    found: dict[str, Any] = dict(request.query_params)
    for name in NUMBERS & found.keys():
        text = found[name]
        if not text.isascii() or not text.removeprefix("-").isdecimal() or len(text) > 9:
            raise A2aError(INVALID_PARAMS, f"{name}: is a number")
        found[name] = int(text)
    if (flag := found.get("includeArtifacts")) is not None:
        found["includeArtifacts"] = {"true": True, "false": False}.get(flag, flag)
    return found


def _fail(error: A2aError) -> bytes:
    return data_line(error.rest())
