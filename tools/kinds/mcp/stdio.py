"""A program that speaks MCP over stdin and stdout: one JSON-RPC message a line.

The SDK's own transport takes time quadratic in a line's length, bounds nothing, and leaves what the
program has started.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from tools.handlers.output import HeadAndTail
from tools.kinds.command.marks import VARIABLE
from tools.kinds.command.process import Running, Start
from tools.kinds.command.refusals import refusals
from tools.kinds.mcp.plan import Program

# of stderr, for messages
ERROR_BYTES = 4000
# from the end of stdin until it is asked to end
EXIT_SECONDS = 0.5
ANSWER_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')


@asynccontextmanager
async def program(
    plan: Program, max_line_bytes: int, on_end: Callable[[str], None]
) -> AsyncIterator[Any]:
    """Start a program; its messages and those for it, as the SDK's client takes them.

    Args:
        plan: how it is started.
        max_line_bytes: after a longer message it is ended.
        on_end: called when it ends by itself, with the reason.

    Raises:
        OSError: it cannot be started.
    """
    received, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    own = Path(tempfile.mkdtemp(prefix="crew-mcp-"))
    mark = plan.marks.new()
    stdin, to_stdin = os.pipe()
    try:
        with os.fdopen(stdin, "rb") as given:
            environment = {**plan.environment, "TMPDIR": str(own), VARIABLE: mark}
            argv = list(plan.argv)
            start = Start(argv, environment, plan.cwd, given, own, plan.sandbox)
            process = start.spawn()
    except BaseException:
        os.close(to_stdin)
        shutil.rmtree(own, ignore_errors=True)
        raise
    lines, errors = _Lines(received, max_line_bytes), HeadAndTail(ERROR_BYTES, head=0)

    async def run() -> None:
        reason = ""
        try:
            code = await Running(process).read(lines.add, errors.add)
            reason = f"it ended with {code}"
        except _TooLongError as error:
            reason = str(error)
        finally:
            said = errors.text().strip().rpartition("\n")[2]
            said = "; ".join([said, *refusals(plan.sandbox, errors.text())])
            # before the calls in flight are told, so that they can say it
            on_end(f"{reason}: {said}" if said and reason else reason)
            received.close()

    running = asyncio.ensure_future(run())
    writing = asyncio.ensure_future(_write(to_stdin, to_send))
    try:
        yield read_stream, write_stream
    finally:
        # most programs end when there is no more to read
        writing.cancel()
        await asyncio.wait({writing})
        # what it still says is not read
        read_stream.close()
        done, _ = await asyncio.wait({running}, timeout=EXIT_SECONDS)
        if not done:
            running.cancel()
            await asyncio.wait({running})
        write_stream.close()
        plan.marks.end(mark)
        shutil.rmtree(own, ignore_errors=True)


class _TooLongError(Exception):
    """A message is longer than it may be."""


class _Lines:
    """What a program writes, as messages."""

    def __init__(self, received: Any, max_bytes: int) -> None:
        self._received, self._max_bytes = received, max_bytes
        # of a line that has not ended
        self._parts: list[bytes] = []
        self._bytes = 0

    async def add(self, chunk: bytes) -> None:
        """Add more of it.

        Raises:
            _TooLongError: a message is too long.
        """
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._keep(part)
            line, self._parts, self._bytes = b"".join(self._parts), [], 0
            await self._tell(line)
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._bytes += len(part)
        if self._bytes > self._max_bytes:
            limit = f"max_line_kb allows {self._max_bytes >> 10}"
            raise _TooLongError(f"it sent a message of more than that ({limit})")
        if part:
            self._parts.append(part)

    async def _tell(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            found = ANSWER_ID.search(line)
            if found is None:
                # a greeting, or other output: no answer to anything
                return
            error = ErrorData(code=PARSE_ERROR, message="its answer cannot be read")
            message = JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]), error=error)
        # the client has gone
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._received.send(SessionMessage(message))


async def _write(pipe: int, to_send: Any) -> None:
    """Write messages to a pipe, each as a line."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(pipe, "wb", buffering=0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    try:
        async with to_send:
            async for message in to_send:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(f"{text}\n".encode(errors="replace"))
                # its end is told by the one who reads
                with contextlib.suppress(ConnectionError):
                    await writer.drain()
    finally:
        transport.close()
