"""Commands that go to a server: the same bytes as for its folder, and never a token to others."""

import contextlib
import http.server
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import crewline
from crew.journal.wire import RunEvent
from server.client.client import CrewClient
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import (
    BIN,
    ServerProcess,
    clean_environment,
    client,
    serving,
    start_server,
    until,
)
from tests.support.served_crew import ROUTING, RULES, until_status

TOKEN, ANN = "boss-0123456789abcdef", "ann-0123456789abcdef"
AGENTS: dict[str, Any] = {"a": {}, "b": {"is_terminal": True, "tools": ["GetSystemInfo"]}}
CREW: dict[str, Any] = {
    "routing": ROUTING,
    "conversations": {},
    "hooks": {"alert": {"kind": "json", "query": "look at {/name}"}},
    "schedules": {"daily": {"cron": "0 6 * * *", "query": "all well?"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_crew(tmp_path / "crew", AGENTS, RULES, **CREW)


SAME: tuple[tuple[str, ...], ...] = (
    *(("runs",), ("audit",), ("grants",), ("costs",), ("budgets",), ("tools",), ("revisions",)),
    *(("schedules",), ("hooks",), ("conversations", "--user", "ann"), ("inbox",)),
)
ABOUT_A_RUN = (("show",), ("export",), ("why",))


def test_the_same_bytes_locally_and_remotely(folder: Path):
    """With `--json`; the audit has no entry of the reading."""
    with serving(folder) as server:
        crew("run", "--server", server.url, "what now?")
        with client(server) as http:
            body = {"query": "hello", "conversation_id": "c1", "user_id": "ann"}
            run_id = http.post("/api/crew/run", json=body).json()["run_id"]
            http.post("/api/crew/run", json={"query": "ask"})
        for words in SAME:
            there = crew(*words, "--json", "--server", server.url)
            here = crew(words[0], folder, *words[1:], "--json")
            assert (there.returncode, here.returncode) == (0, 0), there.stderr + here.stderr
            assert there.stdout == here.stdout, words
            assert there.stdout or words[0] in ("grants", "budgets"), words
            assert there.stderr.splitlines()[0] == server.url
        for (word,) in ABOUT_A_RUN:
            options = [] if word == "export" else ["--json"]
            there = crew(word, run_id[:-1], *options, "--server", server.url)
            order = [folder, run_id] if word == "why" else [run_id, folder]
            here = crew(word, *order, *options)
            assert (there.returncode, here.returncode) == (0, 0), there.stderr + here.stderr
            assert there.stdout == here.stdout, word
        texts: list[tuple[str, ...]] = [
            ("search", "hello"),
            ("compare", run_id, "last"),
            ("graph",),
        ]
        for words in texts:
            there = crew(*words, "--server", server.url)
            here = crew(*words, folder)
            assert there.stdout == here.stdout != "", words


def test_a_run_at_a_server(folder: Path):
    """Exit codes as ever; Ctrl-C leaves the run, and says how to return."""
    with serving(folder) as server:
        options = ["--server", server.url]
        done = crew("run", *options, "what now?")
        assert (done.returncode, "Xong: kết quả ✅" in done.stdout) == (0, True)
        paused = crew("run", *options, "ask")
        assert (paused.returncode, "what exactly?" in paused.stdout) == (3, True)
        answered = crew("answer", "last", "more of it", *options)
        assert (answered.returncode, "more of it" in answered.stdout) == (0, True)
        detached = crew("run", *options, "--detach", "forever")
        run_id = detached.stdout.strip()
        until_status(server, run_id, "running")
        cancelled = crew("cancel", run_id[:-2], *options)
        assert (cancelled.returncode, cancelled.stdout) == (0, f"Cancelled {run_id}.\n")
        assert until_status(server, run_id, "cancelled")["status"] == "cancelled"
        left = subprocess.Popen(
            [BIN / "crew", "run", *options, "forever"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        with client(server) as http:
            until(lambda: http.get("/api/crew/runs?status=running").json()["runs"] != [])
            assert left.stdout is not None
            left.stdout.readline()
            left.send_signal(signal.SIGINT)
            _, errors = left.communicate()
            assert left.returncode == 130
            (run,) = http.get("/api/crew/runs?status=running").json()["runs"]
            assert f"crew show {run['run_id']} --server {server.url}" in errors
            assert f"crew cancel {run['run_id']}" in errors


def test_what_does_not_fit(folder: Path):
    both = crew("runs", folder, "--server", "http://127.0.0.1:1")
    assert (both.returncode, "in place of DIR" in both.stderr) == (2, True)
    nobody = crew("runs", "--server", "http://127.0.0.1:1")
    assert (nobody.returncode, "does not answer" in nobody.stderr) == (1, True)
    in_url = crew("runs", "--server", f"https://x:{TOKEN}@crew.example.com")
    assert (in_url.returncode, TOKEN in in_url.stderr) == (2, False)
    clear = crew("runs", "--server", "http://crew.example.com", CREW_TOKEN=TOKEN)
    assert (clear.returncode, "insecure-server" in clear.stderr) == (2, True)
    assert crew("runs", folder, CREW_SERVER="http://127.0.0.1:1").returncode == 0, "DIR is meant"
    assert crew("runs", CREW_SERVER="http://127.0.0.1:1", cwd=folder).returncode == 1
    assert crew("serve", "--server", "http://127.0.0.1:1").returncode == 2
    assert crew("reload").returncode == 2


class Redirecting(http.server.BaseHTTPRequestHandler):
    """Leads all requests to another address, and keeps what came."""

    seen: list[str] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(302)
        self.send_header("Location", "http://localhost:1/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_no_redirect_is_followed():
    with http.server.HTTPServer(("127.0.0.1", 0), Redirecting) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{elsewhere.server_port}"
        ended = crew("runs", "--server", url, CREW_TOKEN=TOKEN)
        elsewhere.shutdown()
    assert (ended.returncode, "no redirect is followed" in ended.stderr) == (1, True)
    assert Redirecting.seen == ["/api/crew", "/api/crew/runs"]


def test_last_is_the_newest_run_of_the_caller(folder: Path):
    """Also of one who may see the runs of all."""
    with serving(folder, CREW_API_TOKENS=f"boss+read+run+admin:{TOKEN},ann:{ANN}") as server:
        run = ("run", "--server", server.url)
        crew(*run, "--priority", "0", "what now?", CREW_TOKEN=TOKEN)
        crew(*run, "ask", CREW_TOKEN=ANN)
        shown = crew("show", "last", "--json", "--server", server.url, CREW_TOKEN=TOKEN)
        with client(server, headers={"Authorization": f"Bearer {TOKEN}"}) as http:
            newest, own = http.get("/api/crew/runs").json()["runs"]
            assert newest["run_id"] not in shown.stdout
            assert own["run_id"] in shown.stdout, shown.stderr
            assert http.get(f"/api/crew/runs/{own['run_id']}").json()["priority"] == 0


async def test_a_program_asks_a_crew(folder: Path):
    """`crewline.Client` is the same thing."""
    assert crewline.Client is CrewClient
    with serving(folder, CREW_API_TOKENS=TOKEN) as server:
        async with CrewClient(server.url, token=TOKEN) as served:
            events = [event async for event in served.ask("ask")]
            assert [event.type for event in events][-2:] == ["pause", "done"]
            run_id = events[0].metadata["run_id"]
            await served.answer(run_id, "more of it", pause=events[-2].seq)
            more = [event async for event in served.events(run_id, after=events[-1].seq or 0)]
            assert more[-1].metadata["reason"] == "terminal"
            assert (await served.run(run_id))["status"] == "completed"
            with pytest.raises(crewline.ClientError) as wrong:
                await served.run("nothing")
            assert (wrong.value.status, bool(wrong.value.request_id)) == (404, True)
            lost, *again = [event async for event in served.events(run_id, after=9999)]
            assert (lost.metadata["code"], again[0].seq) == ("events_lost", 1)
            with pytest.raises(crewline.ClientError, match="only a failed run can be retried"):
                await served.retry(run_id)


async def test_a_stream_is_taken_up_after_a_kill(folder: Path):
    """Behind the last event that came, each event once."""
    server = start_server(folder)
    port = server.url.rpartition(":")[2]
    waited: list[str] = []
    events: list[RunEvent] = []
    again: ServerProcess | None = None
    try:
        async with CrewClient(server.url, waits=lambda why, _: waited.append(why)) as served:
            async for event in served.ask("long"):
                events.append(event)
                if event.type == "agent_start" and again is None:
                    server.kill()
                    again = start_server(folder, "--port", port)
    finally:
        for one in (server, again):
            if one is not None and one.process.poll() is None:
                one.kill()
    assert waited
    numbers = [event.seq for event in events]
    assert numbers == list(range(1, len(numbers) + 1))
    assert events[-1].metadata["reason"] == "terminal"


def forward(to: int, lose: threading.Event) -> tuple[socket.socket, int]:
    """A proxy that closes its first connection once the request has been answered."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, target: socket.socket, *, loses: bool) -> None:
        try:
            while data := source.recv(65536):
                if loses:
                    lose.set()
                    break
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def connect(inner: socket.socket, *, loses: bool) -> None:
        with inner, socket.create_connection(("127.0.0.1", to)) as outer:
            pumps = [
                threading.Thread(target=pump, args=(one, other), kwargs={"loses": lost})
                for one, other, lost in ((inner, outer, False), (outer, inner, loses))
            ]
            for one in pumps:
                one.start()
            for one in pumps:
                one.join()

    def serve() -> None:
        is_first = True
        while True:
            try:
                inner, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=connect, args=(inner,), kwargs={"loses": is_first}).start()
            is_first = False

    threading.Thread(target=serve, daemon=True).start()
    return listener, listener.getsockname()[1]


def test_a_start_with_a_lost_answer_is_one_run(folder: Path):
    with serving(folder) as server, client(server) as http:
        lost = threading.Event()
        listener, port = forward(int(server.url.rpartition(":")[2]), lost)
        with listener:
            ended = crew("run", "--server", f"http://127.0.0.1:{port}", "what now?")
        assert lost.is_set()
        assert ended.returncode == 0, ended.stderr
        assert len(http.get("/api/crew/runs").json()["runs"]) == 1


def test_runs_are_found_and_ended_by_what_they_are(folder: Path):
    """The same at a server and in its folder; what matches is ended or deleted if a person agrees."""
    with serving(folder) as server, client(server) as http:
        options = ["--server", server.url]
        for text in ("what now?", "what of the moon?"):
            crew("run", *options, text)
        newest = http.get("/api/crew/runs").json()["runs"][0]
        day = newest["started_at"][:10]
        filters: dict[tuple[str, ...], int] = {
            ("--text", "moon"): 1,
            ("--agent", newest["agent_id"]): 2,
            ("--agent", "nix"): 0,
            ("--since", "1h"): 2,
            ("--since", day): 2,
            ("--until", day): 0,
            ("--source", "schedule"): 0,
            ("--tool", "look"): 0,
            ("--cost-over", "5"): 0,
            ("--waiting", "decision"): 0,
            ("--limit", "1"): 1,
            ("--status", "completed", "--text", "now"): 1,
        }
        for given, count in filters.items():
            there = crew("runs", *given, *options, "--json")
            assert len(there.stdout.splitlines()) == count, (given, there.stderr)
            here = crew("runs", folder, *given, "--json")
            assert here.stdout == there.stdout, given
        assert "no run matches" in crew("runs", "--text", "sun", *options).stderr
        wrong = crew("runs", "--since", "yesterday", *options)
        assert (wrong.returncode, "write a time like" in wrong.stderr) == (2, True)
        assert crew("runs", folder, "--text", "x", "--watch").returncode == 2
        assert crew("cancel", "last", "--agent", "a", *options).returncode == 2
        assert crew("cancel", *options).returncode == 2
        assert "ended at a server" in crew("cancel", "--agent", "a").stderr
        nothing = crew("runs", folder.parent, "--agent", "a", "--json")
        assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "")
        assert crew("cancel", "--agent", "a", "--dry", *options).stdout == "0 runs match\n"
        gone = crew("delete", "--text", "moon", "--yes", *options)
        assert gone.stdout == "deleted 1 runs\n"


def test_all_that_wait_are_ended(tmp_path: Path):
    routing = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    folder = write_crew(tmp_path / "crew", {"a": {}}, [{"say": "Which?"}], routing=routing)
    with serving(folder) as server, client(server) as http:
        options = ["--server", server.url]
        for text in ("one", "two", "three"):
            assert crew("run", *options, text).returncode == 3
        assert crew("cancel", "--text", "t", *options).returncode == 2, "nobody agrees"
        ended = crew("cancel", "--text", "t", "--yes", *options)
        assert ended.stdout == "cancelled 2 runs\n", ended.stderr
        runs = http.get("/api/crew/runs").json()["runs"]
        assert [one["status"] for one in runs] == ["cancelled", "cancelled", "paused"]
