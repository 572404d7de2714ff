"""Reads a file in a process of its own, and bounds it."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from crew.documents.reading.child import CPU_SECONDS, MEMORY_MB
from crew.documents.reading.results import ReadRequest, ReadText
from tools.clock import Clock

SECONDS = 120.0
# has the package
ROOT = Path(__file__).parents[3]
# of the text; with its words it is more
MAX_TEXT_BYTES, MAX_BYTES = 20_000_000, 100_000_000
CHUNK_BYTES = 1 << 20
PROGRAM = (sys.executable, "-P", "-m", "crew.documents.reading.child")
ENDINGS: dict[int, str] = {
    signal.SIGXCPU: f"needs more than {CPU_SECONDS} s of CPU to be read",
    signal.SIGKILL: "needs more than its process may have (time or memory) to be read",
    signal.SIGSEGV: f"needs more than {MEMORY_MB} MiB of memory to be read, or is damaged",
}


async def read_file(
    request: ReadRequest,
    data: bytes,
    clock: Clock,
    program: Sequence[str] = PROGRAM,
    seconds: float = SECONDS,
) -> ReadText:
    """Read a file; one that cannot be read has a reason.

    Args:
        request: what is to be read.
        data: the file.
        clock: of the time that it has.
        program: what reads it.
        seconds: that it may take.

    Raises:
        OSError: no process could be started.
    """
    # a process without an environment of ours, but for where this package and Python's own library
    # are found
    environment = {"PYTHONPATH": str(ROOT)}
    if (libraries := os.environ.get("LD_LIBRARY_PATH")) is not None:
        environment["LD_LIBRARY_PATH"] = libraries
    with clock.hold():
        process = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(seconds):
                answer = await _exchange(process, request.encode() + data)
                code = await process.wait()
        except TimeoutError:
            return ReadText("", reason=f"needs more than {seconds:g} s to be read")
        finally:
            await _end(process)
    if len(answer) > MAX_BYTES:
        return ReadText("", reason=f"is more than {MAX_BYTES // 1_000_000} MB when it is read")
    if code < 0:
        why = ENDINGS.get(-code, f"ends the process that reads it ({signal.Signals(-code).name})")
        return ReadText("", reason=why)
    # much of it would hold up all runs of this process
    return await asyncio.to_thread(_decoded, answer)


def _decoded(answer: bytes) -> ReadText:
    try:
        read = ReadText.decode(answer)
    except ValueError:
        return ReadText("", reason="cannot be read: its process has ended")
    if len(read.text.encode()) > MAX_TEXT_BYTES:
        return ReadText("", reason=f"has more than {MAX_TEXT_BYTES // 1_000_000} MB of text")
    return read


async def _exchange(process: asyncio.subprocess.Process, given: bytes) -> bytes:
    """Send what is to be read, and return what comes, up to a byte too many."""
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    sending = asyncio.ensure_future(_send(process.stdin, given))
    answer = bytearray()
    try:
        while len(answer) <= MAX_BYTES:
            chunk = await process.stdout.read(CHUNK_BYTES)
            if not chunk:
                break
            answer += chunk
        else:
            _kill(process)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    return bytes(answer)


async def _send(stdin: asyncio.StreamWriter, given: bytes) -> None:
    # it may end before it has read all
    with contextlib.suppress(ConnectionError):
        stdin.write(given)
        await stdin.drain()
        stdin.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it, with what it may have started."""
    if process.returncode is None:
        _kill(process)
        await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
