"""The console's way in: a link with the token, or a form; then a cookie."""

import base64
import hashlib
import re
from html import escape
from typing import Literal
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from server.http.callers.authenticator import Authenticator
from server.http.errors import client_left

SESSION = "/session"
COOKIE = "crew_token"
# where a person may have been on the way to: a page of the console
PAGE_PATH = re.compile(r"/((runs|conversations)(/[A-Za-z0-9_-]{1,128})?|[a-z]{1,20})?")
MAX_BYTES = 10_000
# the console's own style needs the token
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 26rem; margin: 15vh auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; }
input { width: 100%; box-sizing: border-box; }
input, button { font: inherit; padding: .5rem .7rem; margin: .3rem 0 .8rem; }
[role="alert"] { color: light-dark(#b42318, #f97066); }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
    # with no-referrer a form names no origin
    "Referrer-Policy": "same-origin",
}
# by language: the words of the page, and why it comes again
WORDS = {
    "en": {
        "title": "This server needs a token",
        "token": "Token",
        "open": "Open the console",
        "none": "This is no token.",
        "unknown": "This is none of the server's tokens.",
    },
    "vi": {
        "title": "Máy chủ này cần mã truy cập",
        "token": "Mã truy cập",
        "open": "Mở bảng điều khiển",
        "none": "Đây không phải mã truy cập.",
        "unknown": "Đây không phải mã truy cập của máy chủ này.",
    },
}
PAGE = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>crew console</title>
<style>{style}</style>
<main>
<h1>{title}</h1>
<p role="alert">{problem}</p>
<form method="post" action="/session">
<label for="token">{token}</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<input name="next" type="hidden" value="{path}">
<button>{open}</button>
</form>
</main>
</html>
"""


def ask_for_token(
    headers: Headers, problem: Literal["none", "unknown"] | None = None, path: str = "/"
) -> Response:
    """Return a page with a form; it leads on to a page of the console.

    Args:
        headers: of the request: `Accept-Language` says in which language.
        problem: with the token that was shown; None: none was.
        path: of the page that follows.
    """
    is_vietnamese = headers.get("accept-language", "").lower().startswith("vi")
    language = "vi" if is_vietnamese else "en"
    words = WORDS[language]
    why = words[problem] if problem is not None else ""
    text = PAGE.format(style=STYLE, problem=why, path=escape(path), language=language, **words)
    return HTMLResponse(text, 401, headers=HEADERS)


def open_session(secret: str, path: str = "/", *, is_secure: bool) -> Response:
    """Redirect to a page of the console, with the token in a cookie that no script can read."""
    to = path if PAGE_PATH.fullmatch(path) else "/"
    answer = RedirectResponse(to, 303, headers={"Cache-Control": "no-store"})
    # lax: a link in a mail leads to the console, while what acts is no navigation
    answer.set_cookie(COOKIE, secret, httponly=True, samesite="lax", secure=is_secure)
    return answer


async def begin_session(request: Request) -> Response:
    """Answer POST /session: show a token in a form; the console follows."""
    content = bytearray()
    try:
        async for piece in request.stream():
            content += piece
            if len(content) > MAX_BYTES:
                return ask_for_token(request.headers, "none")
    except ClientDisconnect:
        raise client_left() from None
    # the page's own two fields; what separates fields is not in a token
    fields = parse_qs("&".join(content.decode("latin-1").split("&")[:2]))
    given, path = (fields.get(name, [""])[0].strip() for name in ("token", "next"))
    authenticator: Authenticator = request.app.state.authenticator
    if await authenticator.show(given, request) is None:
        return ask_for_token(request.headers, "unknown", path)
    return open_session(given, path, is_secure=request.url.scheme == "https")
