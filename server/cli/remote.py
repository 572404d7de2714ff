"""The runs of a server, looked at from another machine."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import httpx2
import typer
from rich.console import Console

from crew.journal.events import RunStatus
from crew.journal.wire import RunEvent
from server.cli.exits import Exit, fail
from server.cli.stored import print_listed, print_waiting
from server.cli.view.output import Output
from server.settings import LOOPBACK
from tools.text.server_words import MAX_WORDS, words_of
from tools.text.texts import visible_json

TOKEN = "CREW_TOKEN"  # noqa: S105 # the name of a variable
CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help=f"Ask this server instead of a folder; the token is in {TOKEN}.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Remote:
    """A server, and what is shown to it."""

    url: str
    token: str = field(repr=False)

    @classmethod
    def of(cls, url: str) -> "Remote":
        """Read an address; ends the command where it is none, or would show the token to others."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            fail("--server: expected an address such as https://crew.example.com", Exit.USAGE)
        token = os.environ.get(TOKEN, "")
        if token and parts.scheme == "http" and parts.hostname not in LOOPBACK:
            text = f"{parts.hostname} would get {TOKEN} in the clear; use https://"
            fail(f"--server: {text}", Exit.USAGE)
        return cls(url.rstrip("/"), token)

    def read(self, path: str, **parameters: Any) -> Any:
        """Get a JSON document; ends the command where there is none."""
        with self._client() as client:
            try:
                response = client.get(f"{self.url}{path}", params=parameters)
            except httpx2.HTTPError as error:
                fail(f"{self.url} does not answer: {error}")
            self._require_good(response)
            try:
                return response.json()
            except ValueError:
                fail(f"{self.url} answers with something else than JSON: is it a crew's server?")

    def events(self, run_id: str) -> Iterator[RunEvent]:
        """Follow a run from its first event to the end of its stream."""
        path = f"{self.url}/api/crew/runs/{quote(run_id, safe='')}/events"
        with self._client() as client:
            try:
                with client.sse(path) as stream:
                    self._require_good(stream.response)
                    for one in stream:
                        _, _, seq = (one.id or "").rpartition(":")
                        if one.data:
                            yield RunEvent.decode(int(seq) if seq else None, one.data)
            except httpx2.HTTPError as error:
                fail(f"{self.url} was lost: {error}")

    def _client(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
        # another host must not get the token
        return httpx2.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def _require_good(self, response: httpx2.Response) -> None:
        if response.is_success:
            return
        response.read()
        hint = (
            f"; set {TOKEN} to a token of it" if response.status_code == 401 else ""
        )  # Unauthorized
        words = words_of(response.text, response.reason_phrase)[:MAX_WORDS]
        fail(f"{self.url} answered {response.status_code}: {words}{hint}")


def list_remote_runs(remote: Remote, status: RunStatus | None, *, as_document: bool) -> int:
    """Print the newest runs of a server; returns how many there are."""
    parameters = {"status": status} if status is not None else {}
    runs = remote.read("/api/crew/runs", **parameters)["runs"]
    for run in runs:
        print_listed(run, as_document=as_document)
    return len(runs)


def show_remote_run(remote: Remote, run_id: str, *, as_document: bool) -> None:
    """Print a run of a server with its events; a running one is followed to its end."""
    known = _find(remote, run_id)
    output = Output(as_lines=as_document)
    output.view.query = known["query"]
    for event in remote.events(known["run_id"]):
        output.show(event)


def _find(remote: Remote, text: str) -> Mapping[str, Any]:
    """Return the run that a person means: by its id, the beginning of it, or `last`."""
    if text != "last":
        runs = [
            one
            for one in remote.read("/api/crew/runs", limit=100)["runs"]
            if one["run_id"].startswith(text)
        ]
        if len(runs) > 1 and not any(one["run_id"] == text for one in runs):
            fail(f"there is no run {text}…: several runs begin so")
        found = runs[0]["run_id"] if len(runs) == 1 else text
    else:
        newest = remote.read("/api/crew/runs", limit=1)["runs"]
        if not newest:
            fail("there is no run last")
        found = newest[0]["run_id"]
    run: Mapping[str, Any] = remote.read(f"/api/crew/runs/{quote(found, safe='')}")
    return run


def show_inbox(remote: Remote, *, as_document: bool) -> int:
    """Print the runs of a server that wait for a person; returns how many there are."""
    runs = remote.read("/api/crew/inbox", limit=100)["runs"]
    console = Console(highlight=False)
    for run in runs:
        if as_document:
            print(visible_json(json.dumps(run, ensure_ascii=False)))
        elif (waiting := run["waiting"]) is not None:
            metadata = {key: value for key, value in waiting.items() if key != "agent"}
            pause = RunEvent("pause", None, waiting["agent"], "", waiting["since"], metadata, "")
            print_waiting(console, run["run_id"], run["query"], run["answer"], pause)
            console.print(f"  answer it at {remote.url}/runs/{run['run_id']}", soft_wrap=True)
            console.print()
    return len(runs)
