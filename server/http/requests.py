"""Query string or body -> what is asked, or every problem with it."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json
from starlette.requests import Request

from crew.config.crew_file import Settings
from crew.journal.query import Once, Query, Said, text_flaw
from server.http.responses import Refusal

MAX_HISTORY = 1000
# told of one request
MAX_PROBLEMS = 20
MAX_MESSAGE_BYTES = 100_000
ID = r"^[A-Za-z0-9_-]{1,128}$"
EVENT_ID = re.compile(r"(?:([A-Za-z0-9_-]{1,128}):)?(\d{1,15})")
STREAM_KEYS = frozenset({"q", "run_id", "resume_agent_id", "deltas", "access_token"})


def _clean(text: str) -> str:
    if (flaw := text_flaw(text)) is not None:
        raise ValueError(flaw)
    return text


def _short(text: str) -> str:
    if len(text.encode()) > MAX_MESSAGE_BYTES:
        raise ValueError(f"has more than {MAX_MESSAGE_BYTES:,} bytes")
    return text


Text = Annotated[str, AfterValidator(_clean)]
B = TypeVar("B", bound="_Body")


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SaidBody(_Body):
    """A message of a history."""

    role: Literal["user", "assistant", "system"]
    content: Annotated[Text, AfterValidator(_short)]


class QueryBody(_Body):
    """What starts a run, or goes on with one."""

    query: Annotated[Text, Field(min_length=1)]
    history: Annotated[list[SaidBody], Field(max_length=MAX_HISTORY)] = []
    run_id: Annotated[str, Field(pattern=ID)] | None = None
    resume_agent_id: Annotated[str, Field(pattern=ID)] | None = None
    deltas: bool = False
    decision: Literal["approve", "deny", "retry", "skip", "done"] | None = None
    result: Text = ""
    pause: Annotated[int, Field(ge=1, lt=2**53, strict=True)] | None = None


class AnswerBody(_Body):
    """An answer to a pause; with a decision the text may be missing."""

    query: Text = ""
    deltas: bool = False
    decision: Literal["approve", "deny", "retry", "skip", "done"] | None = None
    result: Text = ""
    pause: Annotated[int, Field(ge=1, lt=2**53, strict=True)] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked request: a query, and the run that it answers, if it does."""

    query: Query
    run_id: str | None


async def asked(request: Request, settings: Settings, agents: frozenset[str]) -> Asked:
    """What a GET or POST of `/api/crew/stream` or `/api/crew/run` asks.

    Raises Refusal with every problem.
    """
    if request.method == "POST":
        data = await body(request, settings)
    else:
        data = _from_url(request)
    checked = _check(QueryBody, data)
    _check_length(checked.query, settings)
    if checked.run_id is not None and checked.resume_agent_id is not None:
        raise _refusal([("run_id", "cannot be given together with resume_agent_id")])
    if checked.run_id is not None and checked.history:
        raise _refusal([("history", "is that of the run, when a run_id is given")])
    if checked.run_id is None and (
        checked.decision is not None or checked.result or checked.pause is not None
    ):
        raise _refusal(
            [
                (
                    "decision" if checked.pause is None else "pause",
                    "answers a paused run; give its run_id",
                )
            ]
        )
    if checked.resume_agent_id is not None and checked.resume_agent_id not in agents:
        raise _refusal([("resume_agent_id", f"there is no agent {checked.resume_agent_id!r}")])
    history = tuple(Said(said.role, said.content) for said in checked.history)
    query = Query(
        checked.query,
        history,
        checked.resume_agent_id,
        checked.deltas,
        checked.decision,
        checked.result,
        checked.pause,
    )
    return Asked(query, checked.run_id)


async def answered(request: Request, settings: Settings) -> Query:
    """The answer in a POST of `/resume`; raises Refusal with every problem."""
    checked = _check(AnswerBody, await body(request, settings))
    _check_length(checked.query, settings)
    if not checked.query and checked.decision is None:
        raise _refusal([("query", "is missing")])
    return Query(
        checked.query,
        deltas=checked.deltas,
        decision=checked.decision,
        result=checked.result,
        pause=checked.pause,
    )


