"""What clients say: messages become a query and its history; what has no meaning here is named."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from crew.journal.query import Answer, Source
from crew.journal.wire import RunEvent
from crew.runs.errors import UnknownConversation, UnknownRun
from server.http.bodies import StartBody
from server.http.callers.rights import caller_of, own_run, user_of
from server.http.errors import HttpProblem, bad_request
from server.http.requests import ResumeRequest, StartRequest, check_body, read_json, start_of
from server.http.services import services_of
from server.protocols.pauses import CallReply, answer_in_words, answer_with, pause_calls

# of a conversation of the client that the crew does not keep; it stands with the run
MAX_LABEL = 128
LABEL_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-")
IGNORED = "X-Crew-Ignored"
# of people and models; the words of others never reach a model
SPEAKERS = ("user", "assistant")

# said alone, they are a yes to what is asked
YES = frozenset({"approve", "approved", "yes", "y", "ok", "okay", "ja", "oui", "có", "đồng ý"})


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

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What says so."""
        names = list(dict.fromkeys(self.ignored))
        return [(IGNORED.lower().encode(), ", ".join(names).encode())] if names else []


async def read_object(request: Request) -> dict[str, Any]:
    """Read the JSON object that a client sends; raises HttpProblem."""
    # it takes no parameters
    request.state.parameters = {}
    data: dict[str, Any] = await read_json(request, services_of(request).settings)
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
        if kind not in ("text", "input_text", "output_text") or not isinstance(part["text"], str):
            text = "is no text; only texts are taken here"
            raise bad_request([(f"{where}.content[{place}]", text)])
        texts.append(part["text"])
    return "\n".join(texts)


def start_from(
    request: Request, heard: ClientWords, conversation: str | None, *, deltas: bool
) -> tuple[StartRequest, Source | None]:
    """Return what starts a run: the last message of the user, with those before it.

    In a crew with conversations, what a client repeats of one is not read: the store has it.

    Args:
        request: the client's.
        heard: its messages; gets what is ignored.
        conversation: the client's name for it.
        deltas: text is wanted as it is written.

    Returns:
        The request, and what started it where the crew keeps no conversations.
    """
    services, caller = services_of(request), caller_of(request)
    crew = services.runs.crew
    if not heard.messages or heard.messages[-1][0] != "user":
        raise bad_request([("messages", "the last one must be the user's")])
    *history, (_, text) = heard.messages
    data: dict[str, Any] = {"query": text, "deltas": deltas}
    source = None
    if conversation and crew.config.conversations is not None:
        data["conversation_id"] = conversation
        if history:
            heard.ignored.append("messages before the last")
    else:
        data["history"] = [{"role": role, "content": text} for role, text in history]
        source = Source("api", label_of(conversation)) if conversation else None
    body = check_body(StartBody, data)
    agents = frozenset(crew.agents)
    return start_of(body, services.settings, agents, caller, user_of(request, None)), source


def label_of(conversation: str) -> str:
    """Return a client's name for a conversation; raises HttpProblem for one that cannot be."""
    if len(conversation) > MAX_LABEL or not set(conversation) <= LABEL_CHARACTERS:
        text = "is 1 to 128 of the characters A to Z, a to z, 0 to 9, _, ., : and -"
        raise bad_request([("conversation", text)])
    return conversation


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
