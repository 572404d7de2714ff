"""`/v1/responses`: begun, shown, followed, cancelled; each is a segment of a run."""

import re
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.query import Source
from crew.journal.records.rows import PAGE
from crew.journal.replay import replay
from crew.journal.said import parts_in_words
from crew.journal.state import RunState
from crew.runs.errors import UnknownRun
from server.http.callers.rights import caller_of, own_run, require
from server.http.errors import HttpProblem, bad_request
from server.http.openapi.parameters import query_parameter
from server.http.requests import RunRequest, refuse_head
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.http.sse import EventStream
from server.protocols.answers import (
    answer_to,
    pause_at,
    paused_run,
    require_new_words,
    resume_with,
    segment_of,
)
from server.protocols.branches import branch_behind, branch_for, require_thread
from server.protocols.clients import ClientWords, begin_once, kept_name, read_object, start_from
from server.protocols.folds import (
    BEGUN,
    FoldedForm,
    Frame,
    data_line,
    fold_to_end,
    stream_of,
)
from server.protocols.openai.inputs import (
    PlacedReply,
    fold_stored,
    heard_items,
    known_response,
    response_fold,
    with_answers,
)
from server.protocols.openai.responses_fold import PER_EVENT, ResponsesFold
from server.protocols.openai.shape import (
    REFUSED,
    named_conversation,
    refuse_chore,
    refuse_fields,
    require_model,
    with_place,
)
from server.protocols.pauses import CallReply, answer_with, pause_calls

READ = frozenset({"model", "input", "stream", "previous_response_id", "conversation"})
ITEMS = query_parameter("items", "`open` tells calls as reasoning, too.", enum=["mcp", "open"])


async def create_response(request: Request) -> Response | EventStream:
    """Answer POST /v1/responses."""
    data = await read_object(request, ITEMS)
    model = require_model(request, data)
    refuse_fields(data)
    streams = data.get("stream") or False
    if not isinstance(streams, bool):
        raise bad_request([("stream", "is true or false")])
    given = await with_answers(request, data.get("input"))
    heard, approvals, has_words_behind = heard_items(request, given)
    heard.ignore(data, sorted(data.keys() - READ - REFUSED.keys()))
    if heard.messages:
        refuse_chore(heard.messages[-1][1])

    async def decide() -> tuple[RunRequest, Source | None]:
        if approvals:
            # what stands before the last one's pause is what the client repeats
            (run_id, seq, _), _ = approvals[-1]
            chosen = [one for one in approvals if one[0][:2] == (run_id, seq)]
            await _require_answered(request, [one for one in approvals if one not in chosen])
            await _require_place(request, data, run_id)
            if not has_words_behind or await _waits(request, run_id, seq):
                heard.ignored += ["input.message"] if has_words_behind else []
                replies = await _approved(request, run_id, seq, chosen)
                answer = answer_with(replies, caller_of(request), deltas=streams)
                return resume_with(request, run_id, answer), None
            heard.ignored.append("input.mcp_approval_response")
        return await _asked(request, data, heard, deltas=streams)

    started = await begin_once(request, with_place(request, data), decide)
    fold = response_fold(request, started.run_id, model)
    headers = [*heard.headers, *started.headers]
    if streams:
        form = FoldedForm(fold, started.before, write_event, fail_response)
        return stream_of(
            request, started.run_id, started.before, form, deltas=True, headers=headers
        )
    frames = await fold_to_end(request, started, fold)
    if isinstance(frames, Response):
        return frames
    failed = fold.document["status"] == "failed"
    response = JsonResponse(fold.document, 502 if failed else 200, headers=BEGUN)
    response.raw_headers += headers
    return response


async def show_response(request: Request) -> Response | EventStream:
    """Answer GET /v1/responses/{id}: as it is now; or its events, behind `starting_after`."""
    refuse_head(request)
    require(request, "read")
    run_id, begun = await _named(request)
    fold = response_fold(request, run_id, services_of(request).runs.crew.name)
    given = request.query_params
    if given.get("stream") != "true":
        await fold_stored(request, run_id, begun, fold)
        return JsonResponse(fold.document)
    after = given.get("starting_after", "0")
    if re.fullmatch(r"[0-9]{1,15}", after) is None:
        raise bad_request([("starting_after", "is the number of an event")])
    number = max(int(after), PER_EVENT * begun - 1)

    form = EventsBehind(fold, number)
    return stream_of(request, run_id, begun - 1, form, deltas=False, needed=False)


class EventsBehind(FoldedForm):
    """The events of a response behind one of its own."""

    def __init__(self, fold: ResponsesFold, number: int) -> None:
        super().__init__(fold, 0, write_event, fail_response)
        self._number = number
        # items that the client has begun to read, and the event with which they began: what was
        # sent live of them is not known here, so that their text comes whole, at its end
        self._known: dict[str, int] = {}

    def _is_new(self, frame: Frame) -> bool:
        document = frame.document
        is_new = int(document["sequence_number"]) > self._number
        if not is_new and frame.name == "response.output_item.added":
            self._known[document["item"]["id"]] = frame.seq or 0
        if not is_new or frame.name != "response.output_text.delta":
            return is_new
        return self._known.get(document["item_id"], frame.seq) == frame.seq


async def cancel_response(request: Request) -> Response:
    """Answer POST /v1/responses/{id}/cancel: end its run; the response as it is then."""
    require(request, "run")
    run_id, begun = await _named(request)
    services = services_of(request)
    row = await own_run(request, run_id)
    if row.status in ("running", "paused"):
        if await _has_newer(request, run_id, begun):
            raise HttpProblem(409, "it has ended: a later response of its run is under way")
        await services.runs.cancel(run_id, request.state.request_id)
        await services.auditor.record(request, "cancel", run_id)
        await services.runs.outcome(run_id)
    fold = response_fold(request, run_id, services.runs.crew.name)
    await fold_stored(request, run_id, begun, fold)
    return JsonResponse(fold.document)


