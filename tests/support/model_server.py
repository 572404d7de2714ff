"""A scripted server of chat completions, over real HTTP."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

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
    """The requests that came, and how they are answered."""

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
                body = await reader.readexactly(int(length[1]) if length else 0)
                request = json.loads(body or b"{}")
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
async def model_server(reply: Reply | list[bytes], port: int = 0) -> AsyncIterator[ModelServer]:
    """A server of chat completions.

    Args:
        reply: makes the answer to a request; or answers in turn, of which the last one stays.
        port: 0: any.
    """
    if isinstance(reply, list):
        answers = list(reply)
        kept = ModelServer(lambda _: answers.pop(0) if len(answers) > 1 else answers[0])
    else:
        kept = ModelServer(reply)
    server = await asyncio.start_server(kept.serve, "127.0.0.1", port)
    kept.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield kept
    finally:
        server.close()
