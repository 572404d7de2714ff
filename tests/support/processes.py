"""`crew serve` and `crew worker` as processes, and clients of theirs."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from tests.support.forking import CREW, ForkedProcess, can_be_forked

BIN = CREW.parent
QUIET = {"CREW_LOG_LEVEL": "warning"}
# a busy machine needs long for what takes a second on an idle one
PROCESS_SECONDS = 60.0
STARTED = count()
# Of each 24th server the coverage is measured, which must then start as a program of its own: they
# are hundreds, and nearly all of their lines are the same.
MEASURED = 24
# between two looks: who looks all the time takes the machine from those it waits for
LOOK_SECONDS = 0.05


def until(condition: Callable[[], bool], seconds: float = PROCESS_SECONDS) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(LOOK_SECONDS)


def admitted(ask: Callable[[], httpx2.Response]) -> httpx2.Response:
    """What a request is answered by a server that is not late: a busy machine makes it so."""
    answers: list[httpx2.Response] = []

    def is_admitted() -> bool:
        answers.append(ask())
        return answers[-1].status_code != 503

    until(is_admitted)
    return answers[-1]


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@dataclass
class ServerProcess:
    """`crew serve` as a process of its own."""

    process: subprocess.Popen[str] | ForkedProcess
    url: str
    log: Path

    def stop(self, seconds: float = PROCESS_SECONDS) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()
        self.process.wait()


def start_server(
    folder: Path,
    *options: str,
    command: str = "serve",
    under: Sequence[str] = (),
    **environment: str,
) -> ServerProcess:
    """Start `crew serve`, or `crew worker`, on a free port and wait until it says where it is.

    `under`: a program that starts it, such as prlimit.
    """
    number = next(STARTED)
    log = folder / f"{command}-{number}.log"
    is_measured = number % MEASURED == 0
    names = [key for key in os.environ if key.startswith("COVERAGE_") and is_measured]
    environment |= {key: os.environ[key] for key in names}
    whole = clean_environment(**environment)
    port = [] if "--port" in options else ["--port", "0"]
    words = [command, str(folder), *port, *map(str, options)]
    process: subprocess.Popen[str] | ForkedProcess
    with log.open("w") as out, Path(os.devnull).open() as nothing:
        if can_be_forked(environment) and not under:
            process = ForkedProcess(words, Path.cwd(), whole, nothing, out, out)
        else:
            process = subprocess.Popen(
                [*under, str(CREW), *words], stderr=out, stdout=out, text=True, env=whole
            )
    with log.open() as lines:
        ended = False
        while not ended:
            # it may serve, and end at once
            ended = process.poll() is not None
            for line in lines:
                if found := re.search(r"serving on (http://\S+?)[\"\s]", line):
                    return ServerProcess(process, found[1], log)
            time.sleep(LOOK_SECONDS)
    raise AssertionError(f"the server did not start: {log.read_text()}")


@contextlib.contextmanager
def serving(
    folder: Path,
    *options: str,
    command: str = "serve",
    under: Sequence[str] = (),
    **environment: str,
):
    """A server process, or a worker, for a `with` block; killed at its end if it still runs."""
    server = start_server(folder, *options, command=command, under=under, **environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def send_to_all(pid: int, kind: signal.Signals) -> None:
    """Signal a process and its children, as when its machine is frozen."""
    children = [
        int(child)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for child in path.read_text().split()
    ]
    for one in (*children, pid):
        os.kill(one, kind)


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without what would change a crew's behaviour.

    Nor is coverage measured, which costs a third of a short command; of servers it is.
    """
    left_out = ("CREW_", "OPENAI_", "COVERAGE_")
    return {key: value for key, value in os.environ.items() if not key.startswith(left_out)} | more


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
    return httpx2.Client(base_url=server.url, timeout=PROCESS_SECONDS, trust_env=False, **options)
