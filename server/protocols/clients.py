"""What clients say: messages become a query and its history; what has no meaning here is named."""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from crew.journal.query import CONTROL, IdempotencyKey, Source, id_error, is_blank
from crew.journal.records.rows import IdempotencyRecord
from crew.runs.errors import AlreadyStarted, UnknownRun, key_taken
from server.http.bodies import MAX_MESSAGE_BYTES, StartBody
from server.http.callers.rights import caller_of, own_run, require, user_of
from server.http.endpoints.starting import Started, replayed_start, start_or_resume
from server.http.errors import bad_request
from server.http.idempotency import request_key
from server.http.openapi.parameters import Parameter
from server.http.reading import check_body, read_json
from server.http.requests import RunRequest, StartRequest, start_of
from server.http.services import services_of

# of a conversation of the client that the crew does not keep; it stands with the run
LABEL = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
IGNORED, MAX_IGNORED = "X-Crew-Ignored", 50
NAME = re.compile(r"[A-Za-z0-9_.\[\] -]{1,60}")
# how it is sent is no part of what is asked
UNKEYED = frozenset({"stream", "stream_options"})
# of people and models; the words of others never reach a model
SPEAKERS = ("user", "assistant")
# parts of a message that are texts, and where each has it
TEXT_PARTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}


@dataclass(slots=True)
class ClientWords:
    """What a client's messages come to."""

    # role and text of each
    messages: list[tuple[str, str]] = field(default_factory=list)
    # what of the request has no meaning here
    ignored: list[str] = field(default_factory=list)

    def ignore(self, given: Mapping[str, Any], names: Iterable[str]) -> None:
        """Note the fields of these names that are given and say something."""
        self.ignored += [name for name in names if given.get(name) not in (None, [], {}, "")]

    def last_words(self) -> str:
        """Return what the user says now; raises HttpProblem where the last words are another's."""
        if not self.messages or self.messages[-1][0] != "user":
            raise bad_request([("messages", "the last one must be the user's")])
        if is_blank(self.messages[-1][1]):
            raise bad_request([("messages", "the last one has no words in it")])
        return self.messages[-1][1]

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What says so."""
        # names are a client's words
        safe = [one if NAME.fullmatch(one) else "?" for one in self.ignored[:MAX_IGNORED]]
        names = list(dict.fromkeys(safe))
        return [(IGNORED.lower().encode(), ", ".join(names).encode())] if names else []


async def read_object(request: Request, *takes: Parameter) -> dict[str, Any]:
    """Read the JSON object that a client sends; raises HttpProblem; `takes`: in the address."""
    known = {one.name: one for one in takes}
    request.state.parameters = known
    settings = services_of(request).settings
    data: dict[str, Any] = await read_json(request, settings, frozenset(known))
    return data


def hear(request: Request, messages: Any, field_name: str = "messages") -> ClientWords:
    """Read messages with `role` and `content`; raises HttpProblem for what is no text."""
    if not isinstance(messages, list):
        raise bad_request([(field_name, "must be a list of messages")])
    heard, settings = ClientWords(), services_of(request).settings
    for place, one in enumerate(messages):
        where = f"{field_name}[{place}]"
        if not isinstance(one, dict) or not isinstance(one.get("role"), str):
            raise bad_request([(where, "must be an object with a role and content")])
        role = one["role"]
        if role == "system" and settings.allow_client_system:
            heard.messages.append((role, message_text(one.get("content"), where)))
        elif role not in SPEAKERS:
            # forged results and instructions among them
            heard.ignored.append(f"{field_name}.{role[:20]}")
        elif text := message_text(one.get("content"), where):
            heard.messages.append((role, text))
    return heard


def message_text(content: Any, where: str) -> str:
    """Return the text of a message's content; raises HttpProblem for anything else in it."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise bad_request([(f"{where}.content", "must be a text, or a list of parts")])
    texts = []
    for place, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        key = TEXT_PARTS.get(kind) if isinstance(kind, str) else None
        found = part.get(key) if key is not None else None
        if not isinstance(found, str):
            text = "is no text; only texts are taken here"
            raise bad_request([(f"{where}.content[{place}]", text)])
        texts.append(found)
    return "\n".join(texts)


