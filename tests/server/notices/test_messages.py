"""What each kind of channel is sent."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from crew.config.keys.notify import ChannelConfig, ChannelConfigs
from crew.journal.records.rows import Notice
from server.notices.messages import email_of, link_of, place_of, post_of

CHANNELS: TypeAdapter[ChannelConfigs] = TypeAdapter(ChannelConfigs)
NOTICE = Notice(
    "r1:7:x", "x", "pause", "2026-01-02T03:04:05.000Z", "shop", "r1", 7, "paused", "paused",
    "b", "slow & <why>?", "May I restart it?", "2026-01-02T04:00:00.000Z",
)  # fmt: skip
LINK = "https://crew.example.com/runs/r1"


def channel(**keys: Any) -> Any:
    """A channel of these keys."""
    return CHANNELS.validate_python({"x": keys})["x"]


def sent(config: Any, notice: Notice = NOTICE, link: str | None = LINK) -> tuple[Any, Any]:
    """The address and headers, and the document."""
    post = post_of(config, notice, link, 1_700_000_000.9)
    return (post.url, post.headers), json.loads(post.body)


def test_a_webhook_gets_all_of_it():
    """Under the same key each time."""
    hook = channel(kind="webhook", url="https://x.example/in", headers={"X-Team": "it"})
    (url, headers), document = sent(hook)
    assert url == "https://x.example/in"
    assert headers == {
        "Content-Type": "application/json",
        "Idempotency-Key": "r1:7:x",
        "X-Team": "it",
    }
    assert document == {
        "event": "pause",
        "id": "r1:7:x",
        "at": "2026-01-02T03:04:05.000Z",
        "crew": "shop",
        "run_id": "r1",
        "path": "/runs/r1",
        "seq": 7,
        "status": "paused",
        "reason": "paused",
        "agent_id": "b",
        "query": "slow & <why>?",
        "text": "May I restart it?",
        "until": "2026-01-02T04:00:00.000Z",
        "url": LINK,
    }


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        ("plain words", b"plain words"),
        ("whsec_" + base64.b64encode(b"\x00\xff").decode(), b"\x00\xff"),
    ],
)
def test_a_signature_is_that_of_standard_webhooks(secret: str, key: bytes):
    """Over id, time and body."""
    hook = channel(kind="webhook", url="https://x.example/in", secret=secret)
    post = post_of(hook, NOTICE, None, 1_700_000_000.9)
    assert (post.headers["webhook-id"], post.headers["webhook-timestamp"]) == (
        "r1:7:x",
        "1700000000",
    )
    digest = hmac.new(key, b"r1:7:x.1700000000." + post.body, hashlib.sha256).digest()
    assert post.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


def test_slack_gets_a_text():
    """In which a crew's words are no markup."""
    _, document = sent(channel(kind="slack", url="https://hooks.slack.com/services/T/B/x"))
    assert document == {
        "text": "shop waits for an answer\nslow &amp; &lt;why&gt;?\nMay I restart it?\n"
        f"until 2026-01-02T04:00:00.000Z\n<{LINK}>"
    }


def test_ntfy_gets_a_push():
    """At the server's own address, with the topic in the document."""
    ntfy = channel(kind="ntfy", url="https://ntfy.example/sub/on-call/", token="tk_1")
    (url, headers), document = sent(ntfy)
    assert (url, headers["Authorization"]) == ("https://ntfy.example/sub", "Bearer tk_1")
    assert document == {
        "topic": "on-call",
        "title": "shop waits for an answer",
        "message": "slow & <why>?\nMay I restart it?\nuntil 2026-01-02T04:00:00.000Z",
        "priority": 4,
        "click": LINK,
    }


MAIL = {
    "kind": "email",
    "host": "smtp.example.com",
    "sender": "crew@x.example",
    "to": ["a@x.example"],
}


def test_an_email_has_one_id():
    """So that one that comes twice is shown once."""
    email = email_of(channel(**MAIL), NOTICE, LINK)
    assert email["Message-ID"] == "<r1%3A7%3Ax@x.example>"
    assert (email["Subject"], email["From"], email["To"]) == (
        "shop waits for an answer",
        "crew@x.example",
        "a@x.example",
    )
    assert email.get_content().split("\n\n") == [
        "slow & <why>?",
        "May I restart it?",
        "until 2026-01-02T04:00:00.000Z",
        LINK + "\n",
    ]


@given(st.text(), st.text(), st.text())
def test_no_text_breaks_a_message(crew: str, query: str, text: str):
    """Line breaks and control characters neither."""
    notice = Notice("i", "x", "done", "t", crew, "r\r\n1", 1, "completed", "r", "a", query, text)
    link = link_of("https://x.example/", notice)
    assert link == "https://x.example/runs/r%0D%0A1"
    email = email_of(channel(**MAIL), notice, link)
    assert "\n" not in email["Subject"]
    assert email.as_bytes()
    for config in (
        channel(kind="webhook", url="https://x.example/in"),
        channel(kind="slack", url="https://x.example/in"),
        channel(kind="ntfy", url="https://x.example/in"),
    ):
        sent(config, notice, link)


def test_a_place_tells_no_secret():
    """Of an address its host, of a server its port."""
    configs: list[ChannelConfig] = [
        channel(kind="slack", url="https://u:p@x.example:8/services/secret"),
        channel(**MAIL),
    ]
    assert [place_of(one) for one in configs] == ["x.example:8", "smtp.example.com:587"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"kind": "slack", "url": "hooks.slack.com/x"}, "expected an address such as"),
        ({"kind": "slack", "url": "ftp://x/y"}, "expected an address such as"),
        ({"kind": "slack", "url": "http://[x/y"}, "expected an address such as"),
        ({"kind": "ntfy", "url": "https://ntfy.sh/"}, "ends with the topic"),
        ({"kind": "webhook", "url": "http://x", "secret": "whsec_é"}, "must be base64"),
        ({"kind": "webhook", "url": "http://x", "on": []}, "at least 1 item"),
        ({**MAIL, "host": "smtp.example.com:25"}, "a key of its own"),
        ({**MAIL, "sender": "Crew <crew@x.example>"}, "without a name"),
        ({**MAIL, "username": "a"}, "needed together"),
        ({**MAIL, "username": "a", "password": "b", "encryption": "none"}, "can read"),
    ],
)
def test_mistakes_are_told(keys: dict[str, Any], told: str):
    """And the address, which is a secret, is not repeated."""
    with pytest.raises(ValidationError) as caught:
        channel(**keys)
    assert told in str(caught.value)
