"""Kills the server at random named points under random runs, then holds every history against what is promised.

Run: python -m tests.faults.harness [--kills 500] [--seed 1] [--mutants]
"""

import argparse
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.faults.crashing import POINTS
from tests.stage import ROOT, clean_environment, write_crew

ACTS = '''
import json, os, re, urllib.request
from tests.faults.crashing import reach


def _act(kind, about):
    body = json.dumps({"kind": kind, "key": re.search(r"run-[0-9]+", about)[0]}).encode()
    reach("before_dispatch")
    urllib.request.urlopen(urllib.request.Request(os.environ["LEDGER"], body), timeout=10).read()
    reach("after_dispatch")
    return kind


def look(about: str) -> str:
    """Read."""
    return _act("read", about)


def note(about: str) -> str:
    """Write what may be written twice."""
    return _act("idempotent", about)


def pay(about: str) -> str:
    """Pay."""
    return _act("once", about)
'''
TOOLS = {
    "look": {"kind": "python", "function": "acts.py:look", "effect": "read"},
    "note": {"kind": "python", "function": "acts.py:note", "effect": "idempotent"},
    "pay": {"kind": "python", "function": "acts.py:pay", "effect": "once"},
}
RULES: list[dict[str, Any]] = [
    {"agent": "a", "after": "note", "say": "{{heard}} [G]"},
    {"agent": "a", "after": "look", "say": 'note("{{heard}}")'},
    {"agent": "a", "say": 'look("{{heard}}")'},
    {"agent": "b", "after": "pay", "say": "b has paid {{heard}}"},
    {"agent": "b", "say": 'pay("{{heard}}")'},
    {"agent": "c", "after": "note", "say": "c has noted {{heard}}"},
    {"agent": "c", "say": 'note("{{heard}}")'},
    {"agent": "d", "hears": "go on", "say": "on we go [E]"},
    {"agent": "d", "say": "what now?"},
    {"agent": "e", "after": "pay", "say": "paid, and done"},
    {"agent": "e", "say": 'pay("{{heard}}")'},
]
ROUTING = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}], "d": [{"signal": "[E]", "target": "e"}]},
    "agent_behaviors": {"d": {"wait_for_signal": True}},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
}
AT_ONCE = 4
PATIENCE_SECONDS = 60.0


def crew(folder: Path) -> Path:
    """Tools of every effect, a group, a pause, in every run."""
    agents: dict[str, Any] = {"a": {"tools": ["look", "note"]}, "b": {"tools": ["pay"]}, "c": {"tools": ["note"]}, "d": {}}
    agents["e"] = {"tools": ["pay"], "is_terminal": True}
    settings = {
        "disconnect_grace_seconds": -1,
        "max_rounds": 20,
        "tool_result_timeout_seconds": 60,
        "tool_execution_timeout_seconds": 30,
    }
    write_crew(folder, agents, RULES, TOOLS, routing=ROUTING, settings=settings)
    (folder / "acts.py").write_text(ACTS)
    return folder


