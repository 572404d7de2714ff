"""Runs start, or go on with an answer, as a request asks for it."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from agents.messages import Attachment
from crew.journal.query import Answer, IdempotencyKey, Source
from crew.journal.records.rows import RunRow
from crew.runs.documents.attaching import GivenAttachment, attach
from crew.runs.errors import AlreadyStarted, UnknownRun, key_taken
from crew.runs.run import Run
from server.http.callers.rights import caller_of, own_run, require, token_limits
from server.http.errors import RETRY_AFTER, HttpProblem
from server.http.idempotency import idempotency_key, owned_key, ticket_key
from server.http.requests import (
    ResumeRequest,
    RunRequest,
    StartRequest,
    parse_run_request,
    source_of,
)
from server.http.responses import run_address
from server.http.services import services_of
from server.http.sse import EventStream, StreamForm

T = TypeVar("T")
CLIENT_GONE = 499
# of a request whose like has started what it asks for before
REPLAYED = {"Idempotency-Replayed": "true"}


@dataclass(frozen=True, slots=True)
class Started:
    """The segment of a run that a request, or its like before it, has started."""

    run_id: str
    # the number of the event before it
    before: int
    deltas: bool
    # None: another process plays it, or it has ended
    run: Run | None = None
    # an earlier request has started it
    replayed: bool = False

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What an answer says of that."""
        given = REPLAYED if self.replayed else {}
        return [(name.lower().encode(), value.encode()) for name, value in given.items()]


async def start_requested(request: Request) -> Started:
    """Start or resume what a request asks for."""
    services = services_of(request)
    agents, caller = frozenset(services.runs.crew.agents), caller_of(request)
    asked = await parse_run_request(request, services.settings, agents, caller)
    return await start_or_resume(request, asked)


async def start_or_resume(
    request: Request,
    wanted: RunRequest,
    own_key: IdempotencyKey | None = None,
    source: Source | None = None,
) -> Started:
    """Start or resume a run.

    Args:
        request: that comes with it.
        wanted: a start, or an answer.
        own_key: in place of the one that follows from the request.
        source: what starts it; None: the request says it.
    """
    services, request_id = services_of(request), request.state.request_id
    runs, caller = services.runs, caller_of(request)
    try:
        match wanted:
            case StartRequest(query, given):
                require(request, "run")
                if caller.ticket is not None and caller.ticket.run_id is not None:
                    raise HttpProblem(403, "ticket: it is for a run; this starts one")
                key, deltas = own_key or idempotency_key(request, wanted), query.deltas
                if given:
                    place = (query.user_id, query.conversation_id)
                    attached = await _attach(request, given, key, *place)
                    query = replace(query, attachments=attached)
                run = await runs.start(
                    query,
                    request_id,
                    key,
                    caller.owner,
                    by=caller.name,
                    may_answer="answer" in caller.scopes,
                    entry=services.auditor.entry(request, "start"),
                    source=source or source_of(request),
                )
            case ResumeRequest(run_id, answer):
                require(request, "answer")
                row = await (own_run if caller.ticket is None else own_stream)(request, run_id)
                if answer.decides and caller.ticket is not None and caller.ticket.in_url:
                    text = "it is in the address: a decision is a POST that shows it as a token"
                    raise HttpProblem(403, f"ticket: {text}")
                key, deltas = own_key or idempotency_key(request, wanted), answer.deltas
                answer = await answer_with_attached(request, row, wanted, key)
                is_post = request.method == "POST"
                entry = services.auditor.entry(request, "answer", detail=answer.decides)
                run = await runs.resume(
                    run_id, answer, request_id, key, may_decide=is_post, entry=entry
                )
    except AlreadyStarted as error:
        return replayed_start(request, error, deltas=deltas)
    return Started(run.id, run.before, deltas, run if run.is_played_here else None)


