"""Tickets: what an EventSource shows in its URL in place of a token.

A ticket is signed with the token that it was made with, so every replica can check it, and it is
void once that token is revoked. It is for one run, or for one start; or, until its end, for all
runs of a person or of one conversation: a page of that person shows it as a token.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import replace
from typing import Any

from server.tokens import Caller, Scope, Ticket, TicketPlace, Token, Tokens

# to connect for the first time
CONNECT_SECONDS = 60
# to come back after a lost connection
RECONNECT_SECONDS = 24 * 3600
# `answer`: in words, in the run that it began or names
SCOPES: frozenset[Scope] = frozenset({"read", "run", "answer"})


class TicketOver(Exception):
    """A ticket of ours, the time of which is over."""


def make_ticket(token: Token, run_id: str | None) -> str:
    """Make a ticket of a caller's, for a run that it sees, or None: for a start."""
    return _write(token, [run_id, secrets.token_hex(16), int(time.time()) + CONNECT_SECONDS])


def make_place_ticket(
    token: Token, place: TicketPlace, scopes: frozenset[Scope], seconds: int
) -> str:
    """Make a ticket for the runs of a person, or of one conversation.

    Args:
        token: that it is made with.
        place: the person, or the conversation.
        scopes: what may be done; no more than the token may.
        seconds: until it ends.
    """
    until = int(time.time()) + seconds
    given = [place.user_id, place.conversation_id, sorted(scopes)]
    return _write(token, [None, secrets.token_hex(16), until, *given])


def _write(token: Token, given: list[Any]) -> str:
    payload = json.dumps([token.id, *given]).encode()
    return f"{_encode(payload)}.{_encode(_sign(token, payload))}"


def read_ticket(
    tokens: Tokens, text: str, *, comes_back: bool = False, in_url: bool = True
) -> Caller | None:
    """Read who shows a ticket; None if it is none of ours, or is shown where it may not be.

    Args:
        tokens: of the server.
        text: the ticket.
        comes_back: it continues a stream.
        in_url: it was shown in an address; one for a run, or a start, is shown nowhere else.

    Raises:
        TicketOver
    """
    body, _, signature = text.partition(".")
    try:
        payload, given = _decode(body), _decode(signature)
        token_id, run_id, nonce, until, *more = json.loads(payload)
    except (ValueError, TypeError, RecursionError):
        return None
    token = tokens.by_id(str(token_id))
    if token is None or not hmac.compare_digest(_sign(token, payload), given):
        return None
    scopes = token.caller.scopes & SCOPES
    if more:
        user_id, conversation_id, own = more
        ticket = Ticket(None, nonce, TicketPlace(user_id, conversation_id), in_url)
        if time.time() > until:
            raise TicketOver
        return replace(token.caller, scopes=scopes & set(own), ticket=ticket)
    if not in_url:
        return None
    if time.time() > until + (RECONNECT_SECONDS if comes_back else 0):
        raise TicketOver
    return replace(token.caller, scopes=scopes, ticket=Ticket(run_id, nonce))


def _sign(token: Token, payload: bytes) -> bytes:
    return hmac.digest(token.digest + b"ticket", payload, hashlib.sha256)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
