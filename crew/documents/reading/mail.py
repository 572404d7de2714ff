"""E-mail: its headers and its text; attachments by their names alone."""

import codecs
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from crew.documents.reading.html import add_html
from crew.documents.reading.marked import MarkedText, UnreadableFile
from crew.documents.reading.plain import decode_as, decode_text

HEADERS = ("From", "To", "Cc", "Date", "Subject")
MAX_HEADER, NAMED = 1000, 20


def read_mail(data: bytes, out: MarkedText) -> None:
    """Add a mail; raises UnreadableFile."""
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    message = message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage), "what this policy makes"
    with out.paragraph():
        for name in HEADERS:
            if value := _header(message, name):
                out.add(f"{name}: {value}\n")
    if not message.keys():
        raise UnreadableFile("is no e-mail: it has no headers")
    # one of the two may be empty
    for kind in ("plain", "html"):
        body = message.get_body((kind,))
        text = _content(body) if body is not None else ""
        if text.strip():
            if kind == "html":
                add_html(text, out)
            else:
                out.add(f"{text}\n")
            break
    else:
        out.note("it has no text of its own")
    names: list[str] = []
    for part in message.iter_attachments():
        if _goes_on(part):
            # behind a picture, the text
            out.add(f"\n{_content(part)}\n")
        else:
            names.append(part.get_filename() or part.get_content_type())
    if names:
        shown = ", ".join(" ".join(one.split())[:100] for one in names[:NAMED])
        more = ", …" if len(names) > NAMED else ""
        out.note(f"{len(names)} attachments that are not read: {shown}{more}")


def _goes_on(part: Any) -> bool:
    """Return whether a part is shown as text behind what stands before it."""
    is_attached = part.get_content_disposition() == "attachment" or part.get_filename()
    return bool(part.get_content_type() == "text/plain" and not is_attached)


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except Exception:  # noqa: BLE001 # this parser raises errors of many kinds for wrong headers
        return ""
    return " ".join(value.split())[:MAX_HEADER]


def _content(body: Any) -> str:
    given = body.get_payload(decode=True)
    if not isinstance(given, bytes):
        return ""
    # where none is named, ASCII is meant
    charset = body.get_content_charset()
    text = decode_text(given) if charset in (None, "us-ascii") else decode_as(given, charset)
    return text.replace("\r\n", "\n")
