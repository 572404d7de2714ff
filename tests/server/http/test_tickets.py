"""Tickets end: a minute to connect, a day to come back."""

import json
import time

import pytest

from server.http.callers.tickets import (
    CONNECT_SECONDS,
    RECONNECT_SECONDS,
    TicketOver,
    _encode,
    _sign,
    make_ticket,
    read_ticket,
)
from server.tokens import Tokens


def made(tokens: Tokens, until: float) -> str:
    """A ticket that is good until a time, signed as the server signs it."""
    payload = json.dumps([tokens.anonymous.id, None, "n" * 32, int(until)]).encode()
    return f"{_encode(payload)}.{_encode(_sign(tokens.anonymous, payload))}"


@pytest.mark.parametrize(
    ("left", "comes_back", "is_good"),
    [
        (CONNECT_SECONDS, False, True),
        (-2, False, False),
        (-2, True, True),
        (-RECONNECT_SECONDS + 60, True, True),
        (-RECONNECT_SECONDS - 2, True, False),
    ],
)
def test_a_ticket_ends(left: float, comes_back: bool, is_good: bool):
    """Later for who was connected."""
    tokens = Tokens()
    ticket = made(tokens, time.time() + left)
    if is_good:
        assert read_ticket(tokens, ticket, comes_back=comes_back) is not None
        return
    with pytest.raises(TicketOver):
        read_ticket(tokens, ticket, comes_back=comes_back)


def test_a_new_ticket_is_good_for_a_minute():
    """And says who made it."""
    tokens = Tokens()
    ticket = make_ticket(tokens.anonymous, "run1")
    caller = read_ticket(tokens, ticket, comes_back=False)
    assert caller is not None
    assert caller.ticket is not None
    assert caller.ticket.run_id == "run1"
