"""The shapes of channels: where people and programs are told of runs."""

import base64
import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from agents.endpoint import HeaderName, HeaderValue
from crew.journal.records.rows import NoticeKind
from tools.schemas.yaml_shape import Name, Shape, between_keys

MAILBOX = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}")
HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9a-fA-F:]+\]?")


def _check_url(value: SecretStr) -> SecretStr:
    # the value is not repeated: who knows such an address may post to it
    wrong = "expected an address such as https://chat.example.com/hooks/on-call"
    text = value.get_secret_value()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ValueError(wrong) from error
    # empty: its variable is not set, which is told by itself
    if text and (not usable or not text.isprintable() or " " in text):
        raise ValueError(wrong)
    return value


def _check_topic(value: SecretStr) -> SecretStr:
    if value.get_secret_value() and not urlsplit(value.get_secret_value()).path.strip("/"):
        raise ValueError("expected an address that ends with the topic: https://ntfy.sh/on-call")
    return value


def _check_key(value: SecretStr) -> SecretStr:
    key = value.get_secret_value()
    try:
        if key.startswith("whsec_"):
            base64.b64decode(key.removeprefix("whsec_"), validate=True)
    except ValueError as error:
        raise ValueError("what follows whsec_ must be base64") from error
    return value


def _check_mailbox(value: str) -> str:
    # as ASCII: others need a server that knows SMTPUTF8
    if not MAILBOX.fullmatch(value):
        raise ValueError("expected an address such as on-call@example.com, without a name")
    return value


def _check_host(value: str) -> str:
    if not HOST.fullmatch(value):
        raise ValueError("expected a host such as smtp.example.com; its port has a key of its own")
    return value


Url = Annotated[SecretStr, AfterValidator(_check_url)]
Mailbox = Annotated[str, AfterValidator(_check_mailbox)]
Host = Annotated[str, AfterValidator(_check_host)]


class Channel(Shape):
    """What every kind has."""

    on: Annotated[list[NoticeKind], Field(min_length=1)] = ["pause", "failed", "missed"]
    """Of what it is told: `pause` (a run waits for a person), `deadline` (no answer came in
    time), `failed`, `done` (it has ended in any other way), `missed` (a schedule has started no
    run), `budget` (a part of any budget is used, see its `warn`, or it has no room), `changed`
    (the files were edited through the server), `storage` (the database is nearly
    full, or a backup has failed)."""


class WebhookChannel(Channel):
    """A POST of JSON."""

    kind: Literal["webhook"]
    """How it is told."""
    url: Url
    """Where to."""
    secret: Annotated[SecretStr, AfterValidator(_check_key)] | None = None
    """Signs each message (HMAC-SHA256, as Standard Webhooks say)."""
    headers: dict[HeaderName, HeaderValue] = {}
    """Sent with each message."""


class SlackChannel(Channel):
    """A message of an incoming webhook of Slack, or of what speaks as it does (Mattermost)."""

    kind: Literal["slack"]
    """How it is told."""
    url: Url
    """Of the incoming webhook; it is all that is needed to post."""


class NtfyChannel(Channel):
    """A push notification by ntfy."""

    kind: Literal["ntfy"]
    """How it is told."""
    url: Annotated[Url, AfterValidator(_check_topic)]
    """Of the topic: https://ntfy.sh/TOPIC, or a server of your own."""
    token: HeaderValue | None = None
    """Where the topic is not public."""


class EmailChannel(Channel):
    """An email by SMTP."""

    kind: Literal["email"]
    """How it is told."""
    host: Host
    """Of the SMTP server."""
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    """Of the SMTP server."""
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    """`tls` is that of port 465; `none` sends no password."""
    username: str | None = None
    """Where the server asks who sends."""
    password: SecretStr | None = None
    """Of this user."""
    sender: Mailbox
    """The sender."""
    to: Annotated[list[Mailbox], Field(min_length=1, max_length=50)]
    """The receivers."""

    @model_validator(mode="after")
    def _check_password(self) -> Self:
        if (self.username is None) != (self.password is None):
            there, missing = ("username", "password")[:: 1 if self.username is not None else -1]
            text = f"{there} and {missing} are needed together; add {missing}, or remove {there}"
            raise between_keys(text, there)
        if self.password is not None and self.encryption == "none":
            text = "encryption none would send the password so that anyone can read it; use "
            raise between_keys(f"{text}starttls or tls", "encryption")
        return self


ChannelConfig = WebhookChannel | SlackChannel | NtfyChannel | EmailChannel
ChannelConfigs = dict[Name, Annotated[ChannelConfig, Field(discriminator="kind")]]
