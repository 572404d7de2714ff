"""`POST /agui` and `GET /agui/{run_id}`: what AG-UI's clients send, and the streams they get."""

import re
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crew.errors import CrewError
from crew.journal.query import Source
from crew.journal.records.listing import RunFilter
from crew.runs.errors import ConversationAsks, NotPaused
from server.http.access import REQUEST_ID
from server.http.callers.rights import caller_of, own_run, require
from server.http.door import Door
from server.http.endpoints.starting import Started
from server.http.errors import HttpProblem, bad_request, problem_of
from server.http.parameters import parse_event_id
from server.http.requests import ResumeRequest, RunRequest, refuse_head
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.http.sse import HEADERS, EventStream
from server.protocols.agui.before import messages_before
from server.protocols.agui.fold import AguiFold
from server.protocols.agui.interrupts import answer_text, reply_to
from server.protocols.answers import pause_at, resume_with
from server.protocols.branches import branch_for, require_thread, thread_of
from server.protocols.clients import (
    ClientWords,
    begin_once,
    hear,
    kept_name,
    read_object,
    start_from,
)
from server.protocols.folds import FoldedForm, Frame, data_line, speech_of, stream_of
from server.protocols.pauses import (
    CallReply,
    answer_in_words,
    answer_with,
    parse_place,
    pause_calls,
)

PATH = "/agui"
# what a client may send that nothing here reads
UNREAD = ("tools", "state", "context", "forwardedProps", "parentRunId")
MAX_RESUMED = 1000


def open_agui() -> Door:
    """Return the door of AG-UI."""
    routes = [
        Route(PATH, run_agent, methods=["POST"]),
        Route(f"{PATH}/{{run_id}}", follow_agent, methods=["GET"]),
    ]
    return Door("agui", routes, (PATH,), refuse_agui, starts=re.compile(PATH))


def refuse_agui(problem: HttpProblem, path: str) -> Response:
    """Return a problem as a client of AG-UI reads it: its words are the body."""
    document = {"code": _code(problem.status), "message": problem.detail}
    return JsonResponse(document, problem.status, headers=dict(problem.headers or {}))


def _code(status: int) -> str:
    return {401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict"}.get(
        status, "refused" if status < 500 else "unavailable"
    )


async def run_agent(request: Request) -> Response | EventStream:
    """Answer POST /agui: a RunAgentInput begins a run, or answers its interrupts."""
    data = await read_object(request)
    thread_id, run_id = _name(data, "threadId"), _name(data, "runId")
    if REQUEST_ID.fullmatch(run_id) is None:
        # it is published with the segment, so that each process names it alike
        text = "is 1 to 128 of the characters A to Z, a to z, 0 to 9, . _ -"
        raise bad_request([("runId", text)])
    request.state.request_id = run_id
    # what no id may be is kept under another name; the client is sent its own
    kept = kept_name(request, thread_id) or thread_id
    heard = hear(request, data.get("messages", []))
    heard.ignore(data, UNREAD)

    async def decide() -> tuple[RunRequest, Source | None]:
        if data.get("resume"):
            return await _resumed(request, kept, data["resume"]), None
        await _require_no_pause(request, kept)
        branch = await branch_for(request, kept, heard.messages)
        return start_from(request, heard, branch, deltas=True)

    try:
        started = await begin_once(request, data, decide, ("agui", thread_id, run_id))
    except (HttpProblem, CrewError) as error:
        resumes = bool(data.get("resume"))
        return await _failed(request, error, thread_id, run_id, resumes=resumes)
    given = [one for one in data.get("messages", []) if isinstance(one.get("id"), str)]
    return _stream(request, started, thread_id, heard, given)


async def _require_no_pause(request: Request, thread_id: str) -> None:
    """Raise ConversationAsks where a run of a thread waits for its person."""
    services = services_of(request)
    if services.runs.crew.config.conversations is not None:
        # the conversation sees to it
        return
    wanted = RunFilter(owner=caller_of(request).owner, source_name=thread_id)
    for newest in await services.runs.store.rows(wanted, 1):
        if newest.status == "paused":
            raise ConversationAsks(newest.run_id, newest.asks or "an answer")


