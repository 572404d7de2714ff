"""Conversations under kills: python -m tests.faults.conversations [--postgres] --conversations 200.

Processes are killed before and after their writes; clients ask each question again under its key
until it is answered. At the end each conversation has each question once, in order, and is not busy.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import httpx2

from tests.faults.processes import Processes
from tests.support.crews import write_crew
from tests.support.postgres import Postgres

API = "/api/crew/conversations"
EXCHANGES = 3
AT_ONCE = 6
PATIENCE_SECONDS = 300.0
RULES = [
    {"helper": "title", "say": json.dumps({"title": "named"})},
    {"helper": "summary", "say": json.dumps({"summary": "so far", "facts": []})},
    {"agent": "a", "say": "over to you [B]"},
    {"agent": "b", "say": "{{heard}}"},
]
ROUTING = {
    "signals": {"a": [{"signal": "[B]", "target": "b"}]},
    "defaults": {"b": None},
}


class Conversations:
    """Clients of a few processes that are killed all the time."""

    def __init__(self, folder: Path, seed: int, wanted: int, postgres: Postgres | None) -> None:
        """`wanted`: conversations."""
        self.folder, self.wanted = folder, wanted
        blocks = [{"kind": "summary", "every": 1, "keep": 1}, "history"]
        # half of them ask while the run before is at work
        conversations = {"on_busy": "queue", "title_after": 1}
        write_crew(
            folder,
            {"a": {}, "b": {}},
            RULES,
            routing=ROUTING,
            context={"blocks": blocks},
            conversations=conversations,
        )
        self.ledger = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("ledger.py"), str(seed)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.ledger.stdout is not None
        address = f"http://127.0.0.1:{int(self.ledger.stdout.readline())}"
        # workers that are killed all the time take over from none: that takes 5 s of steady life
        most = 150 if postgres is not None else 30
        points = ("before_store", "after_store")
        self.processes = Processes(
            folder, seed, address, postgres=postgres, points=points, most=most
        )
        self.url = f"http://127.0.0.1:{self.processes.port}"
        self.asked, self.wrong = 0, list[str]()
        self.lock = threading.Lock()

    def run(self) -> list[str]:
        """Ask all of it; what is wrong in the end."""
        clients = [threading.Thread(target=self._ask_all) for _ in range(AT_ONCE)]
        try:
            self.processes.begin(kills=True, restarts=False)
            for client in clients:
                client.start()
            while any(client.is_alive() for client in clients):
                self.processes.look()
                time.sleep(0.05)
            self.processes.settle()
            return [*self.wrong, *self.processes.wrong, *self._check()]
        finally:
            for one in self.processes.all:
                self.processes.end(one)
            self.ledger.kill()
            self.ledger.wait()

    def _client(self) -> httpx2.Client:
        # without the certificates, whose reading takes longer than the request
        return httpx2.Client(base_url=self.url, timeout=20, trust_env=False, verify=False)

    def _ask_all(self) -> None:
        while not self.wrong:
            with self.lock:
                number, self.asked = self.asked, self.asked + 1
            if number >= self.wanted:
                return
            queries = [f"q{n}" for n in range(1, EXCHANGES + 1)]
            at_once = number % 2 == 1
            started = [self._ask(f"c{number}", query, waits=not at_once) for query in queries]
            if at_once:
                for run_id in started:
                    self._wait_for(run_id)

    def _ask(self, of: str, query: str, *, waits: bool) -> str:
        """Start a run under its key, however often; its id."""
        body = {"query": query, "conversation_id": of, "user_id": "ann"}
        headers = {"Idempotency-Key": f"{of}-{query}"}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and not self.wrong:
            try:
                with self._client() as http:
                    answer = http.post("/api/crew/runs", json=body, headers=headers)
                if answer.status_code == 202:
                    run_id = str(answer.json()["run_id"])
                    if waits:
                        self._wait_for(run_id)
                    return run_id
                if answer.status_code not in (429, 503):
                    self.wrong.append(f"{of} {query}: {answer.status_code} {answer.text}")
                    return ""
            except (httpx2.HTTPError, OSError):
                pass
            time.sleep(0.05)
        self.wrong.append(f"{of} {query}: was not accepted in {PATIENCE_SECONDS:g} s")
        return ""

    def _wait_for(self, run_id: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and not self.wrong:
            try:
                with self._client() as http:
                    answer = http.get(f"/api/crew/runs/{run_id}")
                if answer.status_code == 200 and answer.json()["status"] == "completed":
                    return
                if answer.status_code == 200 and answer.json()["status"] != "running":
                    self.wrong.append(f"run {run_id} is {answer.json()['status']}")
                    return
            except (httpx2.HTTPError, OSError):
                pass
            time.sleep(0.05)
        self.wrong.append(f"run {run_id} has not ended in {PATIENCE_SECONDS:g} s")

    def _check(self) -> list[str]:
        wrong: list[str] = []
        expected = [f"q{n}" for n in range(1, EXCHANGES + 1)]
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._client() as http:
            while time.monotonic() < deadline:
                try:
                    http.get("/ready").raise_for_status()
                    break
                except (httpx2.HTTPError, OSError):
                    self.processes.look()
                    time.sleep(0.1)
            for number in range(self.wanted):
                params = {"user_id": "ann"}
                found = http.get(f"{API}/c{number}", params=params).json()
                queries = [one["query"] for one in found.get("exchanges", ())]
                numbers = [one["exchange"] for one in found.get("exchanges", ())]
                if queries != expected or numbers != list(range(1, EXCHANGES + 1)):
                    wrong.append(f"c{number} has {queries} as {numbers}")
                elif found["status"] != "completed":
                    wrong.append(f"c{number} is {found['status']}")
            # all chores are done in the end
            titles: Counter[str] = Counter()
            while time.monotonic() < deadline:
                page = http.get(API, params={"user_id": "ann", "limit": 500}).json()
                titles = Counter(one["title"] for one in page["conversations"])
                if titles == {"named": min(self.wanted, 500)}:
                    return wrong
                self.processes.look()
                time.sleep(0.2)
            return [*wrong, f"titles: {dict(titles)}"]


def main() -> None:
    """Print what happened; ends with 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true", help="a server and two workers")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(Postgres()) if given.postgres else None
        asked = Conversations(folder / "crew", given.seed, given.conversations, postgres)
        wrong = asked.run()
    kind = "PostgreSQL" if given.postgres else "SQLite"
    faults = ", ".join(f"{name} {count}" for name, count in asked.processes.faults.items())
    print(f"{kind}, {given.conversations} conversations, faults: {faults}; wrong: {len(wrong)}")
    for line in wrong[:20]:
        print(" ", line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
