"""Commands of `crew` as processes that begin with all of it imported.

To import it takes a command half a second, and tests run a thousand of them. So each process of
tests has one that has imported everything and does nothing else; it forks for each command, which
has arguments, environment, folder, input and output of its own. `BIN / "crew"` is started as a
person does.
"""

import atexit
import gc
import json
import os
import pkgutil
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment

CREW = str(BIN / "crew")
# what Python reads when it starts
AT_START = ("PYTHON", "LC_", "LANG", "LD_")
SECONDS = 2 * PROCESS_SECONDS
MAX_REQUEST = 1 << 20


def crew(
    *arguments: Any,
    cwd: Path | str | None = None,
    given: str = "",
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    """Run a command and wait for its end; no traceback may ever be seen.

    Args:
        arguments: of the command.
        cwd: where it runs.
        given: its standard input.
        environment: besides `clean_environment`.
    """
    words = [str(one) for one in arguments]
    whole = clean_environment(**environment)
    with (
        tempfile.TemporaryFile("w+") as stdin,
        tempfile.TemporaryFile("w+") as stdout,
        tempfile.TemporaryFile("w+") as stderr,
    ):
        stdin.write(given)
        stdin.flush()
        stdin.seek(0)
        files = stdin, stdout, stderr
        if any(name.startswith(AT_START) for name in environment):
            code = subprocess.run(
                [CREW, *words],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=whole,
                timeout=SECONDS,
            ).returncode
        else:
            code = _run_forked(
                {"words": words, "cwd": str(cwd or Path.cwd()), "environment": whole}, files
            )
        for one in files:
            one.seek(0)
        ended = subprocess.CompletedProcess([CREW, *words], code, stdout.read(), stderr.read())
    # a tool's own stands in the log, behind a margin
    assert not re.search(r"^Traceback", ended.stderr + ended.stdout, re.MULTILINE), ended
    return ended


def _run_forked(request: dict[str, Any], files: tuple[IO[str], ...]) -> int:
    """Have the command forked; return its exit code."""
    reading, writing = os.pipe()
    fds, body = [*(one.fileno() for one in files), writing], json.dumps(request).encode()
    try:
        socket.send_fds(_forking()[0], [body], fds)
    except (BrokenPipeError, ConnectionResetError):
        # a test has ended it with other processes
        _end(*_forking())
        _forking.cache_clear()
        socket.send_fds(_forking()[0], [body], fds)
    os.close(writing)
    with os.fdopen(reading) as status:
        pid = int(status.readline())
        if not select.select([status], [], [], SECONDS)[0]:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(request["words"], SECONDS)
        return int(status.readline())


@cache
def _forking() -> "tuple[socket.socket, subprocess.Popen[bytes]]":
    """Start the process that forks; it ends with this one."""
    own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST)
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked", str(its.fileno())],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],
            env=clean_environment(),
            # what ends the processes of a test is not for it
            start_new_session=True,
        )
    atexit.register(_end, own, process)
    return own, process


def _end(own: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    """End the process that forks, wherever it is."""
    own.close()
    process.kill()
    process.wait()


def _serve(requests: socket.socket) -> None:
    """Fork for each request, until there can be no more."""
    # those who wait for commands are not waited for
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        body, fds, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
        if not body:
            return
        if os.fork() == 0:
            requests.close()
            _wait_for_command(json.loads(body), fds)
            return
        for fd in fds:
            os.close(fd)


def _wait_for_command(request: dict[str, Any], fds: list[int]) -> None:
    """Fork once more, for the command, and report how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *files, status = fds
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become(request, files)
        return
    os.write(status, f"{pid}\n".encode())
    _, ended = os.waitpid(pid, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Be the command."""
    for number, fd in enumerate(files):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv = [CREW, *request["words"]]
    # by it typer would name the program
    vars(sys.modules["__main__"])["__package__"] = None
    import_module("crewline").main()


def _import_all() -> None:
    """Import what commands import."""
    for name in ("crew", "agents", "tools", "server"):
        package = import_module(name)
        for one in pkgutil.walk_packages(package.__path__, f"{name}."):
            import_module(one.name)
    # the collector would touch each page, which then would be copied
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _import_all()
    _serve(socket.socket(fileno=int(sys.argv[1])))
