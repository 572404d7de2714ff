"""The console's way in: a link with the token, or a form; then a cookie."""

from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from server.http.door import Door

SESSION = "/session"
COOKIE = "crew_token"
MAX_BYTES = 10_000
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cache-Control": "no-store",
    # with no-referrer a form names no origin
    "Referrer-Policy": "same-origin",
}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>crew console</title>
<main>
<h1>This server needs a token</h1>
<p role="alert">{problem}</p>
<form method="post" action="/session">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Open the console</button>
</form>
</main>
</html>
"""


def ask_for_token(problem: str = "") -> Response:
    """A page with a form."""
    return HTMLResponse(PAGE.format(problem=escape(problem)), 401, headers=HEADERS)


def open_session(secret: str, *, is_secure: bool) -> Response:
    """To the console, with the token in a cookie that no script can read."""
    answer = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
    # lax: a link in a mail leads to the console, while what acts is no navigation
    answer.set_cookie(COOKIE, secret, httponly=True, samesite="lax", secure=is_secure)
    return answer


async def begin(request: Request) -> Response:
    """POST /session: show a token in a form; the console follows."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MAX_BYTES:
            return ask_for_token("This is no token.")
    # what separates fields is not in a token
    given = parse_qs(content.decode("latin-1").partition("&")[0]).get("token", [""])[0].strip()
    door: Door = request.app.state.door
    if await door.show(given, request) is None:
        return ask_for_token("This is none of the server's tokens.")
    return open_session(given, is_secure=request.url.scheme == "https")
