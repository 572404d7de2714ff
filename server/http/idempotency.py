"""The key under which the same request starts nothing a second time."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic_core import to_json
from starlette.requests import Request

from crew.journal.query import Answer, IdempotencyKey, Query
from crew.runs.documents.attaching import GivenAttachment
from crew.runs.documents.library import digest_of_bytes
from crew.runs.forks import ForkPoint
from server.http.callers.rights import caller_of
from server.http.errors import bad_request
from server.http.parameters import IDEMPOTENCY_KEY
from server.http.requests import ForkRequest, ResumeRequest, StartRequest
from server.tokens import Caller, Ticket

KEY = re.compile(r'"[!#-~ ]{1,255}"|[!#-~]{1,255}')


def idempotency_key(
    request: Request, asked: Query | StartRequest | ResumeRequest | ForkRequest
) -> IdempotencyKey | None:
    """Return the `Idempotency-Key` of a request; raises HttpProblem for a malformed one.

    A GET has it as the parameter `idempotency_key`: EventSource cannot send headers.

    Args:
        request: the request.
        asked: what it starts; the same key with something else is refused later.
    """
    caller, ticket = caller_of(request), caller_of(request).ticket
    own = None
    if ticket is not None and ticket.place is None:
        # a ticket for one start starts one run, and gives one answer, however often it is shown
        own = ticket_key(ticket)
        if isinstance(asked, ResumeRequest):
            own = f"{own}:answer"
    named = request_key(request, own)
    if named is None:
        return None
    # how it is streamed is no part of what is asked
    match asked:
        case ResumeRequest(run_id, answer, given):
            fingerprint = to_json([run_id, _answered(answer, given)])
        case ForkRequest(run_id, point):
            fingerprint = to_json([run_id, *_forked(point)])
        case StartRequest(query, given):
            fingerprint = to_json([None, *_asked(query, given, caller)])
        case Query():
            fingerprint = to_json([None, *_asked(asked, (), caller)])
    return IdempotencyKey(named, hashlib.sha256(fingerprint).hexdigest())


def request_key(request: Request, own: str | None = None) -> str | None:
    """Return the key of a request, as it is kept; raises HttpProblem for a malformed one.

    Args:
        request: has the key as a header, a GET as a parameter.
        own: what stands for that.
    """
    name, key = "Idempotency-Key", request.headers.get("idempotency-key")
    if request.method != "POST":
        name = IDEMPOTENCY_KEY
        key = request.query_params.get(name)
    key = own or key
    if key is None:
        return None
    if KEY.fullmatch(key) is None:
        raise bad_request([(name, "is 1 to 255 printable ASCII characters")])
    return owned_key(caller_of(request), key.strip('"'))


def _asked(query: Query, given: Sequence[GivenAttachment], caller: Caller) -> list[dict[str, Any]]:
    """Return what of a query makes it another one; in the form of versions without users."""
    fields = asdict(replace(query, deltas=False))
    user_id, conversation_id = fields.pop("user_id"), fields.pop("conversation_id")
    model = fields.pop("model")
    # what is given counts, and not under which id it is kept
    fields.pop("attachments")
    more: dict[str, Any] = {}
    if user_id != caller.user_id:
        more["user_id"] = user_id
    if conversation_id:
        more["conversation_id"] = conversation_id
    if model:
        more["model"] = model
    if given:
        more["attachments"] = _digests(given)
    return [fields, more] if more else [fields]


def _forked(point: ForkPoint) -> list[Any]:
    """Return what of a fork makes it another one; in the form of versions without other words."""
    more = [point.says, point.is_on_current]
    return [point.after, *more] if any(more) else [point.after]


def _answered(answer: Answer, given: Sequence[GivenAttachment]) -> dict[str, Any]:
    """Return what of an answer makes it another one; in the form of versions without images."""
    fields = asdict(replace(answer, deltas=False))
    fields.pop("attachments")
    return {**fields, "attachments": _digests(given)} if given else fields


def _digests(given: Sequence[GivenAttachment]) -> list[str]:
    return [one.document_id or digest_of_bytes(one.content) for one in given]


def ticket_key(ticket: Ticket) -> str:
    """Return the key by which a ticket starts its run."""
    return f"ticket:{ticket.nonce}"


def owned_key(caller: Caller, key: str) -> str:
    """Return a key as it is kept: each owner has keys of its own, and each place of tickets."""
    if (place := caller.place) is not None:
        return f"{caller.owner}:{to_json([place.user_id, place.conversation_id]).decode()}:{key}"
    return f"{caller.owner}:{key}"
