"""Which errors are worth another try, and how long to wait before it."""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Literal

from tools.errors import ArgumentsError, PermanentError, TemporaryError

ErrorClass = Literal[
    "timeout", "network", "temporary", "validation", "permanent", "cancelled", "bug"
]
RETRIED: frozenset[ErrorClass] = frozenset({"timeout", "network", "temporary"})

# Network errors of common HTTP clients, by name, so that none of them has to be installed or
# imported here.
NETWORK_NAMES = frozenset(
    {
        "httpx.TransportError",
        "httpx2.TransportError",
        "aiohttp.client_exceptions.ClientConnectionError",
        "requests.exceptions.ConnectionError",
        "requests.exceptions.Timeout",
        "urllib3.exceptions.HTTPError",
        "urllib.error.URLError",
    }
)
NETWORK_NUMBERS = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}
)


def classify(error: BaseException) -> ErrorClass:
    """Return the class of an error that a handler raised."""
    match error:
        case ArgumentsError():
            return "validation"
        case PermanentError():
            return "permanent"
        case TemporaryError():
            return "temporary"
        case asyncio.CancelledError():
            return "cancelled"
        case TimeoutError():
            return "timeout"
        case ConnectionError() | socket.gaierror():
            return "network"
        case OSError(errno=number) if number in NETWORK_NUMBERS:
            return "network"
        case _ if any(
            f"{c.__module__}.{c.__qualname__}" in NETWORK_NAMES for c in type(error).__mro__
        ):
            return "network"
        case _:
            return "bug"


# random numbers from 0 to 1
Jitter = Callable[[], float]


def backoff_seconds(retry: int, minimum: float, maximum: float, jitter: float = 0.0) -> float:
    """Return seconds to wait before retry number `retry` (from 0).

    `minimum` · 2^retry up to `maximum`.

    `jitter`, 0 to 1, takes away up to half of it.
    """
    full = min(maximum, minimum * 2.0 ** min(retry, 60))
    return full * (1.0 - 0.5 * jitter)


def describe_error(error: Exception, kind: ErrorClass, seconds: float) -> str:
    """Describe what the model reads of a handler's error; `seconds`: the time of the attempt."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 # a user's __str__ may raise anything
        text = ""
    if kind == "timeout":
        return text or f"timed out within {seconds:.3g} s"
    text = text or type(error).__name__
    return f"{type(error).__name__}: {text}" if kind == "bug" else text
