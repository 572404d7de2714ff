"""E-mail: its headers and its text; attachments by their names alone."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from crew.documents.reading.html import add_html
from crew.documents.reading.marked import MarkedText, UnreadableFile

HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_HEADER, NAMED = 1000, 20


def read_mail(data: bytes, out: MarkedText) -> None:
    """Add a mail; raises UnreadableFile."""
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage), "what this policy makes"
    with out.paragraph():
        for name in HEADERS:
            if value := _header(message, name):
                out.add(f"{name}: {value}\n")
    body = message.get_body(("plain", "html"))
    if not message.keys():
        raise UnreadableFile("is no e-mail: it has no headers")
    if body is not None:
        text = _content(body)
        if body.get_content_subtype() == "html":
            add_html(text, out)
        else:
            out.add(f"{text}\n")
    names = [one.get_filename() or one.get_content_type() for one in message.iter_attachments()]
    if names:
        shown = ", ".join(" ".join(one.split())[:100] for one in names[:NAMED])
        more = ", …" if len(names) > NAMED else ""
        out.note(f"{len(names)} attachments that are not read: {shown}{more}")


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except Exception:  # noqa: BLE001 # this parser raises errors of many kinds for wrong headers
        return ""
    return " ".join(value.split())[:MAX_HEADER]


def _content(body: Any) -> str:
    try:
        return str(body.get_content())
    except (LookupError, UnicodeError, KeyError):
        # a charset that there is not
        given = body.get_payload(decode=True)
        return given.decode("utf-8", "replace") if isinstance(given, bytes) else ""
