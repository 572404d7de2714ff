"""The client for JavaScript, under Node and Deno: killed servers, lost answers, tickets; and what is built of it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.real.installed import NODE, NODE_PROGRAMS, needs_real
from tests.server.http.test_chat import TOKEN, chat_crew
from tests.support.crews import ROOT
from tests.support.processes import client, free_port, serving, start_server

pytestmark = needs_real
PACKAGE = ROOT / "server" / "clients" / "js"
PROGRAM = ROOT / "tests" / "real" / "clients" / "crew.mjs"
Runtime = list[str | Path]
NODE_RUNS: Runtime = [NODE, PROGRAM]
DENO_RUNS: Runtime = [
    NODE_PROGRAMS / "deno",
    "run",
    "--quiet",
    "--no-config",
    "--allow-net",
    PROGRAM,
]
runtimes = pytest.mark.parametrize("runs", [NODE_RUNS, DENO_RUNS], ids=["node", "deno"])
# as a front-end developer writes it
USE = """
import { Crew, CrewError, type RunEvent } from "./server/clients/js/src/client.js";
import type { CrewChat } from "./server/clients/js/src/chat.js";

const crew = new Crew({ url: "https://x", ticket: async () => "t" });
export async function use(chat: CrewChat): Promise<string> {
  for await (const event of crew.ask("Hello", { conversation: "c", signal: new AbortController().signal })) {
    if (event.type === "done") return event.metadata.answer;
    if (event.type === "pause") await crew.decide(event.metadata.run_id!, { pause: event.metadata.seq, call: "c", decision: "approve" });
  }
  chat.ticket = () => "t";
  chat.addEventListener("crew-done", ({ detail }) => console.log(detail.answer));
  // @ts-expect-error: there is no such decision
  await crew.decide("r", { call: "c", decision: "maybe" });
  // @ts-expect-error: it is a text
  await crew.answer("r", { text: 7 });
  const error: CrewError = new CrewError("x");
  return error.detail + error.requestId + String(error.status);
}
export const kinds = (event: RunEvent): string => event.type;
"""


def asked(url: str, what: str, runs: Runtime = NODE_RUNS, **options: Any) -> dict[str, Any]:
    """What the program prints at its end."""
    command = [*runs, url, what, json.dumps(options)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


@runtimes
def test_a_run_is_asked_decided_left_and_cancelled(tmp_path: Path, runs: Runtime):
    """Each as the API says it; an error has all that a caller needs."""
    with serving(chat_crew(tmp_path)) as server:
        found = asked(server.url, "ask", runs)
        assert found["events"][0] == "start"
        assert found["events"][-1] == "done"
        refused = asked(server.url, "refused", runs)
        assert (refused["isOurs"], refused["status"]) == (True, 400)
        assert "query" in refused["detail"]
        assert refused["requestId"]
        decided = asked(server.url, "decide", runs)
        assert decided["more"][:2] == ["start", "answered"]
        assert decided["answer"] == "paid [END]"
        left = asked(server.url, "leave", runs)
        assert (left["events"], left["status"], left["after"]) == (
            ["start"],
            "running",
            "cancelled",
        )


@runtimes
def test_a_killed_server(tmp_path: Path, runs: Runtime):
    """Back on the same port: every event once, in order, and one run."""
    folder, port = chat_crew(tmp_path), free_port()
    first = start_server(folder, "--port", str(port))
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen([*runs, url, "follow"], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = [program.stdout.readline()]
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        with serving(folder, "--port", str(port)) as server:
            lines += program.stdout.read().splitlines()
            assert program.wait(60) == 0
            events, end = [json.loads(one) for one in lines[:-1]], json.loads(lines[-1])
            assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
            assert (events[-1]["type"], end["waits"] > 0) == ("done", True)
            with client(server) as http:
                assert len(http.get("/api/crew/runs").json()["runs"]) == 1


@contextmanager
def losing_first_answer(port: int) -> Iterator[int]:
    """A proxy that hands the first request on, and closes before its answer."""
    is_first = threading.Event()  # the first one has come
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            while True:
                try:
                    near, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=carry, args=(near,), daemon=True).start()

        def carry(near: socket.socket) -> None:
            loses = not is_first.is_set()
            is_first.set()
            with near, socket.create_connection(("127.0.0.1", port)) as far:
                other = threading.Thread(target=pump, args=(near, far), daemon=True)
                other.start()
                if loses:
                    # the answer came, and nobody gets it
                    far.recv(65536)
                else:
                    pump(far, near)
                for one in (near, far):
                    with suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)
                other.join()

        def pump(one: socket.socket, other: socket.socket) -> None:
            try:
                while data := one.recv(65536):
                    other.sendall(data)
                other.shutdown(socket.SHUT_WR)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


@runtimes
def test_a_start_whose_answer_is_lost(tmp_path: Path, runs: Runtime):
    """Is one run."""
    with serving(chat_crew(tmp_path)) as server, client(server) as http:
        with losing_first_answer(int(server.url.rpartition(":")[2])) as port:
            found = asked(f"http://127.0.0.1:{port}", "ask", runs)
        stored = http.get("/api/crew/runs").json()["runs"]
        assert [one["run_id"] for one in stored] == [found["run"]]


def test_tickets_are_made_anew_once(tmp_path: Path):
    """An old one is replaced; where the new one is refused, too, that is said."""
    with serving(chat_crew(tmp_path), CREW_API_TOKENS=f"shop:{TOKEN}") as server:
        with client(server) as http:
            shown = {"Authorization": f"Bearer {TOKEN}"}
            made = http.post("/api/crew/tickets", json={"seconds": 60}, headers=shown)
            ticket = made.json()["ticket"]
        found = asked(server.url, "ask", tickets=["old.ticket", ticket])
        assert (found["events"][-1], found["made"]) == ("done", 2)
        refused = asked(server.url, "refused", tickets=["old.ticket"])
        assert refused["status"] == 401
        assert "ticket" not in asked(server.url, "refused", tickets=[ticket])["code"]
        nothing = asked(server.url, "refused", tickets=[""])
        assert (nothing["code"], nothing["status"]) == ("ticket", 0)


def test_what_is_built_is_new(tmp_path: Path):
    """The script of the chat, and the types of the API, as they are committed; with strict types; small."""
    for path in ("server/clients/js", "server/console", "configs/schemas"):
        shutil.copytree(ROOT / path, tmp_path / path)
    copy = tmp_path / "server" / "clients" / "js"
    environment = {**os.environ, "PATH": f"{NODE_PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    for script in ("build", "types"):
        made = subprocess.run(
            ["npm", "run", script], cwd=copy, env=environment, capture_output=True, text=True
        )
        assert made.returncode == 0, made.stderr
    for name in ("dist/chat.js", "src/api.d.ts"):
        is_new = (copy / name).read_bytes() == (PACKAGE / name).read_bytes()
        assert is_new, f"{name} is old: npm run build and npm run types, in server/clients/js"
    (tmp_path / "use.ts").write_text(USE)
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "esnext"]
    compiled = subprocess.run(
        [NODE_PROGRAMS / "tsc", *options, "--moduleResolution", "bundler", "use.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert compiled.returncode == 0, compiled.stdout


@pytest.mark.parametrize(("name", "most"), [("src/client.js", 12_000), ("dist/chat.js", 40_000)])
def test_it_is_small(name: str, most: int):
    """In bytes, gzipped."""
    packed = subprocess.run(["gzip", "-c", PACKAGE / name], capture_output=True, check=True)
    assert len(packed.stdout) <= most