@dataclass
class History:
    """What one client saw of one run, over all connections."""

    key: str
    run_id: str = ""
    events: dict[int, str] = field(default_factory=dict)
    # answers that were taken, by what they decided
    decided: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    ended: bool = False
    # when an event came last
    heard: float = 0.0

    def told(self, seq: int, data: str) -> None:
        """An event; the same number is the same bytes."""
        if seq not in self.events:
            self.heard = time.monotonic()
        if self.events.setdefault(seq, data) != data:
            self.wrong.append(f"{self.key}: event {seq} was told in two ways")

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a type, in order."""
        parsed = [json.loads(data) for _, data in sorted(self.events.items())]
        return [event for event in parsed if event["type"] == kind]


@dataclass
class Report:
    """What came of it."""

    kills: int = 0
    runs: int = 0
    lost: int = 0
    holes: int = 0
    unknown: int = 0
    effects: Counter[str] = field(default_factory=Counter)
    twice: Counter[str] = field(default_factory=Counter)
    longest_takeover: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """One line."""
        twice = ", ".join(f"{kind} {self.twice[kind]} of {self.effects[kind]}" for kind in ("read", "idempotent", "once"))
        return (
            f"faults {self.kills}, runs {self.runs}, lost {self.lost}, holes {self.holes}, made again: {twice}; "
            f"unknown outcomes {self.unknown}, all asked about; longest take-over {self.longest_takeover:.1f} s; broken promises {len(self.wrong)}"
        )


class Harness:
    """One server that is killed and started again, and the clients that never give up."""

    def __init__(self, folder: Path, kills: int, seed: int, code: Path = ROOT) -> None:
        """`code`: where the packages of the server are; a mutant's, say."""
        self.folder, self.kills, self.seed, self.code = folder, kills, seed, code
        self.random = random.Random(seed)
        self.report = Report()
        self.histories: list[History] = []
        self.stopping = threading.Event()
        self.changed = threading.Condition()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def run(self) -> Report:
        """Until so many kills have been survived and every run has ended."""
        ledger = subprocess.Popen([sys.executable, Path(__file__).with_name("ledger.py")], stdout=subprocess.PIPE, text=True)
        assert ledger.stdout is not None
        self.ledger = f"http://127.0.0.1:{int(ledger.stdout.readline())}"
        clients = [threading.Thread(target=self._clients, args=(n,)) for n in range(AT_ONCE)]
        for client in clients:
            client.start()
        process = None
        try:
            while self.report.kills < self.kills and not self._given_up():
                point = f"{self.random.choice(POINTS)}:{self.random.randint(1, 30)}"
                process = self._start(point)
                while process.poll() is None and not self._given_up():
                    self._wait(0.05)
                died = time.monotonic()
                self.report.kills += 1
                self.killed_at = died
            self.stopping.set()
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
            process = self._start("")
            for client in clients:
                client.join()
            self._check(httpx2.get(self.ledger, trust_env=False).json())
        finally:
            self.stopping.set()
            for one in (process, ledger):
                if one is not None:
                    one.kill()
                    one.wait()
            ledger.stdout.close()
        return self.report

    killed_at = 0.0

    def _given_up(self) -> bool:
        return any(history.wrong for history in self.histories)

    def _wait(self, seconds: float) -> None:
        with self.changed:
            self.changed.wait(seconds)

    def _start(self, fault: str) -> "subprocess.Popen[bytes]":
        environment = clean_environment(
            FAULT=fault, LEDGER=self.ledger, CREW_LOG_LEVEL="error", PYTHONPATH=f"{self.code}{os.pathsep}{ROOT}"
        )
        with (self.folder / "server.log").open("ab") as log:
            command = [sys.executable, "-m", "tests.faults.server", str(self.folder), str(self.port)]
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.code)

    def _clients(self, number: int) -> None:
        """One run after another, each to its end, whatever happens to the server."""
        chance = random.Random(self.seed * 1000 + number)
        while not self.stopping.is_set():
            history = History(f"run-{len(self.histories):04}{number}")
            self.histories.append(history)
            deadline = time.monotonic() + PATIENCE_SECONDS
            with httpx2.Client(base_url=self.url, timeout=20, trust_env=False) as http:
                while not history.ended and not history.wrong:
                    try:
                        heard = history.heard
                        self._step(http, history, chance)
                        if history.heard == heard:
                            self._wait(0.05)
                        deadline = max(deadline, history.heard + PATIENCE_SECONDS)
                    except (httpx2.HTTPError, OSError):
                        self._wait(0.05)
                    if time.monotonic() > deadline:
                        history.wrong.append(f"{history.key}: nothing happens to run {history.run_id or '(not begun)'}")

    def _step(self, http: httpx2.Client, history: History, chance: random.Random) -> None:
        """Begin the run, or go on reading it; then answer it."""
        if not history.run_id:
            key = {"Idempotency-Key": history.key}
            with http.stream("POST", "/api/crew/stream", json={"query": history.key}, headers=key) as stream:
                # now and then it leaves before it hears which run it has begun, and asks again
                if chance.random() < 0.7:
                    self._listen(stream, history)
            return
        # now and then from the start, to see the same again
        after = 0 if chance.random() < 0.2 else max(history.events, default=0)
        with http.stream("GET", f"/api/crew/runs/{history.run_id}/events", params={"after": after}) as stream:
            self._listen(stream, history)
        self._answer(http, history, chance)

    def _listen(self, stream: httpx2.Response, history: History) -> None:
        seq = 0
        for line in stream.iter_lines():
            if line.startswith("id: "):
                history.run_id, _, number = line.removeprefix("id: ").rpartition(":")
                seq = int(number)
            elif line.startswith("data: ") and seq:
                if history.heard < self.killed_at:
                    self.report.longest_takeover = max(self.report.longest_takeover, time.monotonic() - self.killed_at)
                history.told(seq, line.removeprefix("data: "))
                seq = 0

    def _answer(self, http: httpx2.Client, history: History, chance: random.Random) -> None:
        """End with the run, or answer its pause; twice at once, of which one counts."""
        if not history.events:
            return
        last = json.loads(history.events[max(history.events)])
        if last["type"] == "error" or (last["type"] == "done" and last["metadata"]["reason"] != "paused"):
            history.ended = True
        elif last["type"] == "done":
            pause = next((e for e in history.of("pause") if e["metadata"]["seq"] == last["metadata"]["seq"] - 1), None)
            if pause is None:
                history.wrong.append(f"{history.key}: it is paused without a pause")
                return
            decision = chance.choice(["retry", "skip", "done"]) if pause["metadata"].get("question") else None
            body: dict[str, Any] = (
                {"decision": decision, "result": "x" if decision == "done" else ""}
                if decision
                else {"query": f"{history.key} go on"}
            )
            address, place = f"/api/crew/runs/{history.run_id}/resume", pause["metadata"]["seq"]
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
                # it may have been taken even if the process died before it said so; the stream will tell
                history.decided[decision] += 1

    def _check(self, effects: list[dict[str, str]]) -> None:
        report = self.report
        report.runs = len(self.histories)
        counted = Counter((effect["kind"], effect["key"]) for effect in effects)
        for history in self.histories:
            report.wrong += history.wrong
            if not history.ended:
                report.lost += 1
                continue
            report.holes += sorted(history.events) != list(range(1, len(history.events) + 1))
            report.wrong += _wrong(history)
            report.unknown += sum(w["metadata"]["code"] == "unknown_outcome" for w in history.of("warning"))
            for kind, needed in (("read", 1), ("idempotent", 2), ("once", 2)):
                made = counted[(kind, history.key)]
                report.effects[kind] += made
                report.twice[kind] += max(0, made - needed)
            # each pay acts once; another time only by a person's word
            made, allowed = counted[("once", history.key)], 2 + history.decided["retry"]
            if made > allowed:
                report.wrong.append(f"{history.key}: paid {made} times, {allowed} allowed")
        known = [h.run_id for h in self.histories if h.run_id]
        if len(set(known)) != len(known):
            report.wrong.append("two clients have one run")
        listed = self._listed()
        if strangers := set(listed) - set(known):
            report.wrong.append(f"{len(strangers)} runs were begun that nobody asked for")
        if report.holes:
            report.wrong.append(f"{report.holes} histories have holes")
        if report.lost:
            report.wrong.append(f"{report.lost} runs did not end")

    def _listed(self) -> list[str]:
        found: list[str] = []
        after: dict[str, Any] = {}
        while True:
            page = httpx2.get(f"{self.url}/api/crew/runs", params={"limit": 500, **after}, trust_env=False).json()
            found += [run["run_id"] for run in page["runs"]]
            if page["next"] is None:
                return found
            after = {"after": page["next"]}


