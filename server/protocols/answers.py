"""Answers to pauses: which one is meant, and what words come to."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from starlette.requests import Request

from crew.config.keys.crew_file import CrewSettings
from crew.journal.query import Answer, text_error
from crew.journal.records.conversations import Exchange
from crew.journal.records.rows import IdempotencyRecord
from crew.journal.wire import RunEvent
from crew.runs.errors import AlreadyStarted, UnknownConversation, UnknownRun
from server.http.callers.rights import caller_of, own_run, user_of
from server.http.errors import HttpProblem, bad_request
from server.http.requests import ResumeRequest, check_length
from server.http.services import services_of
from server.protocols.pauses import (
    ELSEWHERE,
    HOW,
    CallReply,
    answer_in_words,
    answer_with,
    pause_calls,
)

# said alone, they are a yes to what is asked
YES = frozenset(
    {
        *("approve", "approved", "yes", "y", "ok", "okay", "sure", "go ahead", "yes please"),
        *("ja", "oui", "có", "đồng ý"),
    }
)
# around such a word, or between two
SIGNS = re.compile(r"[\W_]+")
# the words for a call of which it is not known whether it has acted
NO = frozenset({"deny", "denied", "no", "n", "end", "nein", "non", "không"})
AGAIN = {"retry": True, "skip": False}


async def pause_at(request: Request, run_id: str, seq: int | None = None) -> RunEvent:
    """Return a pause of a run of the caller; raises HttpProblem where there is none.

    Args:
        request: the caller's.
        run_id: the run.
        seq: the number of the pause; None: the one that it waits in now. An earlier one is found,
            too: the same answer again is no mistake.
    """
    row, runs = await own_run(request, run_id), services_of(request).runs
    pause = None
    if seq is None:
        pause = await runs.pause_of(row) if row.status == "paused" else None
    elif records := await runs.store.records(run_id, seq - 1, 1):
        pause = RunEvent.of_record(records[0])
    if pause is None or pause.type != "pause" or seq not in (None, pause.seq):
        raise HttpProblem(409, f"run {run_id} does not wait in this pause any more")
    return pause


async def paused_run(request: Request, conversation: str | None) -> str | None:
    """Return the run in which a conversation waits for its person; None where none does."""
    services = services_of(request)
    if not conversation or services.runs.crew.config.conversations is None:
        return None
    user = user_of(request, None)
    try:
        known = await services.runs.conversations.get(user, conversation)
        row = None if known is None or known.busy is None else await own_run(request, known.busy)
    except (UnknownRun, UnknownConversation):
        return None
    return row.run_id if row is not None and row.status == "paused" else None


async def segment_of(request: Request, run_id: str, seq: int) -> int:
    """Return the number of the first event of the segment that has an event."""
    begun = 1
    async for event in services_of(request).runs.stored(run_id):
        if (event.seq or 0) > seq:
            break
        if event.type == "start":
            begun = event.seq or 1
    return begun


# OpenAI's clients count here how often they have sent a request before
TRIES = "x-stainless-retry-count"


async def require_new_words(
    request: Request,
    run_id: str,
    messages: Sequence[tuple[str, str]],
    *,
    is_named: bool = False,
) -> None:
    """Raise AlreadyStarted where a client says again what its run has heard last.

    It has not seen yet that the run waits: its connection broke, or it wants another answer. Those
    words answer nothing. `is_named`: the request has a name of its own, which is known to be new.
    """
    runs, row = services_of(request).runs, await own_run(request, run_id)
    mask = runs.crew.secrets.mask
    *before, last = [mask(text) for role, text in messages if role == "user"] or [""]
    found: list[Exchange] = []
    if row.conversation_id:
        place = row.user_id, row.conversation_id
        found = await runs.conversations.exchanges(*place, row.exchange - 1)
    heard = next((one.heard_of_person for one in found if one.run_id == run_id), (row.query,))
    # in its history they stand before the question that it has seen
    if last != heard[-1] or last in before:
        return
    pause = await pause_at(request, run_id)
    if len(heard) > 1 and len(messages) == 1:
        # who sends only what is new may say the same to the next question. What decides on a call
        # must be new for certain: an application may send its request again by itself
        is_first = request.headers.get(TRIES) == "0" and not pause.metadata.get("question")
        if is_named or is_first or "idempotency-key" in request.headers:
            return
    begun = await segment_of(request, run_id, pause.seq or 0)
    raise AlreadyStarted(IdempotencyRecord("", "", run_id, begun - 1))


async def answer_to(
    request: Request, run_id: str, text: str, *, deltas: bool, seq: int | None = None
) -> ResumeRequest:
    """Return what a person's words come to in the pause of a run: a yes, a no, or an answer.

    Raises:
        HttpProblem: words cannot answer it.
    """
    pause = await pause_at(request, run_id, seq)
    questions, caller = pause_calls(run_id, pause, ""), caller_of(request)
    # who asks back has agreed to nothing
    plain = unicodedata.normalize("NFC", text).casefold()
    said = plain if "?" in plain else SIGNS.sub(" ", plain).strip()
    first = questions[0]
    if not first.is_about_call or (first.words_left and said not in YES):
        # an agent that is to plan anew reads them
        return resume_with(request, run_id, answer_in_words(text, pause.seq, caller, deltas=deltas))
    if not first.is_decided_by_yes:
        raise HttpProblem(409, f"the run waits for more than words: {ELSEWHERE}")
    if first.question == "unknown_outcome" and said not in AGAIN:
        raise HttpProblem(409, "a call may have acted already; answer `retry` or `skip`")
    if first.question == "restored" and said not in YES | NO:
        raise HttpProblem(409, f"the run goes on only by a clear word. {HOW['restored']}")
    is_yes = AGAIN.get(said, said in YES)
    reason = "" if is_yes else text
    replies = [CallReply(one, is_yes, reason=reason) for one in questions]
    answer = replace(answer_with(replies, caller, deltas=deltas), heard=text)
    return resume_with(request, run_id, answer)


def resume_with(request: Request, run_id: str, answer: Answer) -> ResumeRequest:
    """Return the request of an answer, within the limits of the API; raises HttpProblem."""
    require_bounded_answer(answer, services_of(request).settings)
    return ResumeRequest(run_id, answer)


def require_bounded_answer(answer: Answer, settings: CrewSettings) -> None:
    """Raise HttpProblem for texts that are too long, or no texts."""
    given = [text for one in answer.decisions for text in (one.reason, one.result)]
    for text in (answer.text, *given):
        check_length(text, settings, "answer")
        if (error := text_error(text)) is not None:
            raise bad_request([("answer", error)])
