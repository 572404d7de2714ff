"""What chat completions and responses have in common: models, errors, words and decisions."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.crew import Crew
from crew.journal.wire import RunEvent
from server.http.errors import HttpProblem, bad_request
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.protocols.clients import kept_name

# chores of clients, which belong to a model of theirs
# but not the words by which a client puts what it has found before its user's question
CHORE = re.compile(r"\s*### Task:(?!\s*Respond to)")
KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
# characters of a result that stand beside an answer
MAX_SHOWN = 500
# by field, the values that ask for nothing
REFUSED: dict[str, tuple[Any, ...]] = {
    "n": (None, 1),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "audio": (None,),
    "background": (None, False),
}


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


def refuse_fields(data: Mapping[str, Any]) -> None:
    """Raise HttpProblem for fields with values that mean something that is not done here."""
    for name, harmless in REFUSED.items():
        if data.get(name) not in harmless:
            raise bad_request([(name, "is not supported")])


def refuse_chore(text: str) -> None:
    """Raise HttpProblem for what clients ask a model beside the conversation, such as a title."""
    if CHORE.match(text):
        detail = (
            "this is a chore of your client (a title, tags, follow-ups), and no question for a "
            "crew; set a task model in the client's settings"
        )
        raise HttpProblem(400, detail, more={"code": "chore"})


def named_conversation(request: Request) -> str | None:
    """Return the conversation that a header names."""
    for name in request.app.state.settings.conversation_headers:
        if value := request.headers.get(name):
            return kept_name(request, str(value))
    return None


def with_place(request: Request, data: dict[str, Any]) -> dict[str, Any]:
    """Return a body with the conversation that a header names, which is a part of the question."""
    name = named_conversation(request)
    return data if name is None else {**data, "conversation in headers": name}


def seconds_of(event: RunEvent) -> int:
    """Return when an event was recorded, in seconds since 1970."""
    return int(datetime.fromisoformat(event.timestamp).timestamp())