def _wrong(history: History) -> list[str]:
    """What a whole history must not have."""
    events = [json.loads(data) for _, data in sorted(history.events.items())]
    kinds = Counter(event["type"] for event in events)
    wrong = []
    if kinds["start"] != kinds["done"] + kinds["error"]:
        wrong.append(f"{kinds['start']} starts, {kinds['done']} + {kinds['error']} ends")
    ends = [event for event in events if event["type"] == "error" or event["metadata"].get("reason", "paused") != "paused"]
    if len(ends) != 1 or ends[0] is not events[-1] or ends[0]["type"] == "error":
        wrong.append(f"it ends with {[event['content'] for event in ends]}")
    steps = Counter(
        (e["metadata"]["agent_id"], e["metadata"].get("round"), e["type"])
        for e in events
        if e["type"] in ("agent_start", "agent_response")
    )
    # d speaks once before its pause, and once behind it, in rounds that count anew
    wrong += [f"{step} was told {times} times" for step, times in steps.items() if times > (2 if step[0] == "d" else 1)]
    results = Counter(e["metadata"]["call_id"] for e in events if e["type"] == "tool_result")
    wrong += [f"call {call} has {times} results" for call, times in results.items() if times > 1]
    calls = [call["call_id"] for e in events if e["type"] == "agent_response" for call in e["metadata"]["tool_calls"]]
    if set(calls) != set(results):
        wrong.append("not every call has its result")
    starts = Counter(e["metadata"]["call_id"] for e in events if e["type"] == "tool_start")
    retried = history.decided["retry"]
    if sum(times - 1 for times in starts.values()) > retried:
        wrong.append("a tool_start was told again, unasked")
    if wrong:
        told = [
            (e["metadata"]["seq"], e["type"], e["metadata"]["agent_id"], e["metadata"].get("round"), e["content"][:40])
            for e in events
        ]
        wrong.append(f"its history: {told}")
    return [f"{history.key}: {what}" for what in wrong]