async def follow_agent(request: Request) -> Response | EventStream:
    """Answer GET /agui/{run_id}: the events of a run, behind `Last-Event-ID` or `after`."""
    refuse_head(request)
    require(request, "read")
    run_id = request.path_params["run_id"]
    row = await own_run(request, run_id)
    given = request.headers.get("last-event-id") or request.query_params.get("after")
    after = parse_event_id(given, run_id, "Last-Event-ID")[1] if given else 0
    newest = await services_of(request).runs.last_seq(run_id)
    if after > newest:
        raise bad_request([("Last-Event-ID", "is ahead of the log")])
    if after == newest and row.status != "running":
        return Response(status_code=204)
    thread_id = thread_of(row.conversation_id) or row.source_name or run_id
    # who comes back has its messages first, and then all that was written of the one under way
    messages = await messages_before(request, row)
    form = _form(request, run_id, thread_id, after, messages, comes_back=True)
    return stream_of(request, run_id, after, form, deltas=True, ends=False)


def _stream(
    request: Request,
    started: Started,
    thread_id: str,
    heard: ClientWords,
    given: Sequence[dict[str, Any]],
) -> EventStream:
    form = _form(request, started.run_id, thread_id, started.before, given)
    headers = [*heard.headers, *started.headers]
    return stream_of(request, started.run_id, started.before, form, deltas=True, headers=headers)


def _form(
    request: Request,
    run_id: str,
    thread_id: str,
    after: int,
    given: Sequence[dict[str, Any]] = (),
    *,
    comes_back: bool = False,
) -> FoldedForm:
    speech = speech_of(services_of(request).runs.crew)
    fold = AguiFold(run_id, thread_id, speech, given, after=after, hears=comes_back)

    def write(frame: Frame, place: int | None) -> bytes:
        head = b"id: %s:%d\n" % (run_id.encode(), place) if place is not None else b""
        return head + data_line(frame.document)

    def fail(text: str) -> bytes:
        error = {"type": "RUN_ERROR", "message": text, "code": "unavailable"}
        return data_line({**error, "metadata": {"crew": {"retryable": True}}})

    def head() -> bytes:
        has_begun = comes_back and after > 0
        return b"".join(data_line(one) for one in fold.coming_back()) if has_begun else b""

    return FoldedForm(fold, after, write, fail, head)


def _name(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise bad_request([(name, "is missing")])
    return value


async def _resumed(request: Request, thread_id: str, entries: Any) -> ResumeRequest:
    """Return what answers to interrupts come to: of one pause, and of all its calls."""
    if not isinstance(entries, list) or len(entries) > MAX_RESUMED:
        raise bad_request([("resume", "must be a list of answers")])
    by_id: dict[str, tuple[dict[str, Any], str]] = {}
    places = set()
    for number, entry in enumerate(entries):
        where = f"resume[{number}]"
        if not isinstance(entry, dict) or entry.get("status") not in ("resolved", "cancelled"):
            raise bad_request([(f"{where}.status", "is resolved or cancelled")])
        name = entry.get("interruptId")
        place = parse_place(name) if isinstance(name, str) else None
        if place is None:
            raise bad_request([(f"{where}.interruptId", "is no interrupt of a run")])
        if name in by_id:
            raise bad_request([(f"{where}.interruptId", "is answered twice")])
        places.add(place[:2])
        by_id[str(name)] = entry, where
    if len(places) != 1:
        raise bad_request([("resume", "all answers must be to the interrupts of one run")])
    ((run_id, seq),) = places
    row = await own_run(request, run_id)
    require_thread(row, thread_id)
    pause = await pause_at(request, run_id, seq)
    asked = pause_calls(run_id, pause, "")
    caller = caller_of(request)
    if missing := [one.id for one in asked if one.id not in by_id]:
        raise bad_request([("resume", f"must answer all interrupts; missing: {missing[0]}")])
    if not asked[0].is_about_call:
        text = answer_text(*by_id[asked[0].id])
        return resume_with(request, run_id, answer_in_words(text, seq, caller, deltas=True))
    replies: list[CallReply] = [reply_to(one, *by_id[one.id]) for one in asked]
    return resume_with(request, run_id, answer_with(replies, caller, deltas=True))


async def _failed(
    request: Request, error: Exception, thread_id: str, run_id: str, *, resumes: bool
) -> Response:
    """Return why nothing begins: as events, where it is about the thread's interrupts."""
    problem = await problem_of(request, error)
    if problem is None:
        raise error
    code = None
    if isinstance(error, ConversationAsks):
        code = "pending_interrupt"
    elif isinstance(error, NotPaused) or (resumes and problem.status == 409):
        code = "stale_interrupt"
    if code is None:
        raise problem
    begun = {"type": "RUN_STARTED", "threadId": thread_id, "runId": run_id}
    failed = {"type": "RUN_ERROR", "message": problem.detail, "code": code}
    headers = {name.decode(): value.decode() for name, value in HEADERS}
    return Response(data_line(begun) + data_line(failed), headers=headers)
