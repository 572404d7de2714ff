"""A door: another protocol by which clients reach the crew, on addresses of its own."""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from server.http.errors import HttpProblem


@dataclass(frozen=True, slots=True)
class Door:
    """What a server needs to know of a protocol."""

    name: str
    routes: Sequence[Route]
    # how its addresses begin
    paths: tuple[str, ...]
    # a problem of a request to a path, in the protocol's own form
    refuse: Callable[[HttpProblem, str], Response]
    # addresses for which no token is needed
    open_paths: frozenset[str] = frozenset()
    # headers that its clients send besides, where they run in pages of other sites
    headers: tuple[str, ...] = ()
    # addresses at which a POST may start a run, and does nothing else; None: there are none
    starts: re.Pattern[str] | None = None
    # what it does for as long as the application serves; None: nothing
    run: Callable[[Starlette], AbstractAsyncContextManager[None]] | None = None

    def has(self, path: str) -> bool:
        """Return whether an address is one of its own."""
        return any(path == one or path.startswith(f"{one}/") for one in self.paths)