@dataclass(frozen=True)
class Mutant:
    """A mistake of ours that the harness must see."""

    name: str
    file: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        "an event is told before it is stored",
        "crew/journal.py",
        "        write = Write(self.run_id, records, row, epoch=self.epoch)\n",
        "        write = Write(self.run_id, records, row, epoch=self.epoch)\n"
        "        for record, event in batch:\n            self._told(record, event)\n        batch = []\n",
    ),
    Mutant(
        "an answer to whichever pause there is",
        "crew/starting.py",
        "if answer.pause is not None and answer.pause != seq - 1:",
        "if answer.pause == 0:",
    ),
    Mutant(
        "an intent that is not awaited",
        "crew/executor.py",
        "            case ToolStarted(once=True):\n                self._record(event)\n                await self.journal.settled()",
        "            case ToolStarted(once=True):\n                self._record(event)",
    ),
    Mutant("an intent that is forgotten", "crew/state.py", "begun[call.id] = once", "begun[call.id] = False"),
    Mutant(
        "the last event is not looked at",
        "crew/recall.py",
        "                state.apply(unpack(record.event))\n",
        "                if record is not records[-1]:\n                    state.apply(unpack(record.event))\n",
    ),
    Mutant(
        "a receipt that is not kept",
        "crew/stores/sqlite.py",
        "if receipt is not None:\n                sql",
        "if receipt is not None and False:\n                sql",
    ),
    Mutant(
        "a number that is left out",
        "crew/journal.py",
        "        self.seq += 1\n        return record",
        "        self.seq += 1 + (self.seq % 7 == 6)\n        return record",
    ),
    Mutant(
        "a start that is told again",
        "crew/executor.py",
        "round=main.rounds + (not main.speaking), announce=not main.speaking",
        "round=main.rounds + (not main.speaking), announce=True",
    ),
    Mutant(
        "members who are asked again",
        "crew/state.py",
        "            case AgentResponded():\n                self._branch(event.agent_id, event.group).responded(event)",
        "            case AgentResponded():\n                if event.group is None:\n                    self._branch(event.agent_id, event.group).responded(event)",
    ),
    Mutant(
        "runs that are not taken up",
        "crew/runs.py",
        "            ours = [row for row in rows if row.revision or row.crew == self.crew.name]\n",
        "            ours = [row for row in rows if row.revision or row.crew == self.crew.name][1:]\n",
    ),
    Mutant(
        "the row without its events",
        "crew/stores/sqlite.py",
        "[(run_id, r.seq, r.public, r.event) for r in write.records]",
        "[(run_id, r.seq, r.public, r.event) for r in write.records[:9]][: None if row is None else -1]",
    ),
    Mutant(
        "other bytes after a restart",
        "crew/following.py",
        "yield Line(record.seq, record.public)",
        "yield Line(record.seq, record.public.replace('Z\"', '+00:00\"'))",
    ),
)


def mutated(mutant: Mutant, folder: Path) -> Path:
    """A copy of the packages with the mistake in it."""
    for package in ("crew", "agents", "tools", "server"):
        subprocess.run(["cp", "-r", ROOT / package, folder / package], check=True)
    path = folder / mutant.file
    text = path.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.name}: its place in {mutant.file} has changed"
    path.write_text(text.replace(mutant.old, mutant.new))
    return folder


def play(kills: int, seed: int, code: Path = ROOT) -> Report:
    """One harness from start to end, in a folder of its own."""
    with tempfile.TemporaryDirectory() as made:
        folder = crew(Path(made) / "crew")
        report = Harness(folder, kills, seed, code).run()
        log = (folder / "server.log").read_text()
        if found := re.findall(r"Traceback.*?\n(\w[^\n]*)\n", log, re.DOTALL):
            report.wrong.append(f"the server's log has {found[-1]}")
        return report


def main() -> None:
    """Print the report, and what the mutants come to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants", action="store_true", help="also see that mistakes of ours are seen")
    given = parser.parse_args()
    report = play(given.kills, given.seed)
    print(f"SQLite, seed {given.seed}: {report}", *report.wrong[:20], sep="\n  ", flush=True)
    missed = []
    for number, mutant in enumerate(MUTANTS if given.mutants else ()):
        with tempfile.TemporaryDirectory() as folder:
            seen = play(40, given.seed + number, mutated(mutant, Path(folder)))
        print(f"mutant: {mutant.name}: {seen.wrong[0] if seen.wrong else 'NOT SEEN'} (after {seen.kills} kills)", flush=True)
        missed += [] if seen.wrong else [mutant.name]
    sys.exit(1 if report.wrong or missed else 0)


if __name__ == "__main__":
    main()
