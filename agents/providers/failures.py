"""What goes wrong with a request to an endpoint, as ModelError."""

import json
import re
import time
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from agents.dialects.refusals import NO_SUCH_PATH, Refusal, kind_of
from agents.endpoint import Endpoint
from agents.errors import ModelError
from agents.providers.server_events import read_whole
from tools.limits.waits import wait_in_headers, wait_in_words
from tools.text.secrets import Secrets
from tools.text.server_words import MAX_WORDS, is_html, words_of

# a path that has no version of an API in it, as one that was pasted too short
VERSION = re.compile(r"/v\d|/openai\b|/api\b")
# of the provider behind OpenRouter, in its refusal
HEADERS = re.compile(r'"headers"\s*:\s*(\{[^{}]*\})')
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

# nothing answers at a path, or something else does
MISSING = frozenset({404, 405})
# statuses of servers that have no room now
WAITING = frozenset({429, 503})


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
            said = f"{error.status} {error.message}".strip()
            text = f"no connection to {where}: the proxy answered {mask(said)[:200]}"
            # it has no room now, or does not let anyone through
            is_final = error.status < HTTPStatus.INTERNAL_SERVER_ERROR
            return ModelError("connection", text, final=is_final and error.status not in WAITING)
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
    said = "sent an unreadable answer" if code == "unreadable" else f"answered{status}{page}"
    text = f"{where} {said}: {words}"
    path = urlsplit(endpoint.place).path
    is_missing = refusal.status in MISSING or NO_SUCH_PATH.search(words) is not None
    if is_missing and not VERSION.search(path):
        text = f"{text} (the address has no /v1 in its path, which may be missing)"
    wait = refusal.retry_after_seconds
    return ModelError(code, text, retry_after_seconds=wait, final=not may_help)


async def refusal_of(response: aiohttp.ClientResponse) -> Refusal:
    """Return what an answer says that is none; it is read to its end."""
    text = (await read_whole(response)).decode(errors="replace")
    words = words_of(text, response.reason or "")
    if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
        # not followed: the key of one host is for no other
        words = f"{words} (it points to {_place_in(response.headers.get('location', ''))})"
    wait = wait_in_headers(response.headers, time.time(), response.status)
    if wait is None and response.status in WAITING:
        wait = wait_in_words(text)
    if wait is None and (inner := HEADERS.search(text)) is not None:
        wait = wait_in_headers(_headers_in(inner[1]), time.time(), response.status)
    again = {"true": True, "false": False}.get(response.headers.get("x-should-retry", "").lower())
    return Refusal(response.status, words, text, wait, is_html=is_html(text), may_help=again)


def _headers_in(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return {str(key).lower(): str(value) for key, value in found.items()}


def _place_in(location: str) -> str:
    """Return scheme and host of an address; what stands behind them may be a secret."""
    try:
        parts = urlsplit(location[:MAX_WORDS])
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        return "another path there" if location.startswith("/") else "no address"
    return f"{parts.scheme}://{host}" if parts.scheme else host