async def body(request: Request, settings: Settings) -> Any:
    """The JSON of a body, of no more than `max_request_body_size_kb`."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, f"Content-Type: send application/json, not {kind}")
    limit = int(settings.max_request_body_size_kb * 1000)
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > limit:
            raise Refusal(413, f"body: has more than {limit:,} bytes")
    try:
        data = from_json(bytes(content), allow_inf_nan=False)
    except ValueError as error:
        raise _refusal([("body", f"is not JSON: {error}")]) from None
    if not isinstance(data, dict):
        raise _refusal([("body", "must be a JSON object")])
    return data


KEY = re.compile(r'"[!#-~ ]{1,255}"|[!#-~]{1,255}')


def once_of(request: Request, query: Query, run_id: str | None) -> Once | None:
    """The `Idempotency-Key` of a POST, with a fingerprint of what it asks.

    Raises Refusal for one that is none.
    """
    key = request.headers.get("idempotency-key")
    if key is None or request.method != "POST":
        return None
    if KEY.fullmatch(key) is None:
        raise _refusal([("Idempotency-Key", "is 1 to 255 printable ASCII characters")])
    # how it is streamed is no part of what is asked
    asked = to_json([run_id, replace(query, deltas=False)])
    return Once(key.strip('"'), hashlib.sha256(asked).hexdigest())


async def no_body(request: Request, settings: Settings, what: str) -> None:
    """An empty body, or an empty object; `what` takes no other."""
    if request.headers.get("content-length", "0") != "0" and await body(request, settings):
        raise _refusal([("body", f"{what} takes none")])


def parameters(request: Request, known: frozenset[str]) -> dict[str, str]:
    """The query string's parameters, each at most once.

    Raises Refusal for one that is not known or not UTF-8.
    """
    try:
        pairs = parse_qsl(
            request.scope["query_string"].decode("latin-1"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=100,
        )
    except ValueError as error:
        raise _refusal(
            [
                (
                    "query string",
                    "is not valid UTF-8" if isinstance(error, UnicodeDecodeError) else str(error),
                )
            ]
        ) from None
    given: dict[str, str] = {}
    problems: list[tuple[str, str]] = []
    for key, value in pairs:
        if key not in known:
            problems.append(
                (key, f"is unknown; known: {', '.join(sorted(known - {'access_token'}))}")
            )
        elif key in given:
            problems.append((key, "is given twice"))
        given[key] = value
    if problems:
        raise _refusal(problems)
    return given


def flag(given: Mapping[str, str], name: str) -> bool:
    """A parameter that is 0 or 1, 0 unless given; raises Refusal."""
    if given.get(name, "0") not in ("0", "1"):
        raise _refusal([(name, "is 0 or 1")])
    return given.get(name) == "1"


def event_id(text: str, run_id: str | None, field: str) -> tuple[str, int]:
    """(run_id, n) of `run:n`, or of `n` where the run is known; raises Refusal."""
    found = EVENT_ID.fullmatch(text)
    if found is None or (found[1] is None and run_id is None):
        raise _refusal([(field, f"{text[:80]!r} is no event id; it looks like <run_id>:<number>")])
    if run_id is not None and found[1] not in (None, run_id):
        raise _refusal([(field, f"{text[:80]!r} is of another run")])
    named = found[1] or run_id
    assert named is not None, "one of the two is there"
    return named, int(found[2])


def _from_url(request: Request) -> dict[str, Any]:
    given = parameters(request, STREAM_KEYS)
    data: dict[str, Any] = {
        key: given[key] for key in ("run_id", "resume_agent_id") if key in given
    }
    if "deltas" in given:
        data["deltas"] = flag(given, "deltas")
    if "q" not in given:
        followed = (
            f"; to follow a run, GET /api/crew/runs/{data['run_id']}/events"
            if "run_id" in data
            else ""
        )
        raise _refusal([("q", f"is missing{followed}")])
    return {**data, **_object_or_text(given["q"])}


def _object_or_text(text: str) -> dict[str, Any]:
    """What `q` says: an object with a `query` string, else text as it is."""
    if text.startswith("{"):
        try:
            data = from_json(text)
        except ValueError:
            return {"query": text}
        if isinstance(data, dict) and isinstance(data.get("query"), str):
            return data
    return {"query": text}


def _check_length(text: str, settings: Settings) -> None:
    limit = int(settings.max_input_size_kb * 1000)
    if len(text) > limit:
        raise _refusal([("query", f"has {len(text):,} characters; at most {limit:,} are taken")])


def _check(kind: type[B], data: Any) -> B:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise _refusal(
            [
                (_field(e["loc"]), _message(e["type"], e["msg"]))
                for e in error.errors(include_url=False)
            ]
        ) from None


def _field(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _message(kind: str, message: str) -> str:
    match kind:
        case "missing" | "string_too_short":
            return "is missing"
        case "extra_forbidden":
            return "is unknown"
        case "value_error":
            return message.removeprefix("Value error, ")
        case _:
            return message[:1].lower() + message[1:]


def _refusal(problems: list[tuple[str, str]]) -> Refusal:
    told = [(field[:80], message) for field, message in problems[:MAX_PROBLEMS]]
    more = f"; and {len(problems) - len(told)} more" if len(problems) > len(told) else ""
    return Refusal(400, "; ".join(f"{field}: {message}" for field, message in told) + more, told)
