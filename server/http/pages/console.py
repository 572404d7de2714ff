"""The console: its pages, each with an address, and their files."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

CONSOLE = Path(__file__).parents[2] / "console"
PAGES = (
    *("/", "/runs", "/runs/{run_id}", "/inbox", "/memory", "/documents", "/costs", "/crew"),
    *("/search", "/compare", "/automation", "/audit", "/revisions", "/edit", "/tools"),
    *("/conversations", "/conversations/{conversation_id}"),
)
CONSOLE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Cache-Control": "no-cache",
}


def console_routes() -> list[Route]:
    """Return the routes of the pages."""
    return [Route(path, _console) for path in PAGES]


def console_files() -> Mount:
    """Return the route of the files that the pages load."""
    return Mount("/console", StaticFiles(directory=CONSOLE))


def console_page(status: int = 200) -> Response:
    """Return the one file of all pages; with 404 it says that there is none at the address."""
    return FileResponse(CONSOLE / "index.html", status, headers=CONSOLE_HEADERS)


async def _console(request: Request) -> Response:
    """Answer GET / and the addresses of the other pages: the web console."""
    return console_page()
