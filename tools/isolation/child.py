"""The process of an isolated tool: loads its function, then does one call after the other.

It ends when its input ends. Run: python -P -m tools.isolation.child
"""

import asyncio
import ctypes
import json
import math
import os
import resource
import signal
import sys
import traceback
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, BinaryIO, Literal

from tools.config import PythonTool
from tools.errors import ToolDefinitionError
from tools.executor import describe_error
from tools.isolation.messages import LENGTH, Call, Reply, Setup, encode
from tools.output import serialize_output
from tools.python import python_tool
from tools.retry import ErrorClass, classify
from tools.tool import Tool

MIB = 1 << 20
# linux/prctl.h
PR_SET_PDEATHSIG = 1


def _main() -> None:
    _end_with_parent()
    # what a handler prints must not get into the replies, and it must not read the calls
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    setup = Setup(**_receive(requests))
    _limit_memory(setup)
    entry = PythonTool(kind="python", function=setup.function, parameters=setup.parameters)
    try:
        tool = python_tool(setup.tool, entry, Path(setup.folder))
    except ToolDefinitionError as error:
        _send(replies, Reply("permanent", str(error), is_last=True))
        return
    except MemoryError:
        _send(replies, _out_of_memory(setup))
        return
    _send(replies, Reply("success"))
    with asyncio.Runner() as runner:
        while message := _receive(requests):
            _limit_cpu(setup)
            _send(replies, _answer(runner, tool, setup, Call(**message)))


def _end_with_parent() -> None:
    """Have this process killed when the one that started it is gone, even in the middle of a call.

    On Linux; elsewhere it ends after the call.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_memory(setup: Setup) -> None:
    # the address space would count what is only reserved, such as the stacks of threads
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _lower(kind, setup.max_memory_mb * MIB)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(setup: Setup) -> None:
    """Have this process ended (SIGXCPU) when the next call has used its time."""
    if setup.max_cpu_seconds is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    # in whole seconds
    _lower(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + setup.max_cpu_seconds))


def _lower(kind: int, limit: int) -> None:
    """Set a limit; the machine's own may be lower."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _receive(requests: BinaryIO) -> dict[str, Any]:
    """The next message; empty at the end."""
    head = requests.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return {}
    message: dict[str, Any] = json.loads(requests.read(*LENGTH.unpack(head)))
    return message


def _send(replies: BinaryIO, reply: Reply) -> None:
    replies.write(encode(reply))
    replies.flush()


def _answer(runner: asyncio.Runner, tool: Tool, setup: Setup, call: Call) -> Reply:
    try:
        value = tool.handler(**tool.check(call.arguments))
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
