"""Runs: started, resumed, followed, cancelled."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.errors import StoreUnavailable
from crew.journal.wire import result_in, result_of
from crew.runs.errors import AlreadyStarted
from crew.runs.forks import ForkPoint
from server.http.bodies import ForkBody
from server.http.callers.rights import caller_of, own_run, require, token_limits
from server.http.endpoints.starting import (
    REPLAYED,
    Started,
    answer_with_attached,
    goes_on,
    open_stream,
    own_stream,
    start_or_resume,
    start_requested,
    wait_for_end,
)
from server.http.errors import HttpProblem
from server.http.idempotency import idempotency_key
from server.http.parameters import parse_event_id, parse_parameters
from server.http.reading import parse_body, require_no_body
from server.http.requests import ForkRequest, followed_run, parse_answer, parse_start, refuse_head
from server.http.responses import (
    JsonResponse,
    accepted,
    describe_run,
)
from server.http.services import Services, services_of
from server.http.sse import EventForm, EventStream, cannot_read

LAST_EVENT_ID = "Last-Event-ID"


async def stream(request: Request) -> EventStream | Response:
    """Answer GET, POST /api/crew/stream: start or resume a run and stream its events as SSE.

    GET takes `q` (text, or the JSON of a body), `run_id`, `resume_agent_id`, `priority`,
    `deltas=1` and `idempotency_key`; with `run_id` and without `q` it follows that run from its
    start. With the header `Last-Event-ID` it starts nothing, and continues that run's stream;
    204 where nothing more comes. POST takes a QueryBody and may have an `Idempotency-Key`.
    """
    refuse_head(request)
    if (last := request.headers.get("last-event-id")) is not None:
        require(request, "read")
        run_id, after = parse_event_id(last, None, LAST_EVENT_ID)
        deltas = request.query_params.get("deltas") in ("1", "true")
        return await _continue(request, run_id, after, LAST_EVENT_ID, deltas=deltas, ends=True)
    if request.method == "GET" and (followed := followed_run(request)) is not None:
        require(request, "read")
        run_id, deltas = followed
        await own_stream(request, run_id)
        return open_stream(request, run_id, 0, EventForm(run_id), deltas=deltas)
    token_limits(request).check_stream(caller_of(request).limited_as)
    started = await start_requested(request)
    return open_stream(
        request,
        started.run_id,
        started.before,
        EventForm(started.run_id),
        deltas=started.deltas,
        segment=started.before,
        headers=started.headers,
    )


async def run_to_end(request: Request) -> Response:
    """Answer POST /api/crew/run: start or resume a run; one JSON document at its end or pause.

    Takes a QueryBody; may have an `Idempotency-Key`. Where the server stops before the run ends, a
    503 has its `run_id` and address.
    """
    started = await start_requested(request)
    result = await wait_for_end(request, started, _result(services_of(request), started))
    if isinstance(result, Response):
        return result
    return JsonResponse(result, headers=REPLAYED if started.replayed else None)


async def start_run(request: Request) -> Response:
    """Answer POST /api/crew/runs: start a run by a StartBody; 202 with its address."""
    services = services_of(request)
    agents, caller = frozenset(services.runs.crew.agents), caller_of(request)
    asked = await parse_start(request, services.settings, agents, caller)
    started = await start_or_resume(request, asked)
    return accepted(started.run_id, REPLAYED if started.replayed else None)


async def show_run(request: Request) -> Response:
    """Answer GET /api/crew/runs/{id}: one run with its result, and what it waits for."""
    row = await own_run(request, request.path_params["run_id"])
    return JsonResponse(describe_run(row, await services_of(request).runs.pause_of(row)))


async def events(request: Request) -> EventStream | Response:
    """Answer GET /api/crew/runs/{id}/events: a run's events as SSE, all or those after one.

    Takes `after` (an event's id or number) and `deltas=1`, or the header `Last-Event-ID`; 204 where
    nothing more comes.
    """
    refuse_head(request)
    run_id = request.path_params["run_id"]
    given = parse_parameters(request)
    deltas = given["deltas"]
    for field, text in (
        (LAST_EVENT_ID, request.headers.get("last-event-id")),
        ("after", given.get("after")),
    ):
        if text is not None:
            _, after = parse_event_id(text, run_id, field)
            return await _continue(request, run_id, after, field, deltas=deltas)
    await own_stream(request, run_id)
    return open_stream(request, run_id, 0, EventForm(run_id), deltas=deltas)


async def resume_run(request: Request) -> Response:
    """Answer POST /api/crew/runs/{id}/resume: answer a pause; 202.

    Takes an AnswerBody; may have an `Idempotency-Key`.
    """
    services, run_id = services_of(request), request.path_params["run_id"]
    row = await own_run(request, run_id)
    asked = await parse_answer(request, run_id, services.settings, caller_of(request))
    key = idempotency_key(request, asked)
    try:
        answer = await answer_with_attached(request, row, asked, key)
        entry = services.auditor.entry(request, "answer", detail=answer.decides)
        await services.runs.resume(run_id, answer, request.state.request_id, key, entry=entry)
    except AlreadyStarted as error:
        return accepted(error.record.run_id, REPLAYED)
    return accepted(run_id)


async def cancel_run(request: Request) -> Response:
    """Answer POST /api/crew/runs/{id}/cancel: end a run; 202."""
    services, run_id = services_of(request), request.path_params["run_id"]
    await own_run(request, run_id)
    await require_no_body(request, services.settings, "cancel")
    await services.runs.cancel(run_id, request.state.request_id)
    await services.auditor.record(request, "cancel", run_id)
    return accepted(run_id)


async def retry_run(request: Request) -> Response:
    """Answer POST /api/crew/runs/{id}/retry: make the step that failed again; 202."""
    services, run_id = services_of(request), request.path_params["run_id"]
    await own_run(request, run_id)
    await require_no_body(request, services.settings, "retry")
    entry = services.auditor.entry(request, "retry")
    await services.runs.retry(run_id, request.state.request_id, entry)
    return accepted(run_id)


async def fork_run(request: Request) -> Response:
    """Answer POST /api/crew/runs/{id}/fork: begin another run with its first events; 202.

    Takes a ForkBody; may have an `Idempotency-Key`. The answer has the address of the new run.
    """
    services, run_id = services_of(request), request.path_params["run_id"]
    await own_run(request, run_id)
    body = await parse_body(request, services.settings, ForkBody)
    caller, request_id = caller_of(request), request.state.request_id
    point = ForkPoint(body.after, body.says, body.current)
    key = idempotency_key(request, ForkRequest(run_id, point))
    most = caller.max_priority
    entry = services.auditor.entry(request, "fork", detail=f"{run_id}:{body.after}")
    try:
        forked = await services.runs.fork(
            run_id, point, request_id, key, caller.owner, max_priority=most, entry=entry
        )
    except AlreadyStarted as error:
        return accepted(error.record.run_id, REPLAYED)
    return accepted(forked.id)


async def _result(services: Services, started: Started) -> dict[str, Any]:
    """Wait for the end of a segment; its result."""
    runs = services.runs
    if started.run is not None:
        return result_of(await started.run.outcome())
    async for event in runs.follow(started.run_id, started.before):
        if event is not None and (result := result_in(event)) is not None:
            return result
    row = await runs.row(started.run_id)
    if row.status == "running" and runs.draining:
        raise goes_on(started.run_id)
    if row.status == "running":
        raise HttpProblem(
            409,
            f"run {row.run_id} was left, and nobody resumes it; "
            "the log says why, and it can be cancelled",
        )
    return result_of(row)


async def _continue(
    request: Request,
    run_id: str,
    after: int,
    field: str,
    *,
    deltas: bool,
    ends: bool = False,
) -> EventStream | Response:
    """Continue a stream after event `after`; 204 when there is nothing more to come."""
    services = services_of(request)
    resumes = services.metrics.resumes
    try:
        row = await own_stream(request, run_id)
        newest = await services.runs.last_seq(run_id)
    except StoreUnavailable:
        if field != LAST_EVENT_ID:
            raise
        return cannot_read()
    if after > newest:
        resumes.labels("refused").inc()
        text = f"{run_id}:{after} is ahead of the newest event, {newest}"
        raise HttpProblem(400, f"{field}: {text}", [(field, "is ahead of the log")])
    if after == newest and row.status != "running":
        resumes.labels("up_to_date").inc()
        return Response(status_code=204)
    resumes.labels("resumed").inc()
    segment = after if ends else None
    return open_stream(request, run_id, after, EventForm(run_id), deltas=deltas, segment=segment)