def start_from(
    request: Request, heard: ClientWords, conversation: str | None, *, deltas: bool
) -> tuple[StartRequest, Source | None]:
    """Return what starts a run: the last message of the user, with those before it.

    In a crew with conversations, what a client repeats of one no model is shown: the store has it.

    Args:
        request: the client's.
        heard: its messages; gets what is ignored.
        conversation: that it goes on with; where the crew keeps none, the client's name for it.
        deltas: text is wanted as it is written.

    Returns:
        The request, and what started it where the crew keeps no conversations.
    """
    services, caller = services_of(request), caller_of(request)
    crew = services.runs.crew
    text, history = heard.last_words(), heard.messages[:-1]
    data: dict[str, Any] = {"query": text, "deltas": deltas}
    source = None
    if conversation and crew.config.conversations is not None:
        data["conversation_id"] = conversation
        if history:
            heard.ignored.append("messages before the last")
    else:
        data["history"] = [{"role": role, "content": _taken(role, text)} for role, text in history]
        source = Source("api", label_of(conversation)) if conversation else None
    body = check_body(StartBody, data)
    agents = frozenset(crew.agents)
    return start_of(body, services.settings, agents, caller, user_of(request, None)), source


def _taken(role: str, text: str) -> str:
    """Return a message as history may have it: an answer that a client repeats is the crew's own.

    It may hold what tools gave, which no client could change.
    """
    if role != "assistant":
        return text
    kept = CONTROL.sub("", text)
    return kept.encode()[:MAX_MESSAGE_BYTES].decode(errors="ignore")


def kept_name(request: Request, name: str | None) -> str | None:
    """Return a client's name for a conversation as the crew keeps it.

    What no id may be, such as `local:x` of Open WebUI's temporary chats, has always the same other
    one.
    """
    has_conversations = services_of(request).runs.crew.config.conversations is not None
    if not name or not has_conversations or id_error(name) is None:
        return name
    return f"c-{hashlib.blake2b(name.encode(errors='replace'), digest_size=16).hexdigest()}"


def label_of(conversation: str) -> str:
    """Return a client's name for a conversation; raises HttpProblem for one that cannot be."""
    if LABEL.fullmatch(conversation) is None:
        text = "is 1 to 128 of the characters A to Z, a to z, 0 to 9, _, ., : and -"
        raise bad_request([("conversation", text)])
    return conversation


# what a request asks for, and what starts it where the request does not say so
Decide = Callable[[], Awaitable[tuple[RunRequest, Source | None]]]


async def begin_once(
    request: Request,
    data: Mapping[str, Any],
    decide: Decide,
    own: Sequence[str] = (),
    *,
    tries_again: bool = False,
) -> Started:
    """Start or resume a run by a request, once: the same one again begins nothing.

    Args:
        request: the client's.
        data: its body.
        decide: says what it asks for; by what is stored then, so the key is looked for first. It
            raises AlreadyStarted where that was begun by another request already.
        own: what names the request in its protocol, in place of the header `Idempotency-Key`.
        tries_again: where the run of the same request has failed, it is another try.
    """
    key = None
    if (given := request_key(request, _digest(list(own)) if own else None)) is not None:
        asked = {name: one for name, one in data.items() if name not in UNKEYED}
        key = IdempotencyKey(given, _digest(asked))
        record = await services_of(request).runs.store.idempotency_record(key.key)
        if record is not None and tries_again and await _has_failed(request, record):
            key = record = None
        if record is not None and key is not None:
            if not {"run", "answer"} & caller_of(request).scopes:
                require(request, "run")
            taken = key_taken(key, record)
            if isinstance(taken, AlreadyStarted):
                return replayed_start(request, taken, deltas=False)
            raise taken
    try:
        wanted, source = await decide()
    except AlreadyStarted as error:
        return replayed_start(request, error, deltas=False)
    return await start_or_resume(request, wanted, key, source)


async def _has_failed(request: Request, record: IdempotencyRecord) -> bool:
    """Return whether the run of a record has ended without an answer."""
    try:
        row = await own_run(request, record.run_id)
    except UnknownRun:
        return False
    return row.status in ("failed", "cancelled")


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
