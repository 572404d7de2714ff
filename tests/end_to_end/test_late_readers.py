"""Pages that are opened, or come back, while an answer is being written."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.end_to_end.test_begun_again import joined
from tests.support.endpoints import crew_at
from tests.support.model_server import chunks
from tests.support.paying_crew import data_of
from tests.support.processes import client, serving

WORDS = " ".join(f"word{number}" for number in range(12))
PIECES = [{"content": word} for word in re.findall(r"\S+ ?", WORDS)]
BEGUN = "".join(one["content"] for one in PIECES[:6])
HALF = chunks(*PIECES[:6], finish=None, end=False)
REST = chunks(*PIECES[6:]).partition(b"\r\n\r\n")[2]
Frames = Iterator[tuple[str | None, Any]]
Text = Callable[[list[dict[str, Any]]], str]


@asynccontextmanager
async def halting_model(goes_on: asyncio.Event) -> AsyncIterator[str]:
    """A model that writes half of its answer, and the rest when it may."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(HALF)
        await writer.drain()
        await goes_on.wait()
        writer.write(REST)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def read_late(folder: Path, go_on: Callable[[], object]) -> list[str]:
    """The text that each reader has in the end; `go_on`: ends the answer."""
    with serving(folder) as server, client(server) as http:
        body = {
            "id": "c1",
            "messages": [
                {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "write"}]}
            ],
        }
        with http.stream("POST", "/ai", json=body) as first:
            frames = data_of(first.iter_lines())
            run_id = next(frames)[1]["messageId"]
            written = ""
            while written != BEGUN:
                written += next(one["delta"] for _, one in frames if is_text(one))
            events = f"/api/crew/runs/{run_id}/events"
            # all that is stored: the agent has begun
            with http.stream("GET", events) as stored:
                told = data_of(stored.iter_lines())
                newest = next(id_ for id_, one in told if one["type"] == "agent_start")
            known = {"Last-Event-ID": str(newest)}
            with (
                http.stream("GET", events, params={"deltas": "1"}, headers=known) as own,
                http.stream("GET", f"/agui/{run_id}") as agui,
                http.stream("GET", "/ai/c1/stream") as again,
            ):
                readers = [data_of(one.iter_lines()) for one in (own, agui, again)]
                texts = [joined, deltas, deltas]
                half = [begun(*one) for one in zip(readers, texts, strict=True)]
                go_on()
                whole = [
                    [*events, *(one for _, one in reader if one != "[DONE]")]
                    for events, reader in zip(half, readers, strict=True)
                ]
    return [text(one) for text, one in zip(texts, whole, strict=True)]


def begun(frames: Frames, text: Text) -> list[dict[str, Any]]:
    """The frames up to where the half of the answer is there."""
    found: list[dict[str, Any]] = []
    while text(found) != BEGUN:
        found.append(next(frames)[1])
    return found


def is_text(document: dict[str, Any]) -> bool:
    return document["type"] in ("TEXT_MESSAGE_CONTENT", "text-delta")


def deltas(documents: list[dict[str, Any]]) -> str:
    return "".join(one["delta"] for one in documents if is_text(one))


async def test_have_all_of_it(tmp_path: Path):
    """In each language that has pieces of text: what was written before, and then the rest."""
    loop, goes_on = asyncio.get_running_loop(), asyncio.Event()
    async with halting_model(goes_on) as url:
        settings: dict[str, Any] = {"disconnect_grace_seconds": -1}
        # an agent that can only end the run: its text is the answer
        folder = crew_at(tmp_path, url, {"tools": []}, settings=settings, conversations={})
        texts = await asyncio.to_thread(
            read_late, folder, lambda: loop.call_soon_threadsafe(goes_on.set)
        )
    assert texts == [WORDS, WORDS, WORDS]
