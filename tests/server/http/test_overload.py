"""What starts runs is refused while the event loop of a server is late, and nothing else is."""

import asyncio
import json
import time
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from server.http.access import POLICY
from server.http.overload import FEW, MOST_AT_ONCE, STARTS, Admission, Overload
from server.protocols.a2a.card import REST
from server.protocols.doors import open_doors
from server.settings import ServerSettings

SECONDS = 60.0


def overload(active: int = 0) -> Overload:
    registry = CollectorRegistry()
    return Overload(Counter("refused", "Refused.", ["reason"], registry=registry), lambda: active)


def ask(watched: Overload, times: int = 1000) -> int:
    """How many of so many starts at once may be made."""
    return sum(watched.may_start() for _ in range(times))


async def hold_up(watched: Overload) -> int:
    """The loop has too much to do, again and again; how many of the last starts may be made."""
    for _ in range(15):
        admitted = ask(watched)
        # what blocks the loop is what this is about
        time.sleep(0.2)  # noqa: ASYNC251
        await asyncio.sleep(0.051)
    return admitted


async def status(
    admission: Admission, path: str, *headers: tuple[bytes, bytes], method: str = "GET"
) -> tuple[int, dict[bytes, bytes], Any]:
    """What a request is answered: code, headers, body."""
    sent: list[Any] = []
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": list(headers)}

    async def send(message: Any) -> None:
        sent.append(message)

    receive: Receive = asyncio.Queue[Any]().get
    sending: Send = send
    await admission(scope, receive, sending)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


async def test_a_late_loop_starts_few_runs():
    """And as many as before once it has been on time for a while."""
    watched = overload()
    watching = asyncio.create_task(watched.watch())
    await asyncio.sleep(0)
    assert ask(watched) == MOST_AT_ONCE
    assert await hold_up(watched) <= 60
    deadline = time.monotonic() + SECONDS
    while ask(watched) < MOST_AT_ONCE:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.051)
    watching.cancel()


@pytest.mark.parametrize("active", [0, 1, FEW - 1, FEW])
def test_few_are_never_too_much(active: int):
    """Of requests under way, and of runs at work."""
    watched = overload(active)
    left = ask(watched)
    # of the requests so far
    for _ in range(left):
        watched.answered()
    for _ in range(100):
        made = ask(watched)
        assert made == (FEW if active < FEW else 0)
        for _ in range(made):
            watched.answered()


async def test_one_after_the_other_is_never_refused():
    """Each answer makes room for the next request."""
    watched = overload()
    admission = Admission(PlainTextResponse("passed"), watched)
    for _ in range(ask(watched) - FEW + 1):
        watched.answered()
    for _ in range(100):
        assert (await status(admission, "/api/crew/run"))[0] == 200
    assert watched.may_start()
    assert (await status(admission, "/api/crew/run"))[0] == 503


async def test_only_what_starts_runs_is_refused():
    """Not a stream that comes back, nor anything else; the answer says when to come again."""
    watched = overload()
    admission = Admission(PlainTextResponse("passed"), watched)
    ask(watched)

    for path in STARTS:
        code, headers, body = await status(admission, path)
        assert (code, headers[b"retry-after"]) == (503, b"1")
        assert headers[b"x-request-id"]
        assert {name.lower().encode() for name in POLICY} <= headers.keys()
        assert headers[b"content-type"] == b"application/problem+json"
        assert "try again" in json.loads(body)["detail"]
        assert (await status(admission, path, (b"last-event-id", b"r:1")))[0] == 200
    for path in ("/health", "/api/crew/runs", "/api/crew/runs/r/resume", "/metrics"):
        assert (await status(admission, path))[0] == 200
    for path in ("", "/r/fork", "/r/retry", "/r/resume", "/r/cancel"):
        expected = 200 if path in ("/r/resume", "/r/cancel") else 503
        assert (await status(admission, f"/api/crew/runs{path}", method="POST"))[0] == expected, (
            path
        )
    assert (await status(admission, "/api/crew/hooks/alerts", method="POST"))[0] == 503
    assert (await status(admission, "/api/crew/schedules/nightly/run", method="POST"))[0] == 503


async def test_doors_start_runs_as_well():
    """What is refused there has the form that its clients read; what cancels a run is not refused."""
    watched, doors = overload(), open_doors(ServerSettings())
    admission = Admission(PlainTextResponse("passed"), watched, doors)
    ask(watched)
    rest = f"{REST}/message:send"
    for path in ("/agui", "/ai", rest, "/v1/chat/completions", "/v1/responses"):
        code, headers, _ = await status(admission, path, method="POST")
        assert (code, headers[b"retry-after"]) == (503, b"1"), path
    # methods of JSON-RPC have one address, also those that cancel
    for path in ("/v1/responses/resp_1/cancel", f"{REST}/tasks/t1:cancel", "/a2a", "/mcp"):
        assert (await status(admission, path, method="POST"))[0] == 200
    assert (await status(admission, "/v1/models"))[0] == 200
