"""Tickets: what an EventSource shows in its URL in place of a token.

A ticket is signed with the token that it was made with, so every replica can check it, and it is
void once that token is revoked. It is for one run, or for one start.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import replace

from server.tokens import Caller, Scope, Ticket, Token, Tokens

# to connect for the first time
CONNECT_SECONDS = 60
# to come back after a lost connection
RECONNECT_SECONDS = 24 * 3600
# `answer`: in words, in the run that it began or names
SCOPES: frozenset[Scope] = frozenset({"read", "run", "answer"})


def make_ticket(token: Token, run_id: str | None) -> str:
    """Make a ticket of a caller's, for a run that it sees, or None: for a start."""
    until = int(time.time()) + CONNECT_SECONDS
    payload = json.dumps([token.id, run_id, secrets.token_hex(16), until]).encode()
    return f"{_encode(payload)}.{_encode(_sign(token, payload))}"


def read_ticket(tokens: Tokens, text: str, *, comes_back: bool) -> Caller | None:
    """Read who shows a ticket; None if it is none of ours, or its time is over.

    Args:
        tokens: of the server.
        text: the ticket.
        comes_back: it continues a stream.
    """
    body, _, signature = text.partition(".")
    try:
        payload, given = _decode(body), _decode(signature)
        token_id, run_id, nonce, until = json.loads(payload)
    except (ValueError, TypeError, RecursionError):
        return None
    token = tokens.by_id(str(token_id))
    if token is None or not hmac.compare_digest(_sign(token, payload), given):
        return None
    if time.time() > until + (RECONNECT_SECONDS if comes_back else 0):
        return None
    scopes = token.caller.scopes & SCOPES
    return replace(token.caller, scopes=scopes, ticket=Ticket(run_id, nonce))


def _sign(token: Token, payload: bytes) -> bytes:
    return hmac.digest(token.digest + b"ticket", payload, hashlib.sha256)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
