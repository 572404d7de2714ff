"""What tests play on: crews written from Python, a scripted OpenAI server over real HTTP, a real server process."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import yaml

from crew import Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.store import RunRow
from tools import Tool

ROOT = Path(__file__).parent.parent
SHARED_CREWS = ROOT.parent / "shared" / "crews"
BIN = Path(sys.executable).parent
QUIET = {"CREW_LOG_LEVEL": "warning"}
STARTED = count()


def write_crew(
    folder: Path,
    agents: Mapping[str, Any],
    rules: Sequence[Any] | None = None,
    tools: Mapping[str, Any] | None = None,
    **crew: Any,
) -> Path:
    """A crew's files: agents by id (name, role and provider are filled in), the script's rules, tools.yaml, crew.yaml's keys."""
    (folder / "agents").mkdir(parents=True, exist_ok=True)
    _dump(folder / "crew.yaml", {"name": "test-crew", "agents": list(agents), **crew})
    for agent_id, keys in agents.items():
        said = {
            "id": agent_id,
            "name": agent_id.title(),
            "role": agent_id,
            "provider": "scripted",
            "system_prompt": f"You are {agent_id}.",
        }
        _dump(folder / "agents" / f"{agent_id}.yaml", said | dict(keys))
    _dump(folder / "script.yaml", {"rules": [{"say": "x"}] if rules is None else list(rules)})
    if tools is not None:
        _dump(folder / "tools.yaml", {"tools": dict(tools)})
    return folder


def _dump(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(
        yaml.safe_dump(dict(data), allow_unicode=True, sort_keys=False), encoding="utf-8"
    )


@dataclass
class Played:
    """What a run told, and how it ended."""

    row: RunRow
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def types(self) -> list[str]:
        """The types of all events, in order."""
        return [event["type"] for event in self.events]

    @property
    def path(self) -> list[str]:
        """The agents that spoke, in order."""
        return [event["metadata"]["agent_id"] for event in self.of("agent_response")]


async def play(
    crew: Crew, *texts: str, query: Query | None = None, runs: Runs | None = None
) -> Played:
    """Run a crew on a query, and answer its pauses with the further texts."""
    here = runs or Runs(crew, MemoryStore())
    run = await here.start(query or Query(texts[0]))
    for text in texts[1:] if query is None else texts:
        await run.outcome()
        run = await here.resume(run.id, Query(text))
    row = await run.outcome()
    events = [json.loads(line.public) async for line in here.follow(run.id) if line is not None]
    if runs is None:
        await here.__aexit__(None, None, None)
    return Played(row, events)


def crew_of(
    folder: Path, agents: Mapping[str, Any], rules: Sequence[Any], *given: Tool, **crew: Any
) -> Crew:
    """Write a scripted crew and load it."""
    return load_crew(write_crew(folder, agents, rules, **crew), tools=given)


# --- a model over real HTTP

Reply = Callable[[dict[str, Any]], "bytes | Awaitable[bytes]"]


def http(status: int, body: Any, headers: str = "") -> bytes:
    """A whole HTTP answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (
        f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n{headers}\r\n".encode()
        + data
    )


def completion(
    content: str | None = "ok", calls: list[tuple[str, Any]] | None = None, **more: Any
) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"c{n}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": args if isinstance(args, str) else json.dumps(args),
                },
            }
            for n, (name, args) in enumerate(calls)
        ]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "served",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
        **more,
    }


def chunks(*deltas: dict[str, Any], finish: str | None = "stop", end: bool = True) -> bytes:
    """A streamed answer of these deltas."""
    lines: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    if finish is not None:
        lines.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        lines.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
    body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + (
        "data: [DONE]\n\n" if end else ""
    )
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        + body.encode()
    )


@dataclass
class ModelServer:
    """What was asked of the scripted OpenAI server, and how it answers."""

    reply: Reply
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    # set when a client goes away before it was answered
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                text = head.decode()
                length = re.search(r"content-length: (\d+)", text, re.IGNORECASE)
                request = json.loads(await reader.readexactly(int(length[1]) if length else 0))
                self.headers.append(text)
                self.asked.append(request)
                answer = self.reply(request)
                if not isinstance(answer, bytes):
                    answer = await self._unless_left(answer, reader)
                writer.write(answer)
                await writer.drain()
                if b"connection: close" in answer or not answer:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _unless_left(self, answer: Awaitable[bytes], reader: asyncio.StreamReader) -> bytes:
        waiting = asyncio.ensure_future(answer)
        gone = asyncio.ensure_future(reader.read(1))
        done, _ = await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
        for task in (waiting, gone):
            task.cancel()
        # the reader serves one at a time
        await asyncio.gather(waiting, gone, return_exceptions=True)
        if waiting in done:
            return waiting.result()
        self.left.set()
        return b""


@asynccontextmanager
async def model_server(reply: Reply | list[bytes]) -> AsyncIterator[ModelServer]:
    """A server that speaks chat completions: by a function of the request, or by a list of answers in turn (the last one stays)."""
    if isinstance(reply, list):
        answers = list(reply)
        kept = ModelServer(lambda _: answers.pop(0) if len(answers) > 1 else answers[0])
    else:
        kept = ModelServer(reply)
    server = await asyncio.start_server(kept.serve, "127.0.0.1", 0)
    kept.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield kept
    finally:
        server.close()


# --- the server as a process


@dataclass
class ServerProcess:
    """`crew serve` as a process of its own."""

    process: "subprocess.Popen[str]"
    url: str
    log: Path

    def stop(self, seconds: float = 10) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()
        self.process.wait()


def start_server(
    folder: Path, *options: str, command: str = "serve", **environment: str
) -> ServerProcess:
    """Start `crew serve`, or `crew worker`, on a free port and wait until it says where it is."""
    log = folder / f"{command}-{next(STARTED)}.log"
    with log.open("w") as out:
        arguments: list[str | Path] = [BIN / "crew", command, folder, "--port", "0", *options]
        process = subprocess.Popen(
            arguments, stderr=out, stdout=out, text=True, env=clean_environment(**environment)
        )
    with log.open() as lines:
        while process.poll() is None:
            if found := re.search(r"serving on (http://\S+?)[\"\s]", lines.readline()):
                return ServerProcess(process, found[1], log)
    raise AssertionError(f"the server did not start: {log.read_text()}")


@contextlib.contextmanager
def serving(folder: Path, *options: str, command: str = "serve", **environment: str):
    """A server process, or a worker, for a `with` block; killed at its end if it still runs."""
    server = start_server(folder, *options, command=command, **environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without what would change a crew's behaviour."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("CREW_", "OPENAI_"))
    }
    return kept | more


def sse(text: str) -> list[dict[str, Any]]:
    """The events of an SSE body, each with its `id` (or None) beside the envelope."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in block.splitlines()
            if ": " in line and not line.startswith(":")
        )
        if "data" in fields:
            events.append({"id": fields.get("id"), **json.loads(fields["data"])})
    return events


def client(server: ServerProcess, **options: Any) -> httpx2.Client:
    """An HTTP client for a server process."""
    return httpx2.Client(base_url=server.url, timeout=30, trust_env=False, **options)
