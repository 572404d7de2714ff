"""What each kind of channel is sent of a notice; pure."""

import base64
import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from email.message import EmailMessage
from urllib.parse import quote, urlsplit

from pydantic import SecretStr
from pydantic_core import to_json

from crew.config.keys.notify import EmailChannel, NtfyChannel, SlackChannel, WebhookChannel
from crew.journal.call_text import shorten
from crew.journal.records.rows import Notice
from tools.clock import rfc3339
from tools.text.texts import visible

TITLES = {
    "pause": "{} waits for an answer",
    "deadline": "{}: nobody has answered in time",
    "failed": "{} has failed",
    "done": "{} is done",
    "missed": "{}: a schedule has started no run",
    "budget": "{}: a budget is used up, or nearly",
    "changed": "{}: its files were changed",
    "storage": "{}: the store needs attention",
    "test": "{}: a test of this channel",
}
# of ntfy, 3 is the usual one
PRIORITIES = {"pause": 4, "deadline": 4, "failed": 4, "missed": 4, "budget": 4, "storage": 4}
MAX_QUERY = 300
MAX_TEXT = 1500


@dataclass(frozen=True, slots=True)
class Post:
    """A request to a channel that speaks HTTP."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def test_notice(crew: str, channel: str, now: datetime) -> Notice:
    """Return a message that tries a channel; another one each time."""
    return Notice(
        # a receiver may drop what it has had
        f"test:{now.timestamp():.3f}:{channel}",
        channel,
        "test",
        rfc3339(now),
        crew,
        "test",
        0,
        "completed",
        None,
        None,
        "Can this channel be told?",
        "This is what it is told of runs.",
    )


def post_of(
    channel: WebhookChannel | SlackChannel | NtfyChannel,
    notice: Notice,
    link: str | None,
    now: float,
) -> Post:
    """Return the request of a notice to a channel.

    Args:
        channel: the receiver.
        notice: of what.
        link: to the run's page, where it is known.
        now: seconds since 1970, which a signature names.
    """
    url = channel.url.get_secret_value()
    headers = {"Content-Type": "application/json", "Idempotency-Key": notice.id}
    match channel:
        case WebhookChannel():
            body = to_json(_document(notice, link))
            headers |= {name: value.get_secret_value() for name, value in channel.headers.items()}
            if channel.secret is not None:
                headers |= _signature(channel.secret, notice.id, now, body)
        case SlackChannel():
            body = to_json({"text": _slack_text(notice, link)})
        case NtfyChannel():
            url, _, topic = url.rstrip("/").rpartition("/")
            body = to_json(_push(topic, notice, link))
            if channel.token is not None:
                headers["Authorization"] = f"Bearer {channel.token.get_secret_value()}"
    return Post(url, headers, body)


def email_of(channel: EmailChannel, notice: Notice, link: str | None) -> EmailMessage:
    """Return the email of a notice to a channel; it has the same Message-ID each time."""
    message = EmailMessage()
    message["Subject"] = _title(notice)
    message["From"] = channel.sender
    message["To"] = ", ".join(channel.to)
    domain = channel.sender.rpartition("@")[2]
    message["Message-ID"] = f"<{quote(notice.id, safe='')}@{domain}>"
    # no answers of those who are away
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n\n".join(_parts(notice, link)) + "\n")
    return message


def link_of(public_url: str | None, notice: Notice) -> str | None:
    """Return the address of a run's page, or of all runs.

    None where the server's own is not known.
    """
    if public_url is None:
        return None
    return f"{public_url.rstrip('/')}{path_of(notice)}"


def path_of(notice: Notice) -> str:
    """Return where a run's page is on its server; that of all runs where it is of none."""
    return f"/runs/{quote(notice.run_id, safe='')}" if notice.run_id else "/runs"


def place_of(channel: WebhookChannel | SlackChannel | NtfyChannel | EmailChannel) -> str:
    """Return where a channel is, for logs: of an address no more than its host."""
    if isinstance(channel, EmailChannel):
        return f"{channel.host}:{channel.port}"
    return urlsplit(channel.url.get_secret_value()).netloc.rpartition("@")[2]


def _document(notice: Notice, link: str | None) -> dict[str, object]:
    fields = asdict(notice)
    del fields["channel"]
    return {"event": fields.pop("kind"), **fields, "path": path_of(notice), "url": link}


def _signature(secret: SecretStr, key: str, now: float, body: bytes) -> dict[str, str]:
    """Return of Standard Webhooks 1.0, which has a library for most languages."""
    text = secret.get_secret_value()
    given = text.removeprefix("whsec_")
    raw = base64.b64decode(given) if text != given else text.encode()
    seconds = str(math.floor(now))
    signed = f"{key}.{seconds}.".encode() + body
    digest = base64.b64encode(hmac.new(raw, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": key,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{digest}",
    }


def _title(notice: Notice) -> str:
    # a header's value is one line
    return " ".join(visible(TITLES[notice.kind].format(notice.crew)).split())


def _parts(notice: Notice, link: str | None) -> list[str]:
    """Return of a text for people: the question, what came of it, until when, where."""
    parts = [_cut(notice.query, MAX_QUERY), shorten(notice.text, MAX_TEXT)]
    if notice.until is not None:
        parts.append(f"until {notice.until}")
    return [visible(part) for part in [*parts, link or ""] if part]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _slack_text(notice: Notice, link: str | None) -> str:
    lines = "\n".join([_title(notice), *_parts(notice, None)])
    # https://docs.slack.dev/messaging/formatting-message-text: these three alone
    text = lines.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text if link is None else f"{text}\n<{link}>"


def _push(topic: str, notice: Notice, link: str | None) -> dict[str, object]:
    push: dict[str, object] = {
        "topic": topic,
        "title": _title(notice),
        "message": "\n".join(_parts(notice, None)) or _title(notice),
        "priority": PRIORITIES.get(notice.kind, 3),
    }
    return push if link is None else {**push, "click": link}
