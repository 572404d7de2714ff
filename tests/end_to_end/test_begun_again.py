"""Text that is streamed once more, since its request is made again: a reader knows where it begins."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.endpoints import crew_at
from tests.support.model_server import chunks, model_server
from tests.support.paying_crew import data_of
from tests.support.processes import client, serving, start_server

WORDS = " ".join(f"word{number}" for number in range(30))


def joined(events: list[dict[str, Any]]) -> str:
    """The text of an answer, as the guide says that a page puts it together."""
    text = ""
    for event in events:
        if event["type"] == "agent_delta":
            text = event["content"] if event["metadata"].get("begins") else text + event["content"]
    return text


def begun(events: list[dict[str, Any]]) -> int:
    return sum("begins" in event["metadata"] for event in events if event["type"] == "agent_delta")


async def test_by_the_process_that_goes_on(tmp_path: Path):
    """What the one that was killed had written is no part of it."""
    loop, is_followed = asyncio.get_running_loop(), asyncio.Event()
    half = chunks(*({"content": word} for word in WORDS.split()[:5]), finish=None, end=False)
    # the connection stays open
    replies = [half.replace(b"connection: close\r\n", b"")]

    async def whole() -> bytes:
        await is_followed.wait()
        return chunks(*({"content": word} for word in re.findall(r"\S+ ?", WORDS)))

    async with model_server(lambda _: replies.pop() if replies else whole()) as model:
        folder = crew_at(tmp_path, model.url)
        events = await asyncio.to_thread(
            killed_meanwhile, folder, lambda: loop.call_soon_threadsafe(is_followed.set)
        )
    answers = [one["content"] for one in events if one["type"] == "agent_response"]
    assert (joined(events), begun(events)) == (WORDS, 2)
    assert answers == [WORDS]


def killed_meanwhile(folder: Path, followed: Callable[[], object]) -> list[dict[str, Any]]:
    """The events of a run of two processes; `followed`: is called with the second one's first."""
    server, last = start_server(folder), None
    events: list[dict[str, Any]] = []
    params = {"q": "go", "deltas": "1"}
    with client(server) as http, http.stream("GET", "/api/crew/stream", params=params) as stream:
        for id_, event in data_of(stream.iter_lines()):
            last = id_ or last
            events.append(event)
            if len([one for one in events if one["type"] == "agent_delta"]) == 5:
                break
        server.kill()
    assert last is not None
    address = f"/api/crew/runs/{last.partition(':')[0]}/events"
    with serving(folder) as server, client(server) as http:
        headers = {"Last-Event-ID": last}
        with http.stream("GET", address, params={"deltas": "1"}, headers=headers) as stream:
            lines = stream.iter_lines()
            next(lines)
            followed()
            events += [event for _, event in data_of(lines)]
    return events


async def test_by_the_same_process(tmp_path: Path):
    """A stream that is cut is asked for again."""
    half = chunks({"content": "lost "}, {"content": "words "}, finish=None, end=False)
    whole = chunks({"content": "all "}, {"content": "of it"})
    async with model_server([half, whole]) as model:
        events = await asyncio.to_thread(asked, crew_at(tmp_path, model.url))
    assert (joined(events), begun(events)) == ("all of it", 2)


def asked(folder: Path) -> list[dict[str, Any]]:
    """The events of a run, with the text as it is written."""
    with serving(folder) as server, client(server) as http:
        params = {"q": "go", "deltas": "1"}
        with http.stream("GET", "/api/crew/stream", params=params) as stream:
            return [event for _, event in data_of(stream.iter_lines())]
