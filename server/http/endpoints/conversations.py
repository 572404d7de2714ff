"""Conversations: begun, listed, read, named, copied, exported, deleted."""

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.conversations import Conversation
from crew.routing.signals import Signal
from crew.runs.conversations.conversations import Conversations, as_markdown
from crew.runs.errors import NoConversations, UnknownConversation
from server.http.bodies import ChangeBody, ConversationBody, ForkConversationBody
from server.http.callers.rights import ID, caller_of, user_of
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import (
    JsonResponse,
    describe_conversation,
    describe_listed_conversation,
    export_document,
)
from server.http.services import services_of

# where the next page begins: when the last one was used, and its id
CURSOR = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z~[A-Za-z0-9_-]{1,128}"
)


async def list_conversations(request: Request) -> Response:
    """Answer GET /api/crew/conversations: a user's, last used first.

    Takes `user_id`, `limit` (50), `after` (the `next` of the page before) and `q` (a part of the
    title or of a query).
    """
    conversations = _conversations(request)
    given = parse_parameters(request)
    user_id, limit = user_of(request, given.get("user_id")), given["limit"]
    used_at, _, id_ = given.get("after", "").partition("~")
    after = (used_at, id_) if id_ else None
    found = await conversations.listed(user_id, limit + 1, after, given.get("q"))
    page = found[:limit]
    following = None
    if len(found) > limit:
        following = f"{page[-1].used_at}~{page[-1].conversation_id}"
    return JsonResponse(
        {"conversations": [describe_listed_conversation(one) for one in page], "next": following}
    )


async def create_conversation(request: Request) -> Response:
    """Answer POST /api/crew/conversations: begin one; 201. Takes a ConversationBody."""
    conversations = _conversations(request)
    body = await parse_body(request, services_of(request).settings, ConversationBody)
    user_id = user_of(request, body.user_id)
    return _begun(await conversations.create(user_id, body.title, body.metadata))


async def show_conversation(request: Request) -> Response:
    """Answer GET /api/crew/conversations/{id}: one, with its exchanges.

    Takes `user_id`, `limit` (50) and `after` (the number of the last exchange that is known).
    """
    given = parse_parameters(request)
    conversations, id_ = _conversations(request), _id_of(request)
    user_id, limit = user_of(request, given.get("user_id")), given["limit"]
    known = await conversations.get(user_id, id_)
    found = await conversations.exchanges(user_id, id_, given["after"], limit + 1)
    summary = await conversations.summary(user_id, id_)
    page = found[:limit]
    following = page[-1].number if len(found) > limit else None
    crew = services_of(request).runs.crew
    # people need not see them
    signals = () if crew.config.settings.show_signals else map(Signal.of, crew.signals)
    shown = export_document(known, page, summary, [*signals])
    return JsonResponse({**shown, "next": following})


async def change_conversation(request: Request) -> Response:
    """Answer PATCH /api/crew/conversations/{id}: name it. Takes a ChangeBody."""
    conversations, id_ = _conversations(request), _id_of(request)
    body = await parse_body(request, services_of(request).settings, ChangeBody)
    user_id = user_of(request, body.user_id)
    changed = await conversations.change(user_id, id_, body.title, body.metadata)
    return JsonResponse(describe_conversation(changed))


async def delete_conversation(request: Request) -> Response:
    """Answer DELETE /api/crew/conversations/{id}: 204.

    Takes `user_id`, and `cancel=1` to end its run first: 409 without it while one is at work.
    """
    given = parse_parameters(request)
    services, id_ = services_of(request), _id_of(request)
    user_id, cancels = user_of(request, given.get("user_id")), given["cancel"]
    request_id = request.state.request_id
    await _conversations(request).delete(user_id, id_, request_id, cancels=cancels)
    detail = f"conversation {id_}"
    await services.auditor.record(request, "delete", detail=detail, user_id=user_id)
    return Response(status_code=204)


async def fork_conversation(request: Request) -> Response:
    """Answer POST /api/crew/conversations/{id}/fork: another one with its first exchanges; 201.

    Takes a ForkConversationBody. To ask an exchange again, fork before it.
    """
    conversations, id_ = _conversations(request), _id_of(request)
    body = await parse_body(request, services_of(request).settings, ForkConversationBody)
    made = await conversations.fork(user_of(request, body.user_id), id_, body.through)
    url = (
        f"{request.url.path.rpartition('/conversations/')[0]}/conversations/{made.conversation_id}"
    )
    answer = {"conversation_id": made.conversation_id, "url": url}
    return JsonResponse(answer, 201, headers={"Location": url})


async def export_conversation(request: Request) -> Response:
    """Answer GET /api/crew/conversations/{id}/export: all of it.

    `format` is json (default) or md.
    """
    given = parse_parameters(request)
    conversations, id_ = _conversations(request), _id_of(request)
    user_id = user_of(request, given.get("user_id"))
    known = await conversations.get(user_id, id_)
    exchanges = await conversations.all_exchanges(user_id, id_)
    if given["format"] == "json":
        summary = await conversations.summary(user_id, id_)
        return JsonResponse(export_document(known, exchanges, summary))
    text = as_markdown(known, exchanges)
    return Response(text, media_type="text/markdown; charset=utf-8")


def _begun(made: Conversation) -> Response:
    url = f"/api/crew/conversations/{made.conversation_id}"
    answer = {"conversation_id": made.conversation_id, "url": url}
    return JsonResponse(answer, 201, headers={"Location": url})


def _conversations(request: Request) -> Conversations:
    services = services_of(request)
    if services.runs.crew.config.conversations is None:
        raise HttpProblem(404, str(NoConversations()), more={"code": "no-conversations"})
    return services.runs.conversations


def _id_of(request: Request) -> str:
    conversation_id: str = request.path_params["conversation_id"]
    # no store is asked for what cannot be an id: PostgreSQL takes no NUL
    if ID.fullmatch(conversation_id) is None:
        raise UnknownConversation(conversation_id[:128])
    place = caller_of(request).place
    if place is not None and place.conversation_id not in ("", conversation_id):
        raise UnknownConversation(conversation_id)
    return conversation_id
