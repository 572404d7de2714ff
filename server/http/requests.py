"""Query string or body -> a request for a run, or every problem with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json
from starlette.requests import Request

from crew.config.keys.crew_file import CrewSettings
from crew.documents.images import ImageRefused, read_data_url
from crew.journal.query import (
    API,
    DEFAULT_PRIORITY,
    Answer,
    CallDecision,
    HistoryMessage,
    Query,
    Source,
    is_blank,
)
from crew.runs.documents.attaching import GivenAttachment
from crew.runs.forks import ForkPoint
from server.http.bodies import AnswerBody, AttachmentBody, QueryBody, StartBody
from server.http.callers.rights import bound_conversation, user_of
from server.http.errors import HttpProblem, bad_request
from server.http.parameters import TICKET, parse_parameters
from server.http.reading import check_body, parse_body, parse_json, read_json
from server.tokens import Caller


@dataclass(frozen=True, slots=True)
class StartRequest:
    """A run is to be started."""

    query: Query
    # what goes with it
    given: tuple[GivenAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """A paused run is to be resumed."""

    run_id: str
    answer: Answer
    # what goes with it
    given: tuple[GivenAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """Another run is to begin with a run's first events."""

    run_id: str
    point: ForkPoint


RunRequest = StartRequest | ResumeRequest
OF_RUN = "is that of the run, when a run_id is given"


async def parse_run_request(
    request: Request, settings: CrewSettings, agents: frozenset[str], caller: Caller
) -> RunRequest:
    """Parse what a GET or POST of `/api/crew/stream` or `/api/crew/run` asks.

    Raises:
        HttpProblem: with every problem.
    """
    if request.method == "POST":
        data = await read_json(request, settings)
    else:
        data = _from_url(request)
    body = check_body(QueryBody, data)
    user_id = user_of(request, body.user_id)
    if body.run_id is not None:
        check_length(body.query, settings)
        _require_answer(body)
        answer = _answer_of(body, caller)
        return ResumeRequest(body.run_id, answer, read_attachments(body.attachments))
    if body.decision is not None or body.decisions or body.result or body.pause is not None:
        field = "decision" if body.pause is None else "pause"
        raise bad_request([(field, "answers a paused run; give its run_id")])
    return start_of(body, settings, agents, caller, user_id)


async def parse_start(
    request: Request, settings: CrewSettings, agents: frozenset[str], caller: Caller
) -> StartRequest:
    """Parse what a POST of `/api/crew/runs` asks; raises HttpProblem with every problem."""
    body = await parse_body(request, settings, StartBody)
    return start_of(body, settings, agents, caller, user_of(request, body.user_id))


def start_of(
    body: StartBody,
    settings: CrewSettings,
    agents: frozenset[str],
    caller: Caller,
    user_id: str,
) -> StartRequest:
    """Return what a body asks for; raises HttpProblem."""
    _require_words(body)
    check_length(body.query, settings)
    if bound_conversation(caller, body.conversation_id) and body.history:
        raise bad_request([("history", "is that of the conversation, when one is given")])
    start = body.resume_agent_id
    if start is not None and start not in agents:
        raise bad_request([("resume_agent_id", f"there is no agent {start!r}")])
    if start is not None and start not in settings.client_start_agents:
        text = f"settings.client_start_agents does not name {start!r}"
        raise HttpProblem(403, f"resume_agent_id: {text}", [("resume_agent_id", text)])
    history = tuple(HistoryMessage(one.role, one.content) for one in body.history)
    priority = _priority(body, caller)
    conversation_id, model = bound_conversation(caller, body.conversation_id), body.model or ""
    if model and model not in settings.client_models:
        raise bad_request([("model", f"settings.client_models does not name {model!r}")])
    query = Query(
        body.query,
        history,
        start,
        body.deltas,
        priority,
        user_id,
        conversation_id,
        model,
        max_usd=body.max_usd,
    )
    return StartRequest(query, read_attachments(body.attachments))


def _priority(body: StartBody, caller: Caller) -> int:
    if body.priority is None:
        return min(DEFAULT_PRIORITY, caller.max_priority)
    if body.priority > caller.max_priority:
        text = f"at most {caller.max_priority} with this token"
        raise HttpProblem(403, f"priority: {text}", [("priority", text)])
    return body.priority


def _answer_of(body: QueryBody, caller: Caller) -> Answer:
    for name in ("resume_agent_id", "model"):
        if getattr(body, name):
            raise bad_request([("run_id", f"cannot be given together with {name}")])
    for name in ("history", "priority", "conversation_id", "max_usd"):
        if getattr(body, name) not in (None, []):
            raise bad_request([(name, OF_RUN)])
    return answer_of_body(body, caller)


