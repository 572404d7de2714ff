"""A process that has imported all of `crew` and forks for each command or server of the tests.

To import it takes a command half a second and a server a whole one, and tests start a thousand of
them. So each process of tests has one that has imported everything and does nothing else. What is
forked has arguments, environment, folder, input and output of its own. `BIN / "crew"` is started
as a person does.
"""

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

CREW = Path(sys.executable).parent / "crew"
# what Python and its libraries read when they start
AT_START = ("PYTHON", "LC_", "LANG", "LD_", "COVERAGE_")
MAX_REQUEST = 1 << 20


class ForkedProcess:
    """A command of `crew` that was forked, with the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self, words: Sequence[str], cwd: Path | str, environment: dict[str, str], *files: IO[str]
    ) -> None:
        """Start it.

        Args:
            words: the arguments of `crew`.
            cwd: where it runs.
            environment: all of it; nothing of `AT_START` may differ from that of the tests.
            files: its standard input, output and error.
        """
        self.args = [str(CREW), *words]
        self.returncode: int | None = None
        reading, writing = os.pipe()
        request = {"words": words, "cwd": str(cwd), "environment": environment}
        fds, body = [*(one.fileno() for one in files), writing], json.dumps(request).encode()
        try:
            socket.send_fds(_forking()[0], [body], fds)
        except (BrokenPipeError, ConnectionResetError):
            # a test has ended it with other processes
            _end(*_forking())
            _forking.cache_clear()
            socket.send_fds(_forking()[0], [body], fds)
        os.close(writing)
        self._status = os.fdopen(reading)
        self.pid = int(self._status.readline())

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, once it has ended.

        Args:
            timeout: in seconds.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            with self._status:
                self.returncode = int(self._status.readline())
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, kind: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, kind)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def can_be_forked(environment: dict[str, str]) -> bool:
    """Return whether nothing of it counts before the first line of `crew` runs."""
    return not any(name.startswith(AT_START) for name in environment)


@cache
def _forking() -> "tuple[socket.socket, subprocess.Popen[bytes]]":
    """Start the process that forks; it ends with this one."""
    unmeasured = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")
    }
    own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST)
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forking", str(its.fileno())],
            pass_fds=[its.fileno()],
            # as what cannot be sought in: a command's may be a socket
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            env=unmeasured,
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
    """Fork for each request, and report how each command ends, until there can be no more."""
    with selectors.DefaultSelector() as looking:
        looking.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in looking.select():
                if key.data is not None:
                    looking.unregister(key.fileobj)
                    _report(key.fd, *key.data)
                    continue
                body, fds, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
                if not body:
                    return
                *files, status = fds
                if (pid := os.fork()) == 0:
                    _become(json.loads(body), files)
                    return
                looking.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))
                _write(status, pid)
                for fd in files:
                    os.close(fd)


def _report(handle: int, pid: int, status: int) -> None:
    """Report how a command has ended."""
    os.close(handle)
    _, ended = os.waitpid(pid, 0)
    _write(status, os.waitstatus_to_exitcode(ended))
    os.close(status)


def _write(status: int, number: int) -> None:
    # a test that was given up reads no more
    with contextlib.suppress(BrokenPipeError):
        os.write(status, f"{number}\n".encode())


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Be the command."""
    for number, fd in enumerate(files):
        os.dup2(fd, number)
    # of this process, and of other commands
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv = [str(CREW), *request["words"]]
    # by it typer would name the program
    vars(sys.modules["__main__"])["__package__"] = None
    try:
        import_module("crewline").main()
    except SystemExit as end:
        if isinstance(end.code, int | None):
            _exit(end.code or 0)
        raise


def _exit(code: int) -> None:
    """End as the interpreter does, but leave its memory as it is: to free it, it would be copied."""
    threading._shutdown()  # type: ignore[attr-defined] # what the interpreter calls
    atexit._run_exitfuncs()
    # where nobody reads any more the interpreter ends it in its own way
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


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
