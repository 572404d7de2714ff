"""A process of an isolated tool, as its owner sees it."""

import asyncio
import contextlib
import os
import signal
import sys

from tools.context import ToolContext
from tools.errors import PermanentError
from tools.kinds.python.messages import (
    LENGTH,
    MAX_BYTES,
    Call,
    Message,
    Reply,
    SecretAsked,
    SecretGiven,
    Setup,
    Told,
    decode,
    encode,
)


class IsolatedProcess:
    """Does one call at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout

    @classmethod
    async def start(cls) -> "IsolatedProcess":
        """Start a process; the first message to it is its setup."""
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                # what lies in the working folder must not hide a package
                "-P",
                "-m",
                "tools.kinds.python.child",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                # killed with what it starts, and no signal of a terminal reaches it
                start_new_session=True,
            )
        )

    @property
    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._process.returncode is not None

    async def ask(self, message: Setup | Call, context: ToolContext) -> Reply:
        """Return the reply.

        Args:
            message: for it.
            context: gets the progress of the call, and gives it secrets.

        Raises:
            PermanentError: it ended, or what it sends is no reply.
        """
        try:
            await self._send(message)
            while True:
                match await self._receive():
                    case Reply() as reply:
                        return reply
                    case Told(progress, total, text):
                        context.progress(progress, total, text)
                    case SecretAsked(name):
                        await self._send(SecretGiven(_find(name, context)))
                    case _:
                        raise PermanentError("its process sent what is no reply")
        except (asyncio.IncompleteReadError, ConnectionError):
            raise PermanentError(f"its process ended{await self._how()}") from None
        except ValueError as error:
            raise PermanentError(f"the call cannot be passed on: {error}") from None

    async def _send(self, message: Message) -> None:
        self._stdin.write(encode(message))
        await self._stdin.drain()

    async def _receive(self) -> Message:
        (length,) = LENGTH.unpack(await self._stdout.readexactly(LENGTH.size))
        if length > MAX_BYTES:
            raise PermanentError("its process sent what is no reply")
        return decode(await self._stdout.readexactly(length))

    async def _how(self) -> str:
        # what it has started must not outlive it
        self._kill_group()
        code = await self._process.wait()
        if code >= 0:
            return f" with exit code {code}"
        name = signal.Signals(-code).name
        reasons: dict[int, str] = {
            signal.SIGXCPU: "it used all its time of the CPU (max_cpu_seconds)",
            signal.SIGKILL: "killed, maybe since the machine had no memory left",
        }
        return f" ({name}: {reasons.get(-code, 'the function, or a library of it, failed')})"

    def kill(self) -> None:
        """End it at once, with all processes that it has started."""
        # later the number may be another's
        if not self.has_ended:
            self._kill_group()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def ended(self) -> None:
        """Wait until it is gone."""
        await self._process.wait()


def _find(name: str, context: ToolContext) -> str | None:
    try:
        return context.secret(name)
    except PermanentError:
        return None