def answer_of_body(body: QueryBody | AnswerBody, caller: Caller) -> Answer:
    """Return the answer in a body; raises HttpProblem."""
    if caller.place is not None and any(one.remember == "always" for one in body.decisions):
        # such an approval holds for the runs of all that the token stands for
        text = "remember: always needs a token; a ticket approves calls of its own runs"
        raise HttpProblem(403, f"decisions: {text}", [("decisions", text)])
    decisions = tuple(CallDecision(**dict(one)) for one in body.decisions)
    return Answer(
        body.query,
        body.decision,
        body.result,
        body.pause,
        body.deltas,
        decisions,
        caller.name,
        may_spend="admin" in caller.scopes,
    )


async def parse_answer(
    request: Request, run_id: str, settings: CrewSettings, caller: Caller
) -> ResumeRequest:
    """Parse the answer in a POST of `/resume`; raises HttpProblem with every problem."""
    body = check_body(AnswerBody, await read_json(request, settings))
    check_length(body.query, settings)
    _require_answer(body)
    return ResumeRequest(run_id, answer_of_body(body, caller), read_attachments(body.attachments))


def read_attachments(bodies: Sequence[AttachmentBody]) -> tuple[GivenAttachment, ...]:
    """Return what a request has attached; raises HttpProblem."""
    out = []
    for place, one in enumerate(bodies):
        if one.document_id is not None:
            out.append(GivenAttachment(one.document_id))
            continue
        try:
            content, kind = read_data_url(one.image or "")
        except ImageRefused as error:
            field = f"attachments[{place}].image"
            raise bad_request([(field, str(error))]) from None
        out.append(GivenAttachment(content=content, kind=kind))
    return tuple(out)


def _require_answer(body: QueryBody | AnswerBody) -> None:
    decides = body.decision is not None or bool(body.decisions)
    if decides and body.attachments:
        raise bad_request([("attachments", "go with words, and not with a decision")])
    if not decides:
        _require_words(body)


def _require_words(body: StartBody | AnswerBody) -> None:
    if body.attachments or not is_blank(body.query):
        return
    raise bad_request([("query", "has no words in it" if body.query else "is missing")])


def refuse_head(request: Request) -> None:
    """Refuse HEAD, which Starlette answers like GET; a link preview must not start a run."""
    if request.method == "HEAD":
        text = "HEAD: a stream has no head without its body; use GET"
        raise HttpProblem(405, text, headers={"Allow": "GET, POST"})


def followed_run(request: Request) -> tuple[str, bool] | None:
    """Return the run that a GET only wants to follow, and whether with deltas; None for others.

    It has a `run_id`, and nothing is said to that run.

    Raises:
        HttpProblem: beside it stands what starts or answers a run.
    """
    given = request.query_params
    if "run_id" not in given or "q" in given:
        return None
    known = parse_parameters(request, frozenset({"run_id", "deltas", TICKET}))
    return known["run_id"], known["deltas"]


def _from_url(request: Request) -> dict[str, Any]:
    given = parse_parameters(request)
    data: dict[str, Any] = {}
    for key in ("run_id", "resume_agent_id", "user_id", "conversation_id", "priority", "deltas"):
        if key in given:
            data[key] = given[key]
    if "q" not in given:
        raise bad_request([("q", "is missing")])
    return {**data, **_object_or_text(given["q"])}


def _object_or_text(text: str) -> dict[str, Any]:
    """Return what `q` has: an object with a `query` string, else text as it is."""
    if not text.startswith("{"):
        return {"query": text}
    try:
        data = from_json(text)
    except ValueError:
        return {"query": text}
    if isinstance(data, dict) and isinstance(data.get("query"), str):
        try:
            return dict(parse_json(text.encode()))
        except ValueError as error:
            raise bad_request([("q", str(error))]) from None
    return {"query": text}


def check_length(text: str, settings: CrewSettings, name: str = "query") -> None:
    """Raise HttpProblem for a text that is too long; `name`: its field."""
    limit = int(settings.max_input_size_kb * 1000)
    if len(text) > limit:
        wrong = f"has {len(text):,} characters; at most {limit:,} are allowed"
        raise bad_request([(name, wrong)])


def source_of(request: Request) -> Source:
    """Return what a request starts a run from: the console says so."""
    return Source("console") if request.headers.get("x-crew-source") == "console" else API
