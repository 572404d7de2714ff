"""What chat completions and responses have in common: models, errors, words and decisions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.crew import Crew
from crew.journal.query import Answer
from crew.journal.wire import RunEvent
from crew.routing.graph import END
from server.http.callers.rights import caller_of
from server.http.errors import HttpProblem, bad_request
from server.http.requests import ResumeRequest
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.protocols.clients import pause_at
from server.protocols.pauses import CallReply, PauseCall, answer_in_words, answer_with, pause_calls

# said alone, they are a yes to what is questions
YES = frozenset({"approve", "approved", "yes", "y", "ok", "okay", "ja", "oui", "có", "đồng ý"})
# what decides where words do
HOW = "Answer `approve`, or say why not."
# chores of clients, which belong to a model of theirs
CHORE = "### Task:"
# a run that one of these has ended has no whole answer
LIMITS = frozenset({"max_rounds", "max_handoffs", "budget", "no_answer"})
KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
# characters of a result that stand beside an answer
MAX_SHOWN = 500


def refuse_openai(problem: HttpProblem, path: str) -> Response:
    """Return a problem as OpenAI's clients read it."""
    return JsonResponse(
        {"error": error_document(problem)},
        problem.status,
        headers=dict(problem.headers or {}),
    )


def error_document(problem: HttpProblem) -> dict[str, Any]:
    """Return what an error has."""
    usual = "invalid_request_error" if problem.status < 500 else "server_error"
    code = (problem.more or {}).get("code")
    return {
        "message": problem.detail,
        "type": KINDS.get(problem.status, usual),
        "param": problem.errors[0][0] if problem.errors else None,
        "code": code,
    }


def model_of(crew: Crew, timestamp: int = 0) -> dict[str, Any]:
    """Return the crew as a model."""
    return {"id": crew.name, "object": "model", "created": timestamp, "owned_by": "crewline"}


def require_model(request: Request, data: Mapping[str, Any]) -> str:
    """Return the crew that is named as the model; raises HttpProblem for another one."""
    crew, model = services_of(request).runs.crew, data.get("model")
    if not isinstance(model, str) or not model:
        raise bad_request([("model", "is missing")])
    if model != crew.name:
        text = f"the model {model[:100]!r} does not exist; GET /v1/models lists what there is"
        raise HttpProblem(404, text, [("model", text)], more={"code": "model_not_found"})
    return model


def refuse_fields(data: Mapping[str, Any], fields: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise HttpProblem for fields with values that mean something that is not done here."""
    for name, harmless in fields.items():
        if data.get(name) not in harmless:
            raise bad_request([(name, "is not supported")])


def refuse_chore(text: str) -> None:
    """Raise HttpProblem for what clients ask a model beside the conversation, such as a title."""
    if text.lstrip().startswith(CHORE):
        detail = (
            "this is a chore of your client (a title, tags, follow-ups), and no question for a "
            "crew; set a task model in the client's settings"
        )
        raise HttpProblem(400, detail, more={"code": "chore"})


def named_conversation(request: Request) -> str | None:
    """Return the conversation that a header names."""
    for name in request.app.state.settings.conversation_headers:
        if value := request.headers.get(name):
            return str(value)
    return None


async def answer_to(request: Request, run_id: str, text: str, *, deltas: bool) -> ResumeRequest:
    """Return what a person's words come to in the pause of a run: a yes, a no, or an answer."""
    pause = await pause_at(request, run_id)
    questions, caller = pause_calls(run_id, pause, ""), caller_of(request)
    answer: Answer
    if questions[0].is_about_call:
        is_yes = text.strip(" .!\n").casefold() in YES
        replies = [CallReply(one, is_yes, reason="" if is_yes else text) for one in questions]
        answer = answer_with(replies, caller, deltas=deltas)
    else:
        answer = answer_in_words(text, pause.seq, caller, deltas=deltas)
    return ResumeRequest(run_id, answer)


def question_of(questions: Sequence[PauseCall], how: str = "") -> str:
    """Return what a pause asks, as text; `how`: a decision is given."""
    if not questions[0].is_about_call:
        return questions[0].text
    lines = [f"- {one.text}" for one in questions]
    return "\n".join(["**Waiting for a decision:**", *lines, *(["", how] if how else [])])


def seconds_of(event: RunEvent) -> int:
    """Return when an event was recorded, in seconds since 1970."""
    return int(datetime.fromisoformat(event.timestamp).timestamp())


def live_agents(crew: Crew) -> frozenset[str]:
    """Return the agents with answers that can only be the run's: they are sent as they are written.

    They end the run, and have nothing to call before.
    """
    ways: dict[str, set[str | None]] = {}
    for edge in crew.graph.edges:
        ways.setdefault(edge.from_, set()).add(edge.to)
    ends = {END}
    return frozenset(
        one.id
        for one in crew.agents.values()
        if not one.tools and one.output is None and ways.get(one.id, ends) <= ends
    )