def replayed_start(request: Request, error: AlreadyStarted, *, deltas: bool) -> Started:
    """Return what an earlier request with the same key has started."""
    record = error.record
    live = services_of(request).runs.live.get(record.run_id)
    is_same = live is not None and live.is_played_here and live.before == record.before
    return Started(record.run_id, record.before, deltas, live if is_same else None, replayed=True)


async def answer_with_attached(
    request: Request, row: RunRow, asked: ResumeRequest, key: IdempotencyKey | None
) -> Answer:
    """Return an answer with what is attached to it; raises AlreadyStarted and KeyReused."""
    if not asked.given:
        return asked.answer
    attached = await _attach(request, asked.given, key, row.user_id, row.conversation_id)
    return replace(asked.answer, attachments=attached)


async def _attach(
    request: Request,
    given: Sequence[GivenAttachment],
    key: IdempotencyKey | None,
    user_id: str,
    conversation_id: str,
) -> tuple[Attachment, ...]:
    """Keep what is attached; of a request that is made again nothing is."""
    runs, who = services_of(request).runs, caller_of(request).owner
    if key is not None and (record := await runs.store.idempotency_record(key.key)):
        raise key_taken(key, record)
    return await attach(runs.documents, given, who, user_id, conversation_id)


async def own_stream(request: Request, run_id: str) -> RunRow:
    """Return a run that the caller, or its ticket, may follow; raises UnknownRun."""
    row, ticket = await own_run(request, run_id), caller_of(request).ticket
    if ticket is None or ticket.place is not None or ticket.run_id == run_id:
        return row
    if ticket.run_id is None:
        # one that it has started
        key = owned_key(caller_of(request), ticket_key(ticket))
        record = await services_of(request).runs.store.idempotency_record(key)
        if record is not None and record.run_id == run_id:
            return row
    raise UnknownRun(run_id)


def open_stream(
    request: Request,
    run_id: str,
    after: int,
    form: StreamForm,
    *,
    deltas: bool,
    segment: int | None = None,
    needed: bool | None = None,
    headers: Sequence[tuple[bytes, bytes]] = (),
) -> EventStream:
    """Return a stream of the caller, see EventStream; raises HttpProblem for too many."""
    services, limits = services_of(request), token_limits(request)
    name = caller_of(request).limited_as
    limits.check_stream(name)
    return EventStream(
        services.runs,
        services.listeners,
        run_id,
        after,
        form,
        deltas=deltas,
        slot=limits.stream(name),
        segment=segment,
        needed=needed,
        headers=headers,
    )


async def wait_for_end(
    request: Request, started: Started, ending: Coroutine[Any, Any, T]
) -> T | Response:
    """Wait for the end of a segment, which needs the client until then.

    Args:
        request: of the client.
        started: the segment.
        ending: waits for the end, and returns what came of it.

    Returns:
        That; or a response for a client that has gone.

    Raises:
        HttpProblem: the server goes down, and the run goes on.
    """
    services = services_of(request)
    with services.listeners.listen(started.run_id, needed=True) as listening:
        gone = asyncio.ensure_future(_client_gone(request))
        ended = asyncio.ensure_future(ending)
        try:
            await asyncio.wait({gone, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                return Response(status_code=CLIENT_GONE)
            listening.over = True
            return ended.result()
        except asyncio.CancelledError:
            if not ended.cancelled():
                # the request itself is cancelled
                raise
            # the run was left for the next process
            raise goes_on(started.run_id) from None
        finally:
            gone.cancel()
            ended.cancel()


def goes_on(run_id: str) -> HttpProblem:
    """Answer a client that waits while this server goes down: the accepted run goes on."""
    address = run_address(run_id)
    detail = f"this server is going down, and run {run_id} goes on: do not start it again, but ask"
    headers = {**RETRY_AFTER, "Location": address["url"]}
    return HttpProblem(503, f"{detail} {address['url']}", headers=headers, more=address)


async def _client_gone(request: Request) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
