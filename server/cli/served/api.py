"""Requests of commands, and what is printed when they fail."""

import contextlib
import importlib
import importlib.metadata
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import anyio.from_thread

from server.cli.exits import Exit, fail
from server.client.client import API, PATIENCE_SECONDS, CrewClient
from server.client.errors import ClientError
from server.client.targets import TOKEN, Target
from tools.text.texts import visible

# by which this process calls itself
LOCAL_URL = "http://localhost"
# statuses of an answer to what should be given otherwise
BAD_INPUT = (400, 422)
# what a server says of an address that it does not have
NO_OPERATION = re.compile(rf"[A-Z]+ {API}\S*: (?:Not Found|Method Not Allowed)")


class Api:
    """The API of a server or a folder, for a command; its methods end it where they fail."""

    def __init__(self, client: CrewClient, portal: anyio.from_thread.BlockingPortal) -> None:
        self.client, self.portal = client, portal

    def read(self, path: str, **parameters: Any) -> Any:
        """Return what an address has."""
        return self.send("GET", path, parameters=parameters)

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Send a request; return what is answered."""

        async def send() -> Any:
            return await self.client.send(method, f"{API}{path}", body, **more)

        try:
            return self.portal.call(send)
        except ClientError as error:
            self._fail(error)

    def find_run(self, text: str) -> str:
        """Return the id of the run that a person means; see `find_served_run`."""
        try:
            return self.portal.call(find_served_run, self.client, text)
        except ClientError as error:
            self._fail(error)

    def _fail(self, error: ClientError) -> NoReturn:
        """Say why a request has failed, and end; of another version, which ones they are."""
        if NO_OPERATION.fullmatch(error.detail):
            version = self.portal.call(self.client.read, "/health").get("version")
            here = importlib.metadata.version("crewline")
            fail(f"the server is {version}, and this command is of {here}: {error.detail}")
        fail_for(self.client.url, error)


async def find_served_run(client: CrewClient, text: str) -> str:
    """Return the id of the run that a person means: by its beginning, or `last`.

    At a server that is the newest of the caller's own, in a folder the newest of all.

    Raises:
        ClientError: there is none, or there are several.
    """
    wanted: dict[str, Any] = {"prefix": text, "limit": 2}
    if text == "last":
        wanted = {"limit": 1, "own": None if client.url == LOCAL_URL else 1}
    found = [one["run_id"] for one in (await client.read(f"{API}/runs", **wanted))["runs"]]
    if text in found:
        return text
    if len(found) > 1:
        raise ClientError(f"there is no run {text}…: several begin so: {', '.join(found)}")
    if not found:
        raise ClientError(f"there is no run {text}")
    return str(found[0])


def run_path(run_id: str) -> str:
    """Return the address of a run."""
    return f"/runs/{quote(run_id, safe='')}"


def fail_for(url: str, error: ClientError, *, takes_words: bool = False) -> NoReturn:
    """Say why a request has failed, and end; `takes_words`: the command sent words of a person."""
    code = Exit.USAGE if takes_words and error.status in BAD_INPUT else Exit.FAILED
    if error.status is None or url == LOCAL_URL:
        fail(error.detail, code)
    hint = f"; set {TOKEN}, or what its profile names, to a token of it"
    hint = hint if error.status == 401 else ""
    fail(f"{url} answered {error.status}: {error.detail}{hint}", code)


@contextlib.contextmanager
def opened_api(target: Target | None, folder: Path) -> Iterator[Api]:
    """Open the API of a server, or that of a folder; ends the command where it is none."""
    if target is None:
        has_runs(folder)
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_client(target, folder)) as client,
    ):
        yield Api(client, portal)


def has_runs(folder: Path) -> bool:
    """Return whether anything is kept of a folder's crew; ends the command where it is none."""
    return bool(importlib.import_module("server.cli.opening").has_store(folder))


def _client(target: Target | None, folder: Path) -> AbstractAsyncContextManager[CrewClient]:
    if target is not None:
        return remote_client(target)
    # it takes its time to import, which requests to a server should not wait for
    local = importlib.import_module("server.cli.served.local")
    client: AbstractAsyncContextManager[CrewClient] = local.local_client(folder)
    return client


@contextlib.asynccontextmanager
async def remote_client(target: Target) -> AsyncIterator[CrewClient]:
    """Open a client of a server, which says on standard error what it waits for."""
    is_terminal = sys.stderr.isatty()

    def say(why: str, seconds: float) -> None:
        print(visible(f"crew: {why}; again in {seconds:g} s"), file=sys.stderr)

    async with CrewClient(
        target.url,
        token=target.token,
        ca=target.ca,
        timeout_seconds=target.timeout_seconds,
        patience_seconds=None if is_terminal else PATIENCE_SECONDS,
        waits=say,
    ) as client:
        say_target(target, await _name_at(client))
        yield client


def say_target(target: Target, name: str = "") -> None:
    """Say on standard error which server is meant, and the name of the token."""
    facts = [target.name, target.url, f"as {name}" if name else ""]
    print(visible(", ".join(one for one in facts if one)), file=sys.stderr)


async def _name_at(client: CrewClient) -> str:
    """Return the name of the token that is shown; "" where the server does not say it.

    Raises:
        ClientError: it is another server.
    """
    try:
        found = await client.read(f"{API}")
    except ClientError:
        # what is wrong is said of what is wanted
        return ""
    if not isinstance(found, dict) or "version" not in found:
        raise ClientError(f"{client.url} answers, and is no crew's server: look at the address")
    caller = found.get("caller")
    return str(caller.get("name", "")) if isinstance(caller, dict) else ""
