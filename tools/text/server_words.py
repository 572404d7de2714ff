"""The words of a server that answers with an error, in whichever form it puts them; pure."""

import html
import json
import re
from typing import Any

# of a server's words in a message, in characters
MAX_WORDS = 500
# where servers put their words, in this order
WORD_KEYS = (
    *("message", "detail", "error_description", "error_message", "msg", "reason", "title"),
    *("error_msg", "status_msg", "Message", "faultstring"),
)
INNER_KEYS = ("error", "errors", "detail", "details", "fault")
TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
# AWS, and others that have SOAP behind them
XML = re.compile(r"^\s*<.*?<(message|faultstring)>([^<]{1,2000})</\1>", re.IGNORECASE | re.DOTALL)
HIDDEN = re.compile(r"<(script|style|head)\b.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
MARKUP = re.compile(r"<!--.*?-->|<[^>]{0,2000}>", re.DOTALL)
HTML = re.compile(r"<(?:!doctype html|html|head|body)", re.IGNORECASE)
# may stand before a page, in its first characters
MAX_HEAD = 20_000
BEFORE_HTML = (("<?xml", "?>"), ("<!--", "-->"))


def is_html(body: str) -> bool:
    """Return whether a body is a page, maybe behind comments."""
    rest = body[:MAX_HEAD].lstrip()
    while closing := next((end for start, end in BEFORE_HTML if rest.startswith(start)), ""):
        rest = rest.partition(closing)[2].lstrip()
    return HTML.match(rest) is not None


def words_of(body: str, reason: str = "") -> str:
    """Find the words of a body, whatever its form; `reason` where there are none.

    They are not cut: a secret in them must be masked before.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        if is_html(body):
            return _html_words(body)
        if (found := XML.search(body[:20_000])) is not None:
            return " ".join(html.unescape(found[2]).split())
        return " ".join(body.split()) or reason
    return words_in(document, 0) or " ".join(body.split()) or reason


def words_in(value: Any, depth: int = 0) -> str:
    """Return the words of a JSON value: what stands under the usual keys, of lists each."""
    if depth > 4:
        return ""
    match value:
        case str():
            return value.strip()
        case list():
            return "; ".join(one for part in value[:5] if (one := words_in(part, depth + 1)))
        case dict():
            return _words_of_object(value, depth)
        case _:
            return ""


def _words_of_object(value: dict[str, Any], depth: int) -> str:
    raw = value["metadata"].get("raw") if isinstance(value.get("metadata"), dict) else None
    if isinstance(raw, str) and raw.strip() and isinstance(value.get("message"), str):
        # OpenRouter: the words of the provider behind it
        return f"{value['message']}: {words_of(raw)}"
    if isinstance(value.get("loc"), list) and isinstance(value.get("msg"), str):
        return f"{'.'.join(map(str, value['loc']))}: {value['msg']}"
    for key in INNER_KEYS:
        if isinstance(value.get(key), dict | list) and (found := words_in(value[key], depth + 1)):
            return found
    error = value.get("error")
    if isinstance(error, str) and error.lstrip().startswith("{"):
        # JSON within a text
        error = words_of(error)
    for key in WORD_KEYS:
        if isinstance(value.get(key), list) and (found := words_in(value[key], depth + 1)):
            return found
        if isinstance(value.get(key), str) and value[key].strip():
            words: str = value[key].strip()
            # OAuth: a code beside its description
            return f"{error}: {words}" if isinstance(error, str) and error != words else words
    return error.strip() if isinstance(error, str) else ""


def _html_words(body: str) -> str:
    title = TITLE.search(body[:20_000])
    if title and (words := " ".join(html.unescape(MARKUP.sub("", title[1])).split())):
        return words
    plain = MARKUP.sub(" ", HIDDEN.sub(" ", body[:20_000]))
    return " ".join(html.unescape(plain).split())
