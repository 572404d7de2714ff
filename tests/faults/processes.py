"""The processes that are killed, frozen and stopped: one server, or a server and workers around a database."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.crashing import POINTS
from tests.faults.network import Network
from tests.support.clocks import skewed
from tests.support.crews import ROOT
from tests.support.postgres import Postgres
from tests.support.processes import clean_environment, send_to_all

DRAIN_SECONDS = 1
# longer than others wait for a worker's sign of life
FROZEN_SECONDS = 7.0


@dataclass
class Process:
    """One of them, and what is to happen to it."""

    role: str
    port: int
    process: "subprocess.Popen[bytes]"
    # a file that is there once it serves
    serves: Path
    fault: str = ""
    # when it is frozen, woken or asked to stop
    due: float | None = None
    frozen: bool = False
    asked: float = 0.0

    @property
    def ended(self) -> bool:
        """It is gone."""
        return self.process.poll() is not None

    @property
    def served(self) -> bool:
        """It had started before it ended."""
        return self.serves.exists() or self.due is not None or self.asked > 0


class Processes:
    """Starts them, has faults happen to them, and starts them again."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        ledger: str,
        code: Path = ROOT,
        postgres: Postgres | None = None,
        network: Network | None = None,
        *,
        skewed: bool = False,
        disk: Mapping[str, str] | None = None,
        points: Sequence[str] = POINTS,
        most: int = 30,
    ) -> None:
        """With a database there are two workers beside the server.

        Args:
            folder: the crew's.
            seed: of the faults.
            ledger: where acts are counted.
            code: where the packages are; a mutant's, say.
            postgres: the database's server.
            network: before it.
            skewed: the clock of one worker is wrong.
            disk: of the server, as `slow_disk` makes it.
            points: where processes kill themselves.
            most: that they pass before.
        """
        self.network, self.skewed, self.points, self.most = network, skewed, points, most
        self.disk = disk or {}
        self.folder, self.random, self.ledger, self.code, self.postgres = (
            folder,
            random.Random(seed),
            ledger,
            code,
            postgres,
        )
        self.database = postgres.database() if postgres is not None else ""
        if postgres is not None and network is not None:
            self.database = self.database.replace(f":{postgres.port}/", f":{network.port}/")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.faults: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.longest_drain = 0.0
        self.last_fault = 0.0
        self.all: list[Process] = []
        self.started = 0
        # no further faults
        self.calm = False
        self.restarts = postgres is not None
        self._restart_due = time.monotonic() + 2

    def begin(self, *, kills: bool, restarts: bool) -> None:
        """Start them; `kills`: faults of processes, `restarts`: of the database."""
        self.kills, self.restarts = kills, restarts
        roles = ["serve", "worker", "worker"] if self.postgres is not None else ["serve"]
        self.all = [self._start(role, place) for place, role in enumerate(roles)]
        self._name_victims()

    def look(self) -> None:
        """See to what is due and to what has ended; to be called all the time."""
        now = time.monotonic()
        for place, one in enumerate(self.all):
            if one.fault in ("stop", "freeze") and one.due is None and one.serves.exists():
                one.serves.unlink()
                one.due = now + self.random.uniform(1, 4)
            if one.due is not None and now >= one.due:
                self._strike(one)
            if one.ended:
                self._ended(one)
                self.all[place] = self._start(one.role, place)
                self._name_victims()
        if self.network is not None and not self.calm and (trouble := self.network.look()):
            self.last_fault = time.monotonic()
            self.faults[trouble] += 1
        if self.restarts and not self.calm and now >= self._restart_due:
            assert self.postgres is not None, "only it is restarted"
            self.last_fault = time.monotonic()
            self.faults["restart"] += 1
            if self.faults["restart"] == 1:
                # a forgetful one must not forget its tables
                self.postgres.checkpoint()
            self.postgres.stop(self.random.choice(["immediate", "fast"]))
            # a moment, or long enough for all signs of life to be old
            time.sleep(self.random.choice([0.0, 0.0, 0.5, 6.0]))
            self.postgres.start()
            self._restart_due = time.monotonic() + self.random.uniform(0.2, 3)

    def settle(self) -> None:
        """No further faults: what is to be hit still is started anew."""
        self.calm = True
        self._name_victims()
        if self.network is not None:
            self.network.calm()
        for place, one in enumerate(self.all):
            if one.fault:
                self.end(one)
                self.all[place] = self._start(one.role, place)

    def end(self, one: Process) -> None:
        """Kill it."""
        one.process.kill()
        one.process.wait()

    def _name_victims(self) -> None:
        """Tell the ledger whom it may kill: all that make calls, while there are to be kills."""
        callers = self.all if self.postgres is None else self.all[1:]
        victims = [one.process.pid for one in callers] if self.kills and not self.calm else []
        request = urllib.request.Request(self.ledger, json.dumps(victims).encode(), method="PUT")
        urllib.request.urlopen(request, timeout=10).close()

    def _start(self, role: str, place: int) -> Process:
        point = ""
        fault = "" if self.calm or not self.kills else self._chosen(role)
        if fault == "kill":
            # a worker sends nothing; a server that has workers makes no calls
            never = "send" if role == "worker" else "dispatch" if self.postgres is not None else "-"
            points = [point for point in self.points if not point.endswith(never)]
            point = f"{self.random.choice(points)}:{self.random.randint(1, self.most)}"
        self.started += 1
        serves = self.folder / f"serves-{self.started}"
        environment = clean_environment(
            SERVES=str(serves),
            FAULT=point,
            LEDGER=self.ledger,
            CREW_LOG_LEVEL="error",
            CREW_DRAIN_SECONDS=str(DRAIN_SECONDS),
            PYTHONPATH=f"{self.code}{os.pathsep}{ROOT}",
            **({"CREW_DATABASE_URL": self.database} if self.database else {}),
            **self.disk,
            **(skewed("+3d") if self.skewed and place == 1 else {}),
        )
        port = self.port if role == "serve" else 0
        with (self.folder / "server.log").open("ab") as log:
            command = [
                sys.executable,
                "-m",
                "tests.faults.server",
                role,
                str(self.folder),
                str(port),
            ]
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, cwd=self.code
            )
        return Process(role, port, process, serves, fault)

    def _chosen(self, role: str) -> str:
        kinds = ["kill"] * 8 + ["stop"] * 2 + (["freeze"] * 2 if role == "worker" else [])
        return self.random.choice(kinds)

    def _strike(self, one: Process) -> None:
        now = self.last_fault = time.monotonic()
        if one.fault == "freeze" and not one.frozen:
            send_to_all(one.process.pid, signal.SIGSTOP)
            one.frozen, one.due = True, now + FROZEN_SECONDS
            self.faults["freeze"] += 1
        elif one.frozen:
            send_to_all(one.process.pid, signal.SIGCONT)
            # it has to see that it has lost its runs; then it is killed like the others
            one.frozen, one.fault, one.due = False, "end", now + 2
        elif one.fault == "end":
            one.process.kill()
            one.due = None
        else:
            one.process.send_signal(signal.SIGTERM)
            one.asked, one.due = now, None

    def _ended(self, one: Process) -> None:
        self.last_fault = time.monotonic()
        code = one.process.returncode
        if one.asked and code != -signal.SIGKILL:
            self.faults["stop"] += 1
            self.longest_drain = max(self.longest_drain, time.monotonic() - one.asked)
            if code != 0:
                self.wrong.append(f"a {one.role} that was asked to stop ended with {code}")
        elif code == -signal.SIGKILL:
            self.faults["kill"] += 1
        elif code == 1 and not one.served and (self.faults["restart"] or self.network is not None):
            # it says that it cannot start without its database; a supervisor starts it again
            self.faults["start"] += 1
        else:
            self.wrong.append(f"a {one.role} ended by itself, with {code}")