async def _has_newer(request: Request, run_id: str, begun: int) -> bool:
    """Return whether another segment has begun behind that of a response."""
    async with aclosing(services_of(request).runs.stored(run_id)) as events:
        async for event in events:
            if event.type == "start" and (event.seq or 0) > begun:
                return True
    return False


def write_event(frame: Frame, place: int | None = None) -> bytes:
    """Return an event as a stream has it."""
    return b"event: %s\n%s" % (frame.name.encode(), data_line(frame.document))


def fail_response(text: str) -> bytes:
    """Return what ends a stream of a run that goes on elsewhere."""
    error = {"type": "error", "code": "unavailable", "message": text, "param": None}
    return write_event(Frame(None, {**error, "sequence_number": 0}, "error"))


async def _named(request: Request) -> tuple[str, int]:
    """Return the run and the first event of the response in the path; raises UnknownRun."""
    return await known_response(request, request.path_params["response_id"])


async def _asked(
    request: Request,
    data: dict[str, Any],
    heard: ClientWords,
    *,
    deltas: bool,
) -> tuple[RunRequest, Any]:
    """Return what words ask: an answer to a pause, or a new run with what went before."""
    conversation = _conversation_of(request, data)
    previous = data.get("previous_response_id")
    if previous is None:
        conversation = await branch_for(request, conversation, heard.messages)
    paused = await paused_run(request, conversation)
    if previous is not None:
        run_id, begun = await known_response(request, previous)
        row = await own_run(request, run_id)
        if row.status == "paused":
            await _require_newest(request, run_id, begun)
            paused = run_id
        elif row.status == "running":
            raise HttpProblem(409, "the previous response is still in progress")
        else:
            before = await _before(request, run_id)
            heard.messages = [*before, *heard.messages]
            conversation = conversation or await branch_behind(request, row)
    if paused is not None and previous is None:
        await require_new_words(request, paused, heard.messages)
    if paused is not None:
        return await answer_to(request, paused, heard.last_words(), deltas=deltas), None
    return start_from(request, heard, conversation, deltas=deltas)


def _conversation_of(request: Request, data: dict[str, Any]) -> str | None:
    given = data.get("conversation")
    conversation = given.get("id") if isinstance(given, dict) else given
    if conversation is not None and not isinstance(conversation, str):
        raise bad_request([("conversation", "is an id, or an object with one")])
    return kept_name(request, conversation) or named_conversation(request)


async def _require_place(request: Request, data: dict[str, Any], run_id: str) -> None:
    """Raise HttpProblem where a run that is answered is not what else the request names."""
    if (previous := data.get("previous_response_id")) is not None:
        of, _ = await known_response(request, previous)
        if of != run_id:
            raise HttpProblem(409, "the approvals are of another response's run")
    if (conversation := _conversation_of(request, data)) is not None:
        require_thread(await own_run(request, run_id), conversation)


async def _require_newest(request: Request, run_id: str, begun: int) -> None:
    """Raise HttpProblem where a paused run has gone on behind a response."""
    pause = await pause_at(request, run_id)
    if await segment_of(request, run_id, pause.seq or 0) != begun:
        raise HttpProblem(409, "the run has gone on behind this response; use its newest one")


async def _before(request: Request, run_id: str) -> list[tuple[str, str]]:
    """Return what was said up to the end of a run."""
    runs = services_of(request).runs
    page, row = await runs.store.records(run_id, 0, PAGE), await runs.row(run_id)
    history: list[tuple[str, str]] = []
    said: list[tuple[str, str]] = []
    if page and page[0].seq == 1:
        state = RunState(run_id, runs.crew.tool_limits)
        await replay(runs.store, state, page)
        history = [(one.role, one.content) for one in state.query.history]
        parts = parts_in_words(state.said)
        said = [("assistant" if one.agent_id else "user", one.text) for one in parts]
    if said and said[-1] == ("assistant", row.answer):
        # a question without an answer is the run's answer
        said.pop()
    answer = [("assistant", row.answer)] if row.answer else []
    return [*history, ("user", row.query), *said, *answer]


async def _require_answered(request: Request, others: list[PlacedReply]) -> None:
    """Raise HttpProblem where one of several pauses would be left without its answer."""
    for run_id, seq in {place[:2] for place, _ in others}:
        if await _waits(request, run_id, seq):
            raise bad_request([("input", "all approvals must be of one response")])


async def _waits(request: Request, run_id: str, seq: int) -> bool:
    """Return whether a run of the caller still waits in a pause."""
    try:
        row = await own_run(request, run_id)
    except UnknownRun:
        return False
    return row.status == "paused" and row.pause_seq == seq


async def _approved(
    request: Request, run_id: str, seq: int, given: list[PlacedReply]
) -> list[CallReply]:
    """Return the answers to the approval requests of one pause; raises HttpProblem."""
    by_key = {place[2]: item for place, item in given}
    if len(by_key) < len(given):
        raise bad_request([("input", "answers an approval request twice")])
    asked = pause_calls(run_id, await pause_at(request, run_id, seq), "")
    if missing := [one.key for one in asked if one.key not in by_key]:
        raise bad_request([("input", f"must answer all approval requests; missing: {missing[0]}")])
    if unknown := by_key.keys() - {one.key for one in asked}:
        text = f"answers an approval request that there was not: {min(unknown)}"
        raise bad_request([("input", text)])
    return [
        CallReply(one, by_key[one.key]["approve"], reason=str(by_key[one.key].get("reason") or ""))
        for one in asked
    ]
