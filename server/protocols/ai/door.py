"""`POST /ai` and `GET /ai/{id}/stream`: what `useChat` sends, and the streams that it reads."""

import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from crew.journal.query import Source
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from crew.runs.errors import UnknownRun
from server.http.callers.rights import caller_of, own_run, require
from server.http.door import Door
from server.http.errors import HttpProblem, bad_request
from server.http.requests import ResumeRequest, RunRequest, refuse_head
from server.http.services import services_of
from server.http.sse import EventStream
from server.protocols.ai.fold import AiFold
from server.protocols.answers import (
    answer_to,
    pause_at,
    paused_run,
    require_new_words,
    resume_with,
    segment_of,
)
from server.protocols.branches import branch_for, branches_of, require_thread
from server.protocols.clients import ClientWords, begin_once, kept_name, read_object, start_from
from server.protocols.folds import (
    FoldedForm,
    data_line,
    live_agents,
    speech_of,
    stream_of,
    write_until_done,
)
from server.protocols.pauses import CallReply, answer_with, parse_place, pause_calls

PATH = "/ai"
VERSION = (b"x-vercel-ai-ui-message-stream", b"v1")
READ = frozenset({"id", "messages", "trigger", "messageId"})
TRIGGERS = ("submit-message", "regenerate-message")


def open_ai() -> Door:
    """Return the door of the AI SDK's UI stream."""
    routes = [
        Route(PATH, chat, methods=["POST"]),
        Route(f"{PATH}/{{chat_id}}/stream", resume_stream, methods=["GET"]),
    ]
    return Door("ai", routes, (PATH,), refuse_chat, starts=re.compile(PATH))


def refuse_chat(problem: HttpProblem, path: str) -> Response:
    """Return a problem as the SDK shows it: its words."""
    return PlainTextResponse(problem.detail, problem.status, dict(problem.headers or {}))


async def chat(request: Request) -> Response | EventStream:
    """Answer POST /ai: the newest message of a chat begins a run, or answers its pause."""
    data = await read_object(request)
    chat_id = data.get("id")
    if chat_id is not None and not isinstance(chat_id, str):
        raise bad_request([("id", "must be a text")])
    trigger = data.get("trigger", TRIGGERS[0])
    if trigger not in TRIGGERS:
        raise bad_request([("trigger", f"is one of {', '.join(TRIGGERS)}")])
    heard, messages = _heard(request, data.get("messages"))
    heard.ignore(data, sorted(data.keys() - READ))

    async def decide() -> tuple[RunRequest, Source | None]:
        chat = kept_name(request, chat_id)
        is_again, newest = trigger == TRIGGERS[1], messages[-1]
        # the message that is replaced; with the first one, nothing else is repeated that shows it
        name = data.get("messageId") if newest.get("role") == "user" else None
        is_edited = name is not None and newest.get("id") == name
        return await _asked(request, heard, messages, chat, is_again=is_again, is_edited=is_edited)

    own = () if "idempotency-key" in request.headers else _name_of(data, messages)
    # the id of the newest message says what is the same
    named = {} if own else data
    started = await begin_once(request, named, decide, own, tries_again=bool(own))
    form = _form(request, started.run_id, started.before)
    headers = [VERSION, *heard.headers, *started.headers]
    return stream_of(request, started.run_id, started.before, form, deltas=True, headers=headers)


