"""A model that holds an answer back, and a backup that is taken meanwhile."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2

from tests.support.crews import write_crew
from tests.support.fleet import status
from tests.support.forked import crew
from tests.support.model_server import completion
from tests.support.processes import PROCESS_SECONDS, client, start_server, until

ROUTING = {
    "agent_behaviors": {
        "a": {"wait_for_signal": True, "wait_timeout_seconds": 3600, "on_wait_timeout": "b"}
    },
    "signals": {"a": [{"signal": "[E]"}]},
}


class HeldModel(ThreadingHTTPServer):
    """A model that answers what is slow only once it may."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.may = threading.Event()
        self.asked = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Answers(BaseHTTPRequestHandler):
    """By the last message of a request."""

    server: HeldModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = body["messages"][-1]["content"]
        text = "bye [E]" if "end" in last else "what?"
        if "slow" in last:
            self.server.asked.set()
            self.server.may.wait(PROCESS_SECONDS)
            text = "at last [E]"
        data = json.dumps(completion(text)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def at_work(folder: Path, model: HeldModel) -> tuple[Path, dict[str, str]]:
    """A backup of a served crew, taken while one run is at work and one waits; and their ids."""
    place = write_crew(
        folder / "crew",
        {"a": {"model": "m", "provider": "far"}, "b": {"is_terminal": True}},
        routing=ROUTING,
        providers={"far": {"base_url": model.url}},
    )
    server = start_server(place)
    with client(server) as http:
        paused = http.post("/api/crew/run", json={"query": "who are you"}).json()["run_id"]
        slow = http.post("/api/crew/runs", json={"query": "slow"}).json()["run_id"]
        assert model.asked.wait(PROCESS_SECONDS)
        made = crew("backup", place, folder / "old.db")
        assert made.returncode == 0, made.stderr
        model.may.set()
        assert until_ended(http, slow) == "completed"
    server.stop()
    return place, {"paused": paused, "slow": slow}


def until_ended(http: httpx2.Client, run_id: str) -> str:
    """The status of a run once it is at work no more."""
    until(lambda: status(http, run_id) != "running")
    return str(status(http, run_id))
