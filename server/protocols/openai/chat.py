"""`POST /v1/chat/completions`: the messages of a conversation, and its answer."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.query import Source
from server.http.errors import bad_request
from server.http.requests import RunRequest
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.http.sse import EventStream
from server.protocols.answers import answer_to, paused_run, require_new_words
from server.protocols.branches import branch_for
from server.protocols.clients import begin_once, hear, read_object, start_from
from server.protocols.folds import (
    BEGUN,
    FoldedForm,
    data_line,
    fold_to_end,
    live_agents,
    speech_of,
    stream_of,
    write_until_done,
)
from server.protocols.openai.chat_fold import ChatFold
from server.protocols.openai.shape import (
    REFUSED,
    named_conversation,
    refuse_chore,
    refuse_fields,
    require_model,
    with_place,
)

READ = frozenset({"model", "messages", "stream", "stream_options"})
BAD_GATEWAY = 502


async def complete(request: Request) -> Response | EventStream:
    """Answer POST /v1/chat/completions."""
    data = await read_object(request)
    model = require_model(request, data)
    refuse_fields(data)
    heard = hear(request, data.get("messages"))
    heard.ignore(data, sorted(data.keys() - READ - REFUSED.keys()))
    if heard.messages:
        refuse_chore(heard.messages[-1][1])
    streams, options = data.get("stream") or False, data.get("stream_options") or {}
    if not isinstance(streams, bool) or not isinstance(options, dict):
        raise bad_request([("stream", "is true or false; stream_options is an object")])
    conversation = named_conversation(request)

    async def decide() -> tuple[RunRequest, Source | None]:
        branch = await branch_for(request, conversation, heard.messages)
        run_id = await paused_run(request, branch)
        if run_id is None:
            return start_from(request, heard, branch, deltas=streams)
        await require_new_words(request, run_id, heard.messages)
        return await answer_to(request, run_id, heard.last_words(), deltas=streams), None

    started = await begin_once(request, with_place(request, data), decide)
    crew = services_of(request).runs.crew
    fold = ChatFold(
        started.run_id,
        model,
        speech_of(crew),
        live_agents(crew),
        thinks=request.app.state.settings.shows_thinking,
        has_usage=options.get("include_usage") is True,
    )
    headers = [*heard.headers, *started.headers]
    if streams:
        form = FoldedForm(fold, started.before, write_until_done, fail_completion)
        return stream_of(
            request, started.run_id, started.before, form, deltas=True, headers=headers
        )
    frames = await fold_to_end(request, started, fold)
    if isinstance(frames, Response):
        return frames
    response = _whole(fold)
    response.raw_headers += headers
    return response


def fail_completion(text: str) -> bytes:
    """Return what ends a stream of a run that goes on elsewhere."""
    error = {"message": text, "type": "server_error", "param": None, "code": "unavailable"}
    return data_line({"error": error})


def _whole(fold: ChatFold) -> JsonResponse:
    if fold.error is not None:
        return JsonResponse(fold.error, BAD_GATEWAY, headers=BEGUN)
    message: dict[str, Any] = {"role": "assistant", "content": fold.content, "refusal": None}
    if fold.thinking:
        message["reasoning_content"] = fold.thinking
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": fold.finish}
    document = {
        "id": fold.id,
        "object": "chat.completion",
        "created": fold.created,
        "model": fold.model,
        "choices": [choice],
        "usage": fold.usage,
        "crew": fold.known,
    }
    return JsonResponse(document)