def _name_of(data: dict[str, Any], messages: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return what names a request that says something new: the id of its newest message.

    (): it has none, or wants an answer anew.
    """
    newest, said = messages[-1], [one["parts"] for one in messages]
    id_, is_said = newest.get("id"), newest.get("role") == "user" or len(messages) == 1
    is_anew = data.get("trigger", TRIGGERS[0]) != TRIGGERS[0]
    if is_anew or not is_said or not isinstance(id_, str) or data.get("id") is None:
        return ()
    return ("ai", str(data["id"]), id_, json.dumps(said, sort_keys=True))


async def resume_stream(request: Request) -> Response | EventStream:
    """Answer GET /ai/{id}/stream: the run of a chat that is at work; 204 where none is."""
    refuse_head(request)
    require(request, "read")
    row = await _at_work(request, request.path_params["chat_id"])
    if row is None:
        return Response(status_code=204)
    # the client has none of the segment's message
    newest = await services_of(request).runs.last_seq(row.run_id)
    before = await segment_of(request, row.run_id, newest) - 1
    form = _form(request, row.run_id, before)
    return stream_of(
        request, row.run_id, before, form, deltas=True, headers=[VERSION], needed=False
    )


def _form(request: Request, run_id: str, before: int) -> FoldedForm:
    crew = services_of(request).runs.crew
    fold = AiFold(run_id, speech_of(crew), live_agents(crew))
    return FoldedForm(fold, before, write_until_done, fail_ui_stream)


def fail_ui_stream(text: str) -> bytes:
    """Return what ends a stream of a run that goes on elsewhere."""
    return data_line({"type": "error", "errorText": text})


async def _at_work(request: Request, chat_id: str) -> RunRow | None:
    """Return the newest run of a chat, if it is at work."""
    services, caller = services_of(request), caller_of(request)
    # names of chats are each owner's own, an administrator's too
    owner = caller.owner
    if services.runs.crew.config.conversations is None:
        wanted = RunFilter(status="running", owner=owner, source_name=chat_id)
        rows = await services.runs.store.rows(wanted, 1)
        return rows[0] if rows else None
    chat = kept_name(request, chat_id) or chat_id
    names = [one.conversation_id for one in await branches_of(request, chat)]
    for name in reversed(names):
        wanted = RunFilter(status="running", owner=owner, conversation_id=name)
        if rows := await services.runs.store.rows(wanted, 1):
            return rows[0]
    return None


def _heard(request: Request, messages: Any) -> tuple[ClientWords, list[dict[str, Any]]]:
    """Return the texts of a chat's messages, and the messages."""
    if not isinstance(messages, list) or not messages:
        raise bad_request([("messages", "must be a list of messages")])
    heard, roles = ClientWords(), ["user", "assistant"]
    roles += ["system"] if services_of(request).settings.allow_client_system else []
    for place, one in enumerate(messages):
        where = f"messages[{place}]"
        if not isinstance(one, dict) or not isinstance(one.get("parts"), list):
            raise bad_request([(where, "must be an object with a role and parts")])
        if one.get("role") not in roles:
            heard.ignored.append(f"messages.{str(one.get('role'))[:20]}")
            continue
        texts = []
        for number, part in enumerate(one["parts"]):
            kind = part.get("type") if isinstance(part, dict) else None
            if not isinstance(kind, str):
                raise bad_request([(f"{where}.parts[{number}]", "must be an object with a type")])
            if kind == "text" and isinstance(part.get("text"), str):
                texts.append(part["text"])
            elif one["role"] != "assistant":
                text = "is no text; only texts are taken here"
                raise bad_request([(f"{where}.parts[{number}]", text)])
        if text := "\n".join(texts):
            heard.messages.append((one["role"], text))
    return heard, messages


async def _asked(
    request: Request,
    heard: ClientWords,
    messages: list[dict[str, Any]],
    chat_id: str | None,
    *,
    is_again: bool,
    is_edited: bool,
) -> tuple[RunRequest, Source | None]:
    if messages[-1].get("role") == "assistant":
        return await _approved(request, messages[-1], chat_id), None
    branch = await branch_for(request, chat_id, heard.messages, again=is_again or is_edited)
    run_id = await paused_run(request, branch) or await _paused_before(request, messages)
    if is_again and run_id is not None:
        raise HttpProblem(409, "the run waits for an answer: it cannot be asked anew meanwhile")
    if run_id is not None:
        pause = await pause_at(request, run_id)
        if pause.metadata.get("question") in ("approval", "unknown_outcome", "restored"):
            answered = _answers_of(messages, (run_id, pause.seq))
            if answered is not None:
                # what was typed meanwhile is said when it has gone on
                heard.ignored.append("messages.text")
                return await _approved(request, answered, chat_id), None
            raise HttpProblem(409, "the run waits for a decision: answer its approval request")
        is_named = bool(_name_of({"id": chat_id}, messages))
        await require_new_words(request, run_id, heard.messages, is_named=is_named)
        return await answer_to(request, run_id, heard.last_words(), deltas=True), None
    return start_from(request, heard, branch, deltas=True)


def _answers_of(
    messages: list[dict[str, Any]], place: tuple[str, int | None]
) -> dict[str, Any] | None:
    """Return the newest message of the assistant, if it answers approvals of a pause."""
    newest = next((one for one in reversed(messages) if one.get("role") == "assistant"), None)
    for part in newest["parts"] if newest is not None else ():
        approval = part.get("approval") if isinstance(part, dict) else None
        if part.get("state") == "approval-responded" and isinstance(approval, dict):
            found = parse_place(str(approval.get("id")))
            return newest if found is not None and found[:2] == place else None
    return None


async def _paused_before(request: Request, messages: list[dict[str, Any]]) -> str | None:
    """Return the run of the message before the last one, if it waits for words; else None."""
    before = messages[-2] if len(messages) > 1 else {}
    if before.get("role") != "assistant" or not isinstance(before.get("id"), str):
        return None
    run_id = before["id"].partition(":")[0]
    try:
        row = await own_run(request, run_id)
    except UnknownRun:
        return None
    return run_id if row.status == "paused" else None


async def _approved(
    request: Request, message: dict[str, Any], chat_id: str | None
) -> ResumeRequest:
    """Return what a message of a chat says to the calls of the pause that its run waits in."""
    found: dict[str, dict[str, Any]] = {}
    for part in message["parts"]:
        approval = part.get("approval") if isinstance(part, dict) else None
        if part.get("state") == "approval-responded" and isinstance(approval, dict):
            if str(approval.get("id")) in found:
                raise bad_request([("messages", "answers an approval twice")])
            found[str(approval.get("id"))] = approval
    places = {(place[0], place[1]) for name in found if (place := parse_place(name)) is not None}
    if len(places) != 1 or len(found) != sum(parse_place(name) is not None for name in found):
        text = "the last message must be the user's, or answer the approvals of one pause"
        raise bad_request([("messages", text)])
    ((run_id, seq),) = places
    if chat_id is not None:
        require_thread(await own_run(request, run_id), chat_id)
    pause = await pause_at(request, run_id, seq)
    asked, replies = pause_calls(run_id, pause, ""), []
    for one in asked:
        approval = found.pop(one.id, None) or {}
        if not isinstance(approval.get("approved"), bool):
            raise bad_request([("messages", f"answers no approval of {one.id}")])
        reason = str(approval.get("reason") or "")
        replies.append(CallReply(one, approval["approved"], reason=reason))
    if found:
        raise bad_request([("messages", "answers approvals that this pause does not ask for")])
    return resume_with(request, run_id, answer_with(replies, caller_of(request), deltas=True))
