"""What a server answers: read, or refused."""

import time
from typing import Any

import httpx2

from server.client.errors import ClientError
from tools.limits.waits import parse_retry_after
from tools.text.server_words import MAX_WORDS, words_of


async def require_good(response: httpx2.Response, url: str) -> None:
    """Raise ClientError for an answer that is none of success.

    Args:
        response: of the server.
        url: of the server, as it was given.
    """
    if response.is_success:
        return
    await response.aread()
    if response.is_redirect:
        text = f"{url} leads elsewhere; no redirect is followed"
        raise ClientError(text, response.status_code)
    document: dict[str, Any] = {}
    try:
        found = response.json()
        document = found if isinstance(found, dict) else {}
    except ValueError:
        pass
    # of a problem; what stands before the server may answer in another form
    detail = document.get("detail")
    words = detail if isinstance(detail, str) else ""
    words = (words or words_of(response.text, response.reason_phrase))[:MAX_WORDS]
    if after := parse_retry_after(response.headers.get("retry-after", ""), time.time()):
        document["retry_after"] = after
    request_id = response.headers.get("x-request-id", "")
    raise ClientError(words, response.status_code, request_id=request_id, document=document)


def json_of(response: httpx2.Response) -> Any:
    """Return what an answer has: JSON, a text, or None for nothing; raises ClientError."""
    if response.status_code == 204 or not response.content:
        return None
    if "json" not in response.headers.get("content-type", ""):
        return response.text
    try:
        return response.json()
    except ValueError:
        raise ClientError("the answer is no JSON: is it a crew's server?") from None
