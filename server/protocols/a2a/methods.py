"""What can be done with tasks, in either binding."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from crew.errors import CrewError
from crew.journal.query import Source
from crew.journal.records.rows import RunRow
from crew.runs.errors import RunEnded
from server.http.access import REQUEST_ID
from server.http.bodies import AnswerBody
from server.http.callers.rights import caller_of, own_run, require
from server.http.endpoints.starting import Started
from server.http.errors import HttpProblem, problem_of
from server.http.openapi.parameters import query_parameter
from server.http.reading import check_body
from server.http.requests import ResumeRequest, RunRequest, answer_of_body, refuse_head
from server.http.services import services_of
from server.http.sse import EventStream
from server.protocols.a2a.fold import ENDED, STATES, TaskFold
from server.protocols.a2a.listing import MAX_HISTORY, read_number
from server.protocols.a2a.parts import name_in, read_parts
from server.protocols.a2a.problems import (
    INVALID_PARAMS,
    NO_PUSH,
    NO_TASK,
    NO_VERSION,
    NOT_CANCELABLE,
    UNAVAILABLE,
    UNSUPPORTED,
    A2aError,
)
from server.protocols.a2a.stored import context_of, fold_of, folded
from server.protocols.answers import resume_with
from server.protocols.clients import ClientWords, begin_once, start_from
from server.protocols.folds import FoldedForm, Frame, fold_to_end, stream_of

# makes bytes of a stream's response, and of an error that ends it
WriteResult = Callable[[dict[str, Any]], bytes]
WriteError = Callable[[A2aError], bytes]


# a client that cannot set a header says it so
VERSION = query_parameter("A2A-Version", "Of the protocol.")


def check_version(request: Request) -> None:
    """Raise A2aError for a version that is not known here."""
    given = request.headers.get("a2a-version") or request.query_params.get("A2A-Version")
    if given and given != "1.0" and not given.startswith("1.0."):
        raise A2aError(NO_VERSION, f"version {given[:20]} is not known here; 1.0 is")


async def error_of(request: Request, error: Exception) -> A2aError:
    """Return an error as A2A has it; raises a mistake of ours."""
    if isinstance(error, A2aError):
        return error
    problem = await problem_of(request, error)
    if problem is None:
        raise error
    return A2aError.of(problem)


async def send_message(request: Request, params: dict[str, Any]) -> dict[str, Any] | Response:
    """Send a message: begin a task, or answer one; the task when it has ended, or asks."""
    config = _configuration(params)
    at_once = config.get("returnImmediately", False)
    if not isinstance(at_once, bool):
        raise A2aError(INVALID_PARAMS, "configuration.returnImmediately: is true or false")
    history = _history(config)
    started = await _start(request, params)
    row = await services_of(request).runs.row(started.run_id)
    if at_once:
        return {"task": (await folded(request, row)).task(history)}
    fold = fold_of(request, row)
    ended = await fold_to_end(request, started, fold)
    return ended if isinstance(ended, Response) else {"task": fold.task(history)}


async def stream_message(
    request: Request, params: dict[str, Any], write: WriteResult, fail: WriteError
) -> EventStream:
    """Send a message, and stream what becomes of the task until it ends, or asks."""
    _history(_configuration(params))
    started = await _start(request, params)
    row = await services_of(request).runs.row(started.run_id)
    form = _form(fold_of(request, row), started.before, write, fail)
    return stream_of(request, started.run_id, started.before, form, deltas=False)


async def get_task(request: Request, params: dict[str, Any]) -> dict[str, Any]:
    """Return a task as it is now."""
    require(request, "read")
    history = _history(params)
    return (await folded(request, await _row(request, params))).task(history)


async def cancel_task(request: Request, params: dict[str, Any]) -> dict[str, Any]:
    """End a task that has not ended; returns it."""
    require(request, "run")
    row, services = await _row(request, params), services_of(request)
    if STATES[row.status] in ENDED:
        raise A2aError(NOT_CANCELABLE, f"task {row.run_id} has ended")
    try:
        await services.runs.cancel(row.run_id, request.state.request_id)
    except RunEnded as error:
        raise A2aError(NOT_CANCELABLE, str(error)) from None
    await services.auditor.record(request, "cancel", row.run_id)
    await services.runs.outcome(row.run_id)
    return (await folded(request, row)).task()


async def subscribe(
    request: Request, params: dict[str, Any], write: WriteResult, fail: WriteError
) -> EventStream:
    """Send a task as it is now, and what becomes of it, as a stream."""
    refuse_head(request)
    require(request, "read")
    row = await _row(request, params)
    if STATES[row.status] in ENDED:
        raise A2aError(UNSUPPORTED, f"task {row.run_id} has ended; GetTask has it")
    fold, newest = fold_of(request, row), await services_of(request).runs.last_seq(row.run_id)
    form = _form(fold, newest, write, fail, head=lambda: write({"task": fold.task()}))
    return stream_of(request, row.run_id, newest, form, deltas=False, ends=False)


def _form(
    fold: TaskFold,
    after: int,
    write: WriteResult,
    fail: WriteError,
    head: Callable[[], bytes] = bytes,
) -> FoldedForm:
    def write_frame(frame: Frame, place: int | None) -> bytes:
        return write(frame.document)

    def fail_stream(text: str) -> bytes:
        return fail(A2aError(UNAVAILABLE, text))

    return FoldedForm(fold, after, write_frame, fail_stream, head, heads_all=True)


def _configuration(params: dict[str, Any]) -> dict[str, Any]:
    config = params.get("configuration") or {}
    if not isinstance(config, dict):
        raise A2aError(INVALID_PARAMS, "configuration: must be an object")
    if config.get("taskPushNotificationConfig"):
        raise A2aError(NO_PUSH, "push notifications are not offered; subscribe to the task")
    return config


def _history(params: dict[str, Any]) -> int | None:
    if params.get("historyLength") is None:
        return None
    # the most that a client wants: fewer are no mistake
    return min(read_number(params, "historyLength", 0, 0, 2**31), MAX_HISTORY)


async def _row(request: Request, params: dict[str, Any]) -> RunRow:
    """Return the task of the caller that is named; raises A2aError."""
    task_id = name_in(params, "id") or name_in(params, "taskId")
    if task_id is None:
        raise A2aError(INVALID_PARAMS, "id: is missing")
    try:
        return await own_run(request, task_id)
    except CrewError as error:
        raise A2aError(NO_TASK, str(error)) from None


async def _start(request: Request, params: dict[str, Any]) -> Started:
    message = params.get("message")
    text, given = read_parts(message)
    assert isinstance(message, dict), "its parts were read"
    task_id, context = name_in(message, "taskId"), name_in(message, "contextId")
    id_ = message["messageId"]
    if REQUEST_ID.fullmatch(id_) is not None:
        # published with the segment, so that each process names the message alike
        request.state.request_id = id_

    async def decide() -> tuple[RunRequest, Source | None]:
        if task_id is not None:
            row = await _row(request, {"id": task_id})
            if context not in (None, context_of(row)):
                raise A2aError(INVALID_PARAMS, "message.contextId: is not that of the task")
            if STATES[row.status] in ENDED:
                raise A2aError(UNSUPPORTED, f"task {task_id} has ended; begin another one")
            return _answer(request, task_id, text, given), None
        # what a program sends as data is for the crew to read
        shown = [to_json(one, indent=1).decode() for one in given]
        said = "\n\n".join(one for one in (text, *shown) if one)
        words = ClientWords([("user", said)] if said else [])
        return start_from(request, words, context or _new_context(request), deltas=False)

    return await begin_once(request, message, decide, ("a2a", id_))


def _new_context(request: Request) -> str | None:
    """Return a name for a conversation that has none, where the crew keeps them."""
    if services_of(request).runs.crew.config.conversations is None:
        return None
    return f"a2a-{secrets.token_hex(8)}"


def _answer(request: Request, task_id: str, text: str, sent: Sequence[Any]) -> ResumeRequest:
    """Return the answer to a task that asks: words, or decisions as data."""
    data = sent[0] if sent else {}
    if len(sent) > 1 or not isinstance(data, dict):
        raise A2aError(INVALID_PARAMS, "message.parts: an answer has one object as data")
    given = {"query": text, **{key: one for key, one in data.items() if key != "text"}}
    if isinstance(data.get("text"), str):
        given["query"] = data["text"]
    try:
        body = check_body(AnswerBody, given)
    except HttpProblem as problem:
        raise A2aError(INVALID_PARAMS, problem.detail) from None
    if not body.query and body.decision is None and not body.decisions:
        raise A2aError(INVALID_PARAMS, "message.parts: has no answer")
    return resume_with(request, task_id, answer_of_body(body, caller_of(request)))
