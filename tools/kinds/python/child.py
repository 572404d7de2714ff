"""The process of an isolated tool: loads its function, then does one call after the other.

It ends when its input ends. Run: python -P -m tools.kinds.python.child
"""

import asyncio
import math
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, BinaryIO, Literal

from tools.config.python import PythonTool
from tools.confinement.confine import MIB, end_with_parent, lower_limit
from tools.context import Progress, ToolContext, find_no_secret
from tools.definition import Tool
from tools.errors import ToolDefinitionError
from tools.handlers.function import Function
from tools.handlers.output import serialize_output
from tools.kinds.python.messages import (
    LENGTH,
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
from tools.kinds.python.reference import python_tool
from tools.limits.retry import ErrorClass, classify, describe_error
from tools.tracing import TraceContext


def _main() -> None:
    # also in the middle of a call; elsewhere than on Linux it ends after the call
    end_with_parent()
    # what a handler prints must not get into the replies, and it must not read the calls
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    owner = _Owner(requests, replies)
    setup = owner.receive()
    assert isinstance(setup, Setup), "it is the first message"
    _limit_memory(setup)
    entry = PythonTool(kind="python", function=setup.function, parameters=setup.parameters)
    try:
        tool = python_tool(setup.tool, entry, Path(setup.folder))
    except ToolDefinitionError as error:
        owner.send(Reply("permanent", str(error), is_last=True))
        return
    except MemoryError:
        owner.send(_out_of_memory(setup))
        return
    owner.send(Reply("success"))
    with asyncio.Runner() as runner:
        while isinstance(call := owner.receive(), Call):
            _limit_cpu(setup)
            owner.send(_answer(runner, tool, setup, call, owner))


def _limit_memory(setup: Setup) -> None:
    # the address space would count what is only reserved, such as the stacks of threads
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    lower_limit(kind, setup.max_memory_mb * MIB, is_final=False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(setup: Setup) -> None:
    """Have this process ended (SIGXCPU) when the next call has used its time."""
    if setup.max_cpu_seconds is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    # in whole seconds
    seconds = math.ceil(used.ru_utime + used.ru_stime + setup.max_cpu_seconds)
    lower_limit(resource.RLIMIT_CPU, seconds, is_final=False)


class _Owner:
    """The process that makes the calls."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests, self._replies = requests, replies
        # a function may tell of its progress from threads of its own
        self._lock = threading.Lock()

    def receive(self) -> Message | None:
        """Receive the next message; None at the end."""
        head = self._requests.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        return decode(self._requests.read(*LENGTH.unpack(head)))

    def send(self, message: Message) -> None:
        """Send a message."""
        with self._lock:
            self._write(message)

    def find_secret(self, name: str) -> str:
        """See `ToolContext.secret`."""
        with self._lock:
            self._write(SecretAsked(name))
            given = self.receive()
        value = given.value if isinstance(given, SecretGiven) else None
        return value if value is not None else find_no_secret(name)

    def tell(self, progress: Progress) -> None:
        """See `ToolContext.progress`."""
        self.send(Told(progress.progress, progress.total, progress.message))

    def _write(self, message: Message) -> None:
        self._replies.write(encode(message))
        self._replies.flush()


def _answer(runner: asyncio.Runner, tool: Tool, setup: Setup, call: Call, owner: _Owner) -> Reply:
    context = ToolContext(
        call.call_id,
        call.run_id,
        call.agent_id,
        call.user,
        call.group,
        owner=call.owner,
        user_id=call.user_id,
        conversation_id=call.conversation_id,
        trace=TraceContext.parse(call.traceparent),
        find_secret=owner.find_secret,
    )
    context.begin(time.monotonic() + call.remaining_seconds, owner.tell)
    function = tool.act
    assert isinstance(function, Function), "it is made of one"
    try:
        given = function.with_context(tool.check(call.arguments), context)
        value = function.handler(**given)
        if isinstance(value, Awaitable):
            value = runner.run(_wait(value))
        reply = Reply("success", serialize_output(value))
        # too long is the handler's mistake
        encode(reply)
    except MemoryError:
        return _out_of_memory(setup)
    except Exception as error:  # noqa: BLE001 # told to the one who called
        kind = classify(error)
        if kind == "bug":
            traceback.print_exc()
        if kind == "timeout":
            # the one who called knows the time
            return Reply("timeout", str(error))
        return Reply(_OUTCOMES.get(kind, "permanent"), describe_error(error, kind, 0))
    except BaseException as error:  # noqa: BLE001 # SystemExit of a handler too
        return Reply("permanent", f"{type(error).__name__}: {error}")
    return reply


_OUTCOMES: dict[ErrorClass, Literal["temporary"]] = {
    "temporary": "temporary",
    "network": "temporary",
}


async def _wait(value: Awaitable[Any]) -> Any:
    return await value


def _out_of_memory(setup: Setup) -> Reply:
    # what is left of its memory is unknown
    text = f"it needs more than {setup.max_memory_mb} MB of memory (max_memory_mb)"
    return Reply("permanent", text, is_last=True)


if __name__ == "__main__":
    _main()
