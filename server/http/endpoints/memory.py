"""What is remembered of a person: read, corrected, added to and forgotten."""

import re

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.remembered.core import CoreVersion
from crew.runs.errors import ItemRefused, RecallFull, UnknownBlock, UnknownItem
from server.http.bodies import CoreBody, ItemBody
from server.http.callers.rights import ID, caller_of, named_user
from server.http.errors import HttpProblem, bad_request
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse, describe_block, describe_item
from server.http.services import services_of

# of a header If-Match: the version that is changed, or any
VERSION = re.compile(r'(?:W/)?"?([0-9]{1,9})"?')


async def show_core(request: Request) -> Response:
    """Answer GET /api/crew/users/{user}/core/{block}: the block as it is now.

    Takes `conversation_id`, for a block of a conversation. Its version is in `ETag`, too.
    """
    user_id, block, conversation_id = _place(request)
    core = services_of(request).runs.memory.core
    return _described(await core.get(block, user_id, conversation_id))


async def change_core(request: Request) -> Response:
    """Answer PUT /api/crew/users/{user}/core/{block}: the block with this value. Takes a CoreBody.

    `If-Match` names the version that is changed (0 before the first change): 412 with the present
    one where it is another, or where there is no such header.
    """
    services = services_of(request)
    user_id, block, conversation_id = _place(request)
    core = services.runs.memory.core
    known = await core.get(block, user_id, conversation_id)
    if known.owner == "crew" and "admin" not in caller_of(request).scopes:
        raise HttpProblem(403, f"{block} is the crew's: to change it needs the scope 'admin'")
    beside = frozenset({"conversation_id"})
    body = await parse_body(request, services.settings, CoreBody, beside)
    given = request.headers.get("If-Match", "").strip()
    found = VERSION.fullmatch(given)
    if found is None and given != "*":
        text = f"If-Match names the version that is changed; it is {known.version} now"
        raise HttpProblem(412, text, more={"version": known.version})
    expected = int(found[1]) if found is not None else None
    who = caller_of(request).owner
    made = await core.put(block, body.value, expected, who, user_id, conversation_id)
    services.metrics.count_memory("edited", "person")
    detail = f"{made.owner}, {block}, {made.version}"
    await services.auditor.record(request, "memory", detail=detail)
    return _described(made)


async def list_items(request: Request) -> Response:
    """Answer GET /api/crew/users/{user}/recall: what is remembered of a user, newest first.

    Takes `q` (words that find them: then the best come first, and there is no further page),
    `replaced` (those, too, that others have taken the place of; with `q` behind the rest), `limit`
    (50), `after` (the `next` of the page before) and `conversation_id`, where items belong to one.
    """
    recall = services_of(request).runs.memory.recall
    given = parse_parameters(request)
    place = named_user(request), given.get("conversation_id", "")
    limit, query = given["limit"], given.get("q")
    if query is not None:
        if given.get("after"):
            raise bad_request([("after", "words find the best items: leave it out, or q")])
        found = await recall.searched(*place, query, limit, replaced=given["replaced"])
        return JsonResponse({"items": [describe_item(one) for one in found], "next": None})
    after, replaced = given.get("after", ""), given["replaced"]
    found = await recall.listed(*place, limit + 1, after, replaced=replaced)
    page = found[:limit]
    following = page[-1].item_id if len(found) > limit else None
    return JsonResponse({"items": [describe_item(one) for one in page], "next": following})


async def add_item(request: Request) -> Response:
    """Answer POST /api/crew/users/{user}/recall: remember something; 201. Takes an ItemBody."""
    services = services_of(request)
    given = parse_parameters(request)
    place = named_user(request), given.get("conversation_id", "")
    beside = frozenset({"conversation_id"})
    body = await parse_body(request, services.settings, ItemBody, beside)
    who = caller_of(request).owner
    recall = services.runs.memory.recall
    try:
        item, done = await recall.add(
            *place, who, body.text, body.key, body.topics, body.importance
        )
    except (ItemRefused, RecallFull) as error:
        reason = "full" if isinstance(error, RecallFull) else "value"
        services.metrics.memory_refused.labels(reason).inc()
        raise
    services.metrics.count_memory(done.op, "person")
    detail = f"{item.owner}, {item.item_id}"
    await services.auditor.record(request, "memory", detail=detail)
    return JsonResponse({"op": done.op, "item": describe_item(item)}, status_code=201)


async def forget_item(request: Request) -> Response:
    """Answer DELETE /api/crew/users/{user}/recall/{item_id}: forget it; 204."""
    services = services_of(request)
    given = parse_parameters(request)
    place = named_user(request), given.get("conversation_id", "")
    item_id = request.path_params["item_id"]
    if ID.fullmatch(item_id) is None:
        raise UnknownItem("there is no such item")
    await services.runs.memory.recall.delete(*place, item_id)
    services.metrics.count_memory("forgot", "person")
    detail = f"forgot {item_id} of {place[0]}"
    await services.auditor.record(request, "memory", detail=detail)
    return Response(status_code=204)


def _place(request: Request) -> tuple[str, str, str]:
    """Return the user, the block and the conversation of a request; raises HttpProblem."""
    given = parse_parameters(request)
    user_id, block = named_user(request), request.path_params["block"]
    if ID.fullmatch(block) is None:
        raise UnknownBlock("there is no such block of core memory")
    return user_id, block, given.get("conversation_id", "")


def _described(one: CoreVersion) -> Response:
    return JsonResponse(describe_block(one), headers={"ETag": f'"{one.version}"'})
