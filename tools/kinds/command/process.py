"""A program and all that it starts, ended together."""

import asyncio
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tools.confinement import landlock
from tools.kinds.command.sandbox import Sandbox

MIB = 1 << 20
# from the request to end until it is ended
GRACE_SECONDS = 1.0
# of what it leaves behind to close its pipes
DRAIN_SECONDS = 0.2
CHUNK_BYTES = 1 << 16
# takes what a program writes
Give = Callable[[bytes], Awaitable[None] | None]
# a fixed script: what is run is an argument of it. Limits are there before the program is
LIMITS_SCRIPT = (
    # a second later it is killed
    'ulimit -c 0; ulimit -d "$1"; ulimit -S -t "$2"; ulimit -H -t "$3"; ulimit -f "$4"; '
    'shift 4; exec "$@"'
)


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """Of each process of a program."""

    memory_mb: int
    cpu_seconds: int
    file_mb: int

    def argv(self, program: list[str]) -> list[str]:
        """Return what starts a program under them."""
        limits = [
            _at_most(resource.RLIMIT_DATA, self.memory_mb * MIB) // 1024,
            _at_most(resource.RLIMIT_CPU, self.cpu_seconds),
            _at_most(resource.RLIMIT_CPU, self.cpu_seconds + 1),
            _at_most(resource.RLIMIT_FSIZE, self.file_mb * MIB) // 512,
        ]
        return ["/bin/sh", "-c", LIMITS_SCRIPT, "sh", *map(str, limits), *program]


@dataclass(frozen=True, slots=True)
class Start:
    """How a program is started."""

    argv: list[str]
    environment: dict[str, str]
    cwd: Path
    # what it reads
    stdin: IO[bytes]
    # the folder of its call
    own: Path
    sandbox: Sandbox
    limits: ProgramLimits | None = None

    def spawn(self) -> "subprocess.Popen[bytes]":
        """Start it; raises OSError."""
        limited = self.argv if self.limits is None else self.limits.argv(self.argv)
        argv = [*self.sandbox.prefix(self.own, self.cwd), *limited]

        def start() -> "subprocess.Popen[bytes]":
            return subprocess.Popen(
                argv,
                env=self.environment,
                cwd=self.cwd,
                stdin=self.stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

        if self.sandbox.kind != "landlock":
            return start()
        rights = list(self.sandbox.rights(self.own))

        def start_confined() -> "subprocess.Popen[bytes]":
            landlock.restrict_thread(rights, network=self.sandbox.network)
            return start()

        return _in_thread(start_confined)


def _at_most(kind: int, wanted: int) -> int:
    """Return a limit; the machine's own may be lower."""
    _, hard = resource.getrlimit(kind)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _in_thread(work: "Callable[[], subprocess.Popen[bytes]]") -> "subprocess.Popen[bytes]":
    """Do something in a thread that ends with it: what it gives up, it gives up for good."""
    done: list[subprocess.Popen[bytes]] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 # raised in the caller, below
            failed.append(error)

    thread = threading.Thread(target=run, name="crew-spawn", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


class Running:
    """A program that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._has_ended = asyncio.Event()
        self._readers: list[asyncio.Task[None]] = []
        # does not reap it: as long as it is there, its number is no other process's
        self._pidfd = os.pidfd_open(process.pid)
        asyncio.get_running_loop().add_reader(self._pidfd, self._end)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        self._has_ended.set()

    async def read(self, on_stdout: Give, on_stderr: Give) -> int:
        """Wait for its end, and give what it writes to the two as it comes.

        Returns:
            Its exit code; negative, that of the signal that ended it.

        Raises:
            PermanentError: as raised by the two; the program is ended.
        """
        assert self._process.stdout is not None, "it is a pipe"
        assert self._process.stderr is not None, "it is a pipe"
        pairs = ((self._process.stdout, on_stdout), (self._process.stderr, on_stderr))
        self._readers = [asyncio.ensure_future(_pump(*pair)) for pair in pairs]
        ended = asyncio.ensure_future(self._has_ended.wait())
        waiting: set[asyncio.Future[Any]] = {ended, *self._readers}
        try:
            while not ended.done():
                done, waiting = await asyncio.wait(waiting, return_when="FIRST_COMPLETED")
                for one in done:
                    one.result()
            self._signal(signal.SIGKILL)
            # what left the session holds the pipes, maybe for ever
            await asyncio.wait(self._readers, timeout=DRAIN_SECONDS)
            for reader in self._readers:
                if reader.done():
                    reader.result()
            return self._reap()
        except BaseException:
            ended.cancel()
            await self._stop()
            raise
        finally:
            for reader in self._readers:
                reader.cancel()
            await asyncio.gather(*self._readers, return_exceptions=True)

    async def _stop(self) -> None:
        """End it: by a signal first, then killed with all of its session."""
        try:
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._has_ended.wait()
        finally:
            self._signal(signal.SIGKILL)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._has_ended.wait()
            self._reap()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _reap(self) -> int:
        """Forget it; its exit code."""
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        return self._process.wait()


async def _pump(pipe: IO[bytes], give: Give) -> None:
    """Give what comes through a pipe to a function, until its end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK_BYTES)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            if (taken := give(chunk)) is not None:
                # no more is read until it is taken
                await taken
    finally:
        transport.close()
