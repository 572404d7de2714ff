"""A client of a crew's server."""

import ssl
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx2

from crew.journal.wire import RunEvent, events_lost
from server.client.answers import json_of, require_good
from server.client.errors import ClientError
from server.client.waiting import Backoff, Waits
from server.variables import LOOPBACK
from tools.clock import SYSTEM_CLOCK, rfc3339

API = "/api/crew"
CONNECT_SECONDS = 10.0
# a server sends a comment more often than this
STREAM_SECONDS = 60.0
# without an end of the waiting that is given
PATIENCE_SECONDS = 600.0
# of an event
MAX_EVENT_BYTES = 64 << 20
BUSY = frozenset({429, 503})
# how long a server may be busy before a request fails
BUSY_SECONDS = 60.0


class CrewClient:
    """Asks a served crew, and follows its runs; an async context manager.

    A stream that breaks is taken up behind the last event that came; a start is never made twice.

    Example:
        async with crewline.Client("https://crew.example.com", token=token) as crew:
            async for event in crew.ask("Is the disk full?"):
                print(event.type, event.content)
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        ca: str | None = None,
        timeout_seconds: float = 30.0,
        patience_seconds: float | None = PATIENCE_SECONDS,
        waits: Waits | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            url: of the server, such as https://crew.example.com.
            token: shown with each request.
            ca: a file of certificates that are trusted beside the system's.
            timeout_seconds: for an answer, but for streams.
            patience_seconds: how long a stream that has broken is taken up again, and a start that
                may have come is repeated; None: for ever.
            waits: is called before each wait.
            transport: in place of the network.
        """
        self.url, self.token = url.rstrip("/"), token
        self.patience, self.waits = patience_seconds, waits or _ignore
        verify: ssl.SSLContext | bool = True
        if ca is not None:
            verify = ssl.create_default_context()
            verify.load_verify_locations(cafile=ca)
        # another host must not get the token, so no redirect is followed
        self._http = httpx2.AsyncClient(
            base_url=self.url,
            timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
            follow_redirects=False,
            transport=transport,
            verify=verify,
            trust_env=not _is_near(self.url),
        )

    async def __aenter__(self) -> "CrewClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def ask(
        self,
        query: str,
        *,
        conversation: str | None = None,
        user: str | None = None,
        deltas: bool = False,
        **more: Any,
    ) -> AsyncIterator[RunEvent]:
        """Start a run, and yield its events until it ends or waits for a person.

        Args:
            query: for the crew.
            conversation: that it goes on with.
            user: that it is for; the token's owner unless given.
            deltas: with the texts of agents as they are written, as events without a number.
            more: further fields of the body.

        Raises:
            ClientError
        """
        run_id = await self.start(
            query, conversation=conversation, user=user, deltas=deltas or None, **more
        )
        async for event in self.events(run_id, deltas=deltas):
            yield event

    async def start(
        self,
        query: str,
        *,
        conversation: str | None = None,
        user: str | None = None,
        **more: Any,
    ) -> str:
        """Start a run; returns its id. A lost answer starts no second one. Raises ClientError."""
        given = {"query": query, "conversation_id": conversation, "user_id": user, **more}
        body = {key: value for key, value in given.items() if value is not None}
        started = await self.send("POST", f"{API}/runs", body, key=uuid4().hex)
        return str(started["run_id"])

    async def events(
        self, run_id: str, after: int = 0, *, deltas: bool = False
    ) -> AsyncIterator[RunEvent]:
        """Yield the events of a run behind one, until it ends or waits; raises ClientError."""
        path = f"{API}/runs/{quote(run_id, safe='')}/events"
        waiting = Backoff(self.waits, self.patience)
        last, has_ended = after, False
        while True:
            headers = {"Last-Event-ID": str(last)} if last else {}
            try:
                async with self._http.sse(
                    path,
                    params={"deltas": "1"} if deltas else {},
                    headers={**self._headers(), **headers},
                    timeout=httpx2.Timeout(STREAM_SECONDS, connect=CONNECT_SECONDS),
                    max_event_size=MAX_EVENT_BYTES,
                ) as stream:
                    if stream.response.status_code == 204:
                        return
                    await require_good(stream.response, self.url)
                    async for one in stream:
                        if not one.data:
                            continue
                        waiting.begin_again()
                        seq = (one.id or "").rpartition(":")[2]
                        event = RunEvent.decode(int(seq) if seq else None, one.data)
                        last = event.seq or last
                        has_ended = event.ends_segment
                        yield event
                if has_ended:
                    return
                why, pause = "the stream has ended before the run", None
            except httpx2.HTTPError as error:
                why, pause = f"the connection was lost ({type(error).__name__})", None
            except ClientError as error:
                if error.status == HTTPStatus.BAD_REQUEST and last:
                    # the database has lost its newest events: those that are left come again
                    yield events_lost(run_id, last, rfc3339(SYSTEM_CLOCK.now()))
                    last = 0
                    continue
                why, pause = _while_busy(error)
            await waiting.wait(why, pause)

    async def answer(self, run_id: str, text: str, *, pause: int | None = None) -> None:
        """Answer a paused run in words; `pause`: the number of its pause. Raises ClientError."""
        body = {"query": text} | ({"pause": pause} if pause is not None else {})
        await self._resume(run_id, body)

    async def decide(
        self,
        run_id: str,
        call: str,
        decision: str,
        *,
        hash: str | None = None,  # as the API calls it
        pause: int | None = None,
        **more: Any,
    ) -> None:
        """Answer a paused run with a decision on one of its calls.

        Args:
            run_id: the run.
            call: its call_id.
            decision: approve, deny, done, edit.
            hash: of the call as it was shown; another one is refused.
            pause: the number of the pause.
            more: further fields of the decision: `arguments`, `result`, `reason`, `remember`.

        Raises:
            ClientError
        """
        one = {"call_id": call, "decision": decision, "hash": hash, **more}
        decided = {key: value for key, value in one.items() if value is not None}
        body = {"decisions": [decided]} | ({"pause": pause} if pause is not None else {})
        await self._resume(run_id, body)

    async def cancel(self, run_id: str) -> None:
        """End a run; raises ClientError."""
        await self.send("POST", f"{API}/runs/{quote(run_id, safe='')}/cancel")

    async def retry(self, run_id: str) -> None:
        """Go on with a failed run at the step that failed; raises ClientError."""
        await self.send("POST", f"{API}/runs/{quote(run_id, safe='')}/retry")

    async def conversation(
        self, conversation: str, *, user: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """Return a conversation with its exchanges; `more`: after, limit. Raises ClientError."""
        path = f"{API}/conversations/{quote(conversation, safe='')}"
        document: dict[str, Any] = await self.read(path, user_id=user, **more)
        return document

    async def run(self, run_id: str) -> dict[str, Any]:
        """Return a run with its result; raises ClientError."""
        document: dict[str, Any] = await self.read(f"{API}/runs/{quote(run_id, safe='')}")
        return document

    async def clock(self) -> datetime:
        """Return the server's time, in whole seconds; raises ClientError."""
        try:
            return parsedate_to_datetime((await self._probe("/health")).headers["date"])
        except (KeyError, ValueError):
            raise ClientError("the answer has no date: is it a crew's server?") from None

    async def readiness(self) -> dict[str, Any]:
        """Return what the server says of itself, at once where it starts no runs, too.

        Raises:
            ClientError: it does not answer, or is no crew's server.
        """
        try:
            document = (await self._probe("/ready")).json()
        except ValueError:
            document = None
        if not isinstance(document, dict) or "status" not in document:
            raise ClientError("the answer of /ready has no status: is it a crew's server?")
        return document

    async def _probe(self, path: str) -> httpx2.Response:
        """Return the answer of an address that needs no token, whatever its status."""
        try:
            return await self._http.get(path)
        except httpx2.HTTPError as error:
            raise ClientError(f"{self.url} does not answer: {_text(error)}") from None

    async def read(self, path: str, **parameters: Any) -> Any:
        """Return the JSON of an address; raises ClientError."""
        return await self.send("GET", path, parameters=parameters)

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send a request, again while the server is busy; returns what it answers.

        Args:
            method: GET, POST, PUT, PATCH or DELETE.
            path: below the server's address.
            body: sent as JSON.
            key: a request with the same key acts once, so it may be sent again.
            parameters: of the query string; those that are None are left out.

        Returns:
            JSON; a text where it is none; None where nothing is answered.

        Raises:
            ClientError
        """
        headers = {"Idempotency-Key": key} if key is not None else {}
        given = {name: one for name, one in (parameters or {}).items() if one is not None}
        waiting, may_have_come = Backoff(self.waits, BUSY_SECONDS), False
        while True:
            try:
                response = await self._http.request(
                    method,
                    path,
                    json=body,
                    params=given,
                    headers={**self._headers(), **headers},
                )
                await require_good(response, self.url)
                return json_of(response)
            except httpx2.HTTPError as error:
                why, pause = f"{self.url} does not answer: {_text(error)}", None
                is_refused = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                may_have_come = may_have_come or not is_refused
                if key is None or not may_have_come:
                    raise ClientError(why) from None
                # with its key it acts once, whether or not it has come
                waiting.limit = self.patience
            except ClientError as error:
                why, pause = _while_busy(error)
            await waiting.wait(why, pause)

    async def _resume(self, run_id: str, body: Mapping[str, Any]) -> None:
        path = f"{API}/runs/{quote(run_id, safe='')}/resume"
        await self.send("POST", path, dict(body), key=uuid4().hex)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def _while_busy(error: ClientError) -> tuple[str, float | None]:
    """Return why a server is busy, and how long at least; raises what is no reason to wait."""
    if error.status not in BUSY:
        raise error
    return error.detail, error.document.get("retry_after")


def _text(error: httpx2.HTTPError) -> str:
    return str(error) or type(error).__name__


def _is_near(url: str) -> bool:
    """Return whether a server is on this machine, and speaks in the clear.

    A proxy would read the token, and may be on another machine.
    """
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _ignore(why: str, seconds: float) -> None:
    pass
