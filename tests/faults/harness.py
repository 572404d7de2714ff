"""Faults at random under random runs: every history is then held against what is promised.

Run: python -m tests.faults --help
"""

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

from tests.faults.acting_crew import crew
from tests.faults.hazards import NOTHING, Hazards
from tests.faults.histories import History, Report, wrong_in, wrong_in_poison
from tests.faults.network import Network, network
from tests.faults.processes import Processes
from tests.support.crews import ROOT
from tests.support.postgres import Postgres
from tests.support.slow_disk import slow_disk

AT_ONCE = 4
# characters of a traceback
MAX_SHOWN = 3000


PATIENCE_SECONDS = 120.0


# effects of a run that nothing befalls
NEEDED = {"read": 1, "idempotent": 2, "once": 2, "keyed": 1}


class Harness:
    """Processes to which faults happen, and the clients that never give up."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        code: Path = ROOT,
        postgres: Postgres | None = None,
        hazards: Hazards = NOTHING,
        network: Network | None = None,
    ) -> None:
        """`code`: where the packages of the server are; a mutant's, say. `network`: before the database."""
        self.hazards, self.network = hazards, network
        self.folder, self.seed, self.code, self.postgres = folder, seed, code, postgres
        self.report = Report()
        self.histories: list[History] = []
        self.stopping = threading.Event()
        self.changed = threading.Condition()

    def run(self, faults: int, runs: int = 0, *, restarts: bool = False) -> Report:
        """Until so many faults have been survived, and every run has ended; at least so many `runs`."""
        ledger = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("ledger.py"), str(self.seed)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert ledger.stdout is not None
        self.ledger = f"http://127.0.0.1:{int(ledger.stdout.readline())}"
        self.processes = Processes(
            self.folder,
            self.seed,
            self.ledger,
            self.code,
            self.postgres,
            self.network,
            skewed=self.hazards.skewed,
            disk=slow_disk(self.folder) if self.hazards.slow_disk else None,
        )
        self.url = f"http://127.0.0.1:{self.processes.port}"
        at_once = AT_ONCE if self.postgres is None else 2 * AT_ONCE
        clients = [threading.Thread(target=self._clients, args=(n,)) for n in range(at_once)]
        try:
            self.processes.begin(kills=not restarts, restarts=restarts)
            for client in clients:
                client.start()
            while not self._given_up() and (
                self.processes.faults.total() < faults or len(self.histories) < runs
            ):
                self.processes.look()
                self._wait(0.05)
            self.stopping.set()
            self.processes.settle()
            while any(client.is_alive() for client in clients):
                self.processes.look()
                self._wait(0.05)
            self._check(httpx2.get(self.ledger, trust_env=False).json())
        finally:
            self.stopping.set()
            for one in self.processes.all:
                self.processes.end(one)
            ledger.kill()
            ledger.wait()
            ledger.stdout.close()
        return self.report

    def _given_up(self) -> bool:
        return bool(self.processes.wrong) or any(history.wrong for history in self.histories)

    def _wait(self, seconds: float) -> None:
        with self.changed:
            self.changed.wait(seconds)

    def _clients(self, number: int) -> None:
        """One run after another, each to its end, whatever happens to the server."""
        chance = random.Random(self.seed * 1000 + number)
        while not self.stopping.is_set():
            count = len(self.histories)
            key, is_poison = f"run-{count:04}{number}", self.hazards.is_poison(count)
            history = History(key, self.hazards.query(key, count), is_poison)
            self.histories.append(history)
            patience = PATIENCE_SECONDS * (4 if is_poison else 1)
            deadline = time.monotonic() + patience
            with httpx2.Client(base_url=self.url, timeout=20, trust_env=False) as http:
                # once a promise is broken, nobody starts the processes again
                while not (history.ended or history.wrong or self._given_up()):
                    try:
                        heard = history.heard
                        self._step(http, history, chance)
                        if history.heard == heard:
                            self._wait(0.05)
                        deadline = max(deadline, history.heard + patience)
                    except (httpx2.HTTPError, OSError):
                        self._wait(0.05)
                    if time.monotonic() > deadline:
                        history.wrong.append(
                            f"{history.key}: nothing happens to run {history.run_id or '(not begun)'}"
                        )

    def _step(self, http: httpx2.Client, history: History, chance: random.Random) -> None:
        """Begin the run, or go on reading it; then answer it."""
        if not history.run_id:
            key = {"Idempotency-Key": history.key}
            query = {"query": history.query}
            with http.stream("POST", "/api/crew/stream", json=query, headers=key) as stream:
                # now and then it leaves before it hears which run it has begun, and asks again
                if chance.random() < 0.7:
                    self._listen(stream, history)
            return
        # now and then from the start, to see the same again
        after = 0 if chance.random() < 0.2 else max(history.events, default=0)
        if self.hazards.forgetful:
            history.begin_again()
            after = 0
        with http.stream(
            "GET", f"/api/crew/runs/{history.run_id}/events", params={"after": after}
        ) as stream:
            if self.hazards.forgetful and stream.status_code == 404:
                # its beginning is lost, too
                self.report.forgotten += 1
                history.run_id = ""
                return
            self._listen(stream, history, after)
        self._answer(http, history, chance)

    def _listen(self, stream: httpx2.Response, history: History, after: int = 0) -> None:
        """Read one stream; its events are consecutive from the one behind event `after` on.

        Looked at here, since a later stream fills what an earlier one has left out.
        """
        seq, last, closing = 0, "", False
        for line in stream.iter_lines():
            closing |= line.startswith(": ")
            if line.startswith("id: "):
                history.run_id, _, number = line.removeprefix("id: ").rpartition(":")
                seq = int(number)
            elif line.startswith("data: ") and '"from":' in line and '"events_lost"' in line:
                if not self.hazards.forgetful:
                    history.wrong.append(f"{history.key}: it is told of lost events; none are")
                    return
                history.begin_again()
                seq, last, after = 0, "", 0
            elif line.startswith("data: ") and seq:
                if seq != after + 1:
                    history.wrong.append(f"{history.key}: event {seq} came behind event {after}")
                after = seq
                if 0 < history.heard < self.processes.last_fault and seq not in history.events:
                    self.report.longest_silence = max(
                        self.report.longest_silence, time.monotonic() - history.heard
                    )
                history.received(seq, line.removeprefix("data: "))
                seq, last = 0, line.removeprefix("data: ")
        # one that is cut off raises; one that ends by itself says why
        if last and json.loads(last)["type"] not in ("done", "error") and not closing:
            history.wrong.append(f"{history.key}: a stream ended without an end: {last[:80]}")

    def _answer(self, http: httpx2.Client, history: History, chance: random.Random) -> None:
        """End with the run, or answer its pause; twice at once, of which one counts."""
        if not history.events:
            return
        last = json.loads(history.events[max(history.events)])
        if last["type"] == "error" or (
            last["type"] == "done" and last["metadata"]["reason"] != "paused"
        ):
            history.ended = True
        elif last["type"] == "done":
            pause = next(
                (
                    e
                    for e in history.of("pause")
                    if e["metadata"]["seq"] == last["metadata"]["seq"] - 1
                ),
                None,
            )
            if pause is None:
                history.wrong.append(f"{history.key}: it is paused without a pause")
                return
            body = history.body(pause, chance)
            decision = body.get("decision")
            address, place = f"/api/crew/runs/{history.run_id}/resume", pause["metadata"]["seq"]
            earlier = min(e["metadata"]["seq"] for e in history.of("pause"))
            if earlier < place:
                late = http.post(address, json={"query": "late", "pause": earlier})
                if late.status_code == 202:
                    history.wrong.append(f"{history.key}: a late answer was taken")
            body |= {"pause": place}
            headers = [{"Idempotency-Key": f"{history.key}-{place}-{n}"} for n in range(2)]
            said: list[int] = []

            def ask(one: dict[str, str]) -> None:
                with httpx2.Client(base_url=self.url, timeout=20, trust_env=False) as beside:
                    try:
                        said.append(beside.post(address, json=body, headers=one).status_code)
                    except (httpx2.HTTPError, OSError):
                        said.append(0)

            both = [threading.Thread(target=ask, args=(one,)) for one in headers]
            for thread in both:
                thread.start()
            for thread in both:
                thread.join()
            if said.count(202) > 1:
                history.wrong.append(f"{history.key}: two answers to one pause were taken")
            if decision:
                # it may have been taken even if the process died before it said so; the stream will show
                # a group's pause may be about several calls: each is made again, or left without its result
                history.decided[decision] += len(pause["metadata"]["calls"])

    def _check(self, effects: list[dict[str, Any]]) -> None:
        report, processes = self.report, self.processes
        report.faults, report.longest_drain = processes.faults, processes.longest_drain
        report.wrong += processes.wrong
        report.runs = len(self.histories)
        counted = Counter((effect["kind"], effect["key"]) for effect in effects)
        for history in self.histories:
            report.wrong += history.wrong
            if not history.ended:
                report.lost += 1
                continue
            if history.is_poison:
                report.poison += 1
                # once when it was played first
                claims = counted[("poison", history.key)] - 1
                report.poison_claims = max(report.poison_claims, claims)
                report.wrong += wrong_in_poison(history, claims)
                continue
            report.holes += sorted(history.events) != list(range(1, len(history.events) + 1))
            report.wrong += wrong_in(history)
            told = Counter(w["metadata"]["code"] for w in history.of("warning"))
            report.unknown += told["unknown_outcome"]
            report.cut_short += told["events_lost"]
            for kind, needed in NEEDED.items():
                made = counted[(kind, history.key)]
                report.effects[kind] += made
                report.twice[kind] += max(0, made - needed)
            # each pay acts once; another time only by a person's word
            made, allowed = counted[("once", history.key)], 2 + history.decided["retry"]
            # an act whose intent the database has lost is made again
            if made > allowed and not self.hazards.forgetful:
                report.wrong.append(f"{history.key}: paid {made} times, {allowed} allowed")
            # what needs a person's word acts once for it, and as the person has said
            signed = [
                e["edited"] for e in effects if (e["kind"], e["key"]) == ("signed", history.key)
            ]
            allowed = 0 if history.verdict == "deny" else 1 + history.decided["retry"]
            if len(signed) > allowed and not self.hazards.forgetful:
                report.wrong.append(f"{history.key}: signed {len(signed)} times, {allowed} allowed")
            if any(edited != (history.verdict == "edit") for edited in signed):
                report.wrong.append(f"{history.key}: signed otherwise than a person has approved")
            if counted[("keyed", history.key)] > 1 and not self.hazards.forgetful:
                report.wrong.append(f"{history.key}: paid again under another key")
        known = [h.run_id for h in self.histories if h.run_id]
        if len(set(known)) != len(known):
            report.wrong.append("two clients have one run")
        listed = self._listed() if not self._given_up() else []
        strangers = set(listed) - set(known)
        # one that was begun again: the database had lost its key before its beginning was read
        if strangers and not self.hazards.forgetful:
            report.wrong.append(f"{len(strangers)} runs were begun that nobody asked for")
        if report.holes:
            report.wrong.append(f"{report.holes} histories have holes")
        if report.lost:
            report.wrong.append(f"{report.lost} runs did not end")

    def _listed(self) -> list[str]:
        found: list[str] = []
        after: dict[str, Any] = {}
        while True:
            page = httpx2.get(
                f"{self.url}/api/crew/runs", params={"limit": 500, **after}, trust_env=False
            ).json()
            found += [run["run_id"] for run in page["runs"]]
            if page["next"] is None:
                return found
            after = {"after": page["next"]}


def play(
    faults: int,
    seed: int,
    code: Path = ROOT,
    *,
    postgres: bool = False,
    restarts: bool = False,
    runs: int = 0,
    hazards: Hazards = NOTHING,
) -> Report:
    """One harness from start to end, in a folder of its own; `postgres`: with a database server of its own."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        forgetful = hazards.forgetful
        database = stack.enter_context(Postgres(forgetful=forgetful)) if postgres else None
        folder = crew(Path(made) / "crew")
        way = None
        if database is not None and hazards.network:
            way = stack.enter_context(network(database.port, seed))
        harness = Harness(folder, seed, code, database, hazards, way)
        report = harness.run(faults, runs, restarts=restarts)
        log = (folder / "server.log").read_text()
        _, found, more = log.partition("Traceback")
        if found:
            report.wrong.append(f"a process's log has {found}{more[:MAX_SHOWN]}")
        return report
