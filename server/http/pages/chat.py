"""The chat: its script, which pages of other sites load, and a page of its own."""

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from server.http.pages.console import CONSOLE, CONSOLE_HEADERS

CLIENTS = Path(__file__).parents[2] / "clients" / "js"
# made of src/ by `npm run build`
SCRIPT = CLIENTS / "dist" / "chat.js"
PAGE = CONSOLE / "chat" / "index.html"
# of the script's digest, in its address
DIGEST_CHARS = 16
# it is public, and every page may load it; what it may ask is said by its ticket
PUBLIC = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
BRIEFLY = "no-cache"
FOR_EVER = "public, max-age=31536000, immutable"


def script_digest() -> str:
    """Return the digest by which a page names the script exactly as it is now."""
    return hashlib.sha256(SCRIPT.read_bytes()).hexdigest()[:DIGEST_CHARS]


# addresses that need no token
OPEN_PATHS = frozenset({"/chat.js", f"/chat-{script_digest()}.js"})


def chat_routes() -> list[Route]:
    """Return the routes of the chat."""
    return [
        *(Route(path, _script) for path in sorted(OPEN_PATHS)),
        Route("/console/client.js", _client),
        Route("/chat", _page),
    ]


async def _script(request: Request) -> Response:
    """Answer GET /chat.js, or the same with its digest: the script."""
    kept = BRIEFLY if request.url.path == "/chat.js" else FOR_EVER
    return FileResponse(SCRIPT, headers={**PUBLIC, "Cache-Control": kept})


async def _client(request: Request) -> Response:
    """Answer GET /console/client.js: the client of the API that the pages of the console use."""
    return FileResponse(CLIENTS / "src" / "client.js", headers={"Cache-Control": BRIEFLY})


async def _page(request: Request) -> Response:
    """Answer GET /chat: the chat on a page of its own."""
    return FileResponse(PAGE, headers=CONSOLE_HEADERS)
