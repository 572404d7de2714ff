"""`crew leakcheck`: what is done, and what is printed."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import typer

from crew.config.problems import has_failed
from crew.crew import check
from server.cli.exits import HERE, Exit, Folder, fail, print_problems
from server.cli.leaks.hostile_model import MODES, hostile_model
from server.cli.leaks.planting import Plant, copy_crew, plant_environment, redirect
from server.cli.leaks.search import found_in

START_SECONDS = 60.0
LOOK_SECONDS = 0.1
ASKED = "requests to models"
NOTICE_SECONDS = 10.0
RUN_SECONDS = 120.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
READ = (
    "/api/crew",
    "/api/crew?prompts=1",
    "/api/crew/runs",
    "/api/crew/inbox",
    "/api/crew/grants",
    "/metrics",
    "/metrics?format=json",
    "/ready",
    "/openapi.json",
    # which are refused
    "/api/crew/runs/none",
    "/api/crew/stream",
    "/api/crew/runs?limit=x",
)


def leakcheck(folder: Folder = HERE) -> None:
    """Plant secrets, serve a copy of the crew, and search all that it says, stores and logs.

    Every key, token and password is replaced by a planted one, and every model by one on this
    machine that repeats what it was sent. No tool is called, no other host is asked. Ends with 1
    where a planted secret is found.

    Example: [bold]crew leakcheck examples/it-support[/]
    """
    problems = check(folder, imports=False).problems
    if has_failed([one for one in problems if one.code != "unset-variable"]):
        print_problems(problems, {})
        raise typer.Exit(Exit.FAILED)
    plant = Plant()
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "crew"
        copy_crew(folder, copy)
        environment = plant_environment(copy, plant)
        outputs = _play(copy, environment, plant)
    if not outputs[ASKED]:
        fail("no run of the copy came to ask a model, so nothing was checked")
    leaks = 0
    for name, content in outputs.items():
        found = found_in(content, {**plant.values, "the token": plant.token})
        leaks += len(found)
        told = f"has {', '.join(found)}" if found else "none"
        print(f"{'✗' if found else '✓'} {name}, {len(content):,} bytes: {told}")
    if leaks:
        fail(f"planted secrets: {len(plant.values)}, found: {leaks}")
    print(f"planted secrets: {len(plant.values)}, found: none")


def _play(copy: Path, environment: Mapping[str, str], plant: Plant) -> dict[str, bytes]:
    """Serve the copy, ask it, and all that came of it, by what it is."""
    outputs: dict[str, bytes] = {}
    with hostile_model(plant.values) as model:
        redirect(copy, model.port, plant)
        log = copy.parent / "log"
        with _serving(copy, environment, plant.token, log) as http:
            outputs |= _ask(http, " ".join(plant.values.values()))
            _await_notices(http)
        outputs["log"] = log.read_bytes()
        outputs[ASKED] = b"\n".join(model.asked)
        outputs["notices"] = b"\n".join(model.told)
    kept = [path.read_bytes() for path in sorted((copy / ".crew").glob("*")) if path.is_file()]
    outputs["database"] = b"".join(kept)
    commands = ("runs", "inbox", "audit", "grants", "tools", "validate")
    shown = [_command(environment, name, str(copy)) for name in commands]
    outputs["commands"] = b"".join(shown)
    return outputs


def _ask(http: httpx2.Client, secrets: str) -> dict[str, bytes]:
    streams, results = b"", b""
    for mode in MODES:
        deltas = mode == "stream"
        body: dict[str, Any] = {"query": f"{mode} {secrets}", "deltas": deltas}
        streams += http.post("/api/crew/stream", json=body).content
    results += http.post("/api/crew/run", json={"query": f"answer {secrets}"}).content
    for run in http.get("/api/crew/runs").json()["runs"]:
        address = f"/api/crew/runs/{run['run_id']}"
        results += http.get(address).content + http.get(f"{address}/events").content
    pages = b"".join(http.get(path).content for path in READ)
    reload = http.post("/api/crew/reload").content
    return {"streams": streams, "runs": results, "other answers": pages + reload}


def _await_notices(http: httpx2.Client) -> None:
    """Wait until the channels have their notices, or have had the time for it."""
    deadline = time.monotonic() + NOTICE_SECONDS
    while time.monotonic() < deadline:
        told = http.get("/metrics").text
        counts = re.findall(r'crew_notices_total\{.*outcome="sent"\} ([0-9.]+)', told)
        if all(float(count) > 0 for count in counts):
            return
        time.sleep(LOOK_SECONDS)


@contextmanager
def _serving(
    copy: Path, environment: Mapping[str, str], token: str, log: Path
) -> Iterator[httpx2.Client]:
    settings = {"CREW_LOG_LEVEL": "debug", "CREW_LOG_FORMAT": "json"}
    with log.open("wb") as out:
        command = _arguments("serve", str(copy), "--port", "0")
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**environment, **settings})
    try:
        url = _address(process, log)
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(
            base_url=url, headers=headers, timeout=RUN_SECONDS, trust_env=False
        ) as client:
            yield client
        process.terminate()
        process.wait(START_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while (found := ADDRESS.search(log.read_text(encoding="utf-8"))) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            fail(f"the copy of the crew was not served: {log.read_text(encoding='utf-8')}")
        time.sleep(LOOK_SECONDS)
    return found[0]


def _command(environment: Mapping[str, str], *arguments: str) -> bytes:
    done = subprocess.run(_arguments(*arguments), capture_output=True, env=environment, check=False)
    return done.stdout + done.stderr


def _arguments(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "import crewline; crewline.main()", *arguments]
