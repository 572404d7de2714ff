"""What goes wrong with a request to an endpoint, as ModelError."""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from agents.dialects.refusals import Refusal, kind_of
from agents.endpoint import Endpoint
from agents.errors import ModelError
from agents.providers.server_events import read_whole
from tools.text.secrets import Secrets
from tools.text.server_words import IS_HTML, MAX_WORDS, words_of

# a path that has no version of an API in it, as one that was pasted too short
VERSION = re.compile(r"/v\d|/openai\b|/api\b")
CERTIFICATE = "name the file of its authority in SSL_CERT_FILE"
# what OpenSSL says, why that is, and what to do
TLS = (
    (
        r"wrong.version.number|record layer",
        "it speaks no TLS there",
        "write http:// for its address",
    ),
    (r"mismatch|not valid for", "its certificate is of another name", "write the name that it has"),
    (r"expired", "its certificate has expired", "its operator has to renew it"),
    (
        r"unsupported.protocol|protocol.version|no.protocols",
        "it speaks only versions of TLS that are no longer safe",
        "its operator has to allow TLS 1.2",
    ),
)

# statuses of servers that have no room now
WAITING = frozenset({429, 503})
# of Google ("retryDelay": "2s") and Groq ("Please try again in 1m2.5s")
DELAY = re.compile(
    r"(?:retryDelay\"\s*:\s*\"|(?:retry|try again) (?:in|after) )(?:(?P<minutes>\d{1,4})m(?=\d))?"
    r"(?P<number>\d{1,6}(?:\.\d+)?)\s*(?P<unit>ms|s\b|sec|min|m\b)",
    re.IGNORECASE,
)


def request_error(error: Exception, model: str, endpoint: Endpoint, secrets: Secrets) -> ModelError:
    """Return what a session raises and servers say, as ModelError.

    Args:
        error: of a request.
        model: that the request is for.
        endpoint: of the model.
        secrets: not repeated.
    """
    where, mask = f"{model} at {endpoint.place}", secrets.mask
    match error:
        case ModelError():
            return error.told(mask(f"{where}: {error}"))
        case Refusal():
            return _refused(error, where, endpoint, secrets)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            reason = mask(str(error.os_error if hasattr(error, "os_error") else error))
            why, remedy = next(
                (said for pattern, *said in TLS if re.search(pattern, reason, re.IGNORECASE)),
                ("its certificate is not trusted", CERTIFICATE),
            )
            text = f"no connection to {where}: {why}: {reason[:200]}; {remedy}"
            return ModelError("connection", text, final=True)
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return ModelError("connection", f"no connection to {where}: {mask(str(error))}")
        case aiohttp.ClientHttpProxyError():
            text = f"no connection to {where}: the proxy answered {error.status}"
            return ModelError("connection", text)
        case TimeoutError():
            seconds = endpoint.timeout_seconds
            return ModelError("timeout", f"{where} did not answer within {seconds:g} s")
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError():
            text = f"the connection to {where} was lost: {type(error).__name__}"
            return ModelError("connection", text)
        case _:
            reason = f"{type(error).__name__}: {mask(str(error))[:200]}"
            return ModelError("unreadable", f"{where} sent an unreadable answer: {reason}")


def _refused(refusal: Refusal, where: str, endpoint: Endpoint, secrets: Secrets) -> ModelError:
    code, may_help = kind_of(refusal)
    status = f" {refusal.status}" if refusal.status >= HTTPStatus.MULTIPLE_CHOICES else ""
    page = " with HTML" if refusal.is_html else ""
    # masked before it is cut: a part of a secret is one, too
    words = secrets.mask(refusal.words)[:MAX_WORDS]
    text = f"{where} answered{status}{page}: {words}"
    path = urlsplit(endpoint.place).path
    if refusal.status == HTTPStatus.NOT_FOUND and not VERSION.search(path):
        text = f"{text} (the address has no /v1 in its path, which may be missing)"
    wait = refusal.retry_after_seconds
    return ModelError(code, text, retry_after_seconds=wait, final=not may_help)


async def refusal_of(response: aiohttp.ClientResponse) -> Refusal:
    """Return what an answer says that is none; it is read to its end."""
    text = (await read_whole(response)).decode(errors="replace")
    words = words_of(text, response.reason or "")
    wait = _wait_of(response.headers)
    if wait is None and response.status in WAITING:
        wait = _wait_in(text)
    return Refusal(response.status, words, text, wait, is_html=bool(IS_HTML.match(text)))


def _wait_in(text: str) -> float | None:
    """Return the seconds that a server asks to wait in the words of its refusal."""
    found = DELAY.search(text)
    if found is None:
        return None
    number, unit = float(found["number"]), found["unit"].lower()
    minutes = float(found["minutes"] or 0)
    if unit != "ms" and unit.startswith("m"):
        return 60 * number
    return 60 * minutes + (number / 1000 if unit == "ms" else number)


def _wait_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait.

    Azure has milliseconds in a header of its own.
    """
    millis = headers.get("retry-after-ms", "")
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", millis):
        return float(millis) / 1000
    return parse_retry_after(headers.get("retry-after", ""), time.time())


def parse_retry_after(value: str, now: float) -> float | None:
    """Return seconds that a server asks to wait, by number or by date; None for anything else.

    Args:
        value: of the header `Retry-After` (RFC 9110, 10.2.3).
        now: seconds since 1970.
    """
    try:
        if value[:1].isdigit():
            seconds = float(value)
        else:
            seconds = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)
