"""A tool that holds up its whole process: no other worker takes its run, and it is named."""

from pathlib import Path
from typing import Any

import httpx2

from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, events, status
from tests.support.postgres import needs_postgres
from tests.support.processes import ServerProcess, client, serving, until

ACTS = '''
import ctypes, time
from pathlib import Path


def _begin() -> None:
    with (Path(__file__).parent / "calls").open("a") as calls:
        calls.write("x")


async def block() -> str:
    """Block the event loop."""
    _begin()
    time.sleep(8)
    return "done"


def hold() -> str:
    """Keep the interpreter's lock, in a thread."""
    _begin()
    ctypes.PyDLL(None).sleep(8)
    return "done"


async def hang() -> str:
    """Block for ever."""
    _begin()
    while True:
        time.sleep(1)
'''


def stalling_crew(folder: Path, tool: str, **settings: Any) -> Path:
    rules = [{"after": tool, "say": "{{result." + tool + "}}"}, {"say": "", "calls": [tool]}]
    (folder / "acts.py").write_text(ACTS)
    tools = {tool: {"kind": "python", "function": f"acts.py:{tool}", "timeout_seconds": 20}}
    return write_crew(folder, {"a": {"tools": [tool]}}, rules, tools, settings=settings)


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text())


def has_child(worker: ServerProcess) -> bool:
    """The process beside it runs, and has been told what it needs."""
    paths = Path(f"/proc/{worker.process.pid}/task").glob("*/children")
    children = [child for path in paths for child in path.read_text().split()]
    return any("heartbeat" in Path(f"/proc/{child}/cmdline").read_text() for child in children)


@needs_postgres
def test_no_other_worker_takes_the_run(fleet: Fleet):
    """Longer than a dead worker's runs wait: made once, and told in log, event and metric."""
    tool = "hold"
    stalling_crew(fleet.folder, tool)
    http = fleet.replica()
    workers = [fleet.worker(), fleet.worker()]
    until(lambda: all(has_child(worker) for worker in workers))
    run_id = begin(http)
    until(lambda: status(http, run_id) == "completed")
    assert calls(fleet.folder) == 1
    received = events(http, run_id)
    (told,) = [event["content"] for event in received if event["type"] == "warning"]
    assert told.startswith(f"{tool} held up the whole process, with all its runs, for ")
    assert received[-1]["metadata"]["answer"] == "done"
    logs = "".join(worker.log.read_text() for worker in workers)
    assert "the worker's process is held up for " in logs
    assert f"calls at work: {tool} of run {run_id}" in logs
    assert "has lost its worker" not in logs
    numbers = [httpx2.get(f"{one.url}/metrics", trust_env=False).text for one in workers]
    assert sum(f'crew_tool_stalls_total{{tool="{tool}"}} 1.0' in text for text in numbers) == 1


@needs_postgres
def test_a_worker_that_is_held_up_for_ever_is_ended(fleet: Fleet):
    """And what held it up is bounded like what ends a process."""
    stalling_crew(fleet.folder, "hang", max_recoveries=1)
    http = fleet.replica()
    workers = [fleet.worker(CREW_STALL_SECONDS="5") for _ in range(3)]
    until(lambda: all(has_child(worker) for worker in workers))
    run_id = begin(http)
    until(lambda: status(http, run_id) == "failed", 120)
    assert http.get(f"/api/crew/runs/{run_id}").json()["reason"] == "crashed"
    assert "while A called hang" in events(http, run_id)[-1]["content"]
    assert calls(fleet.folder) == 2
    assert sum(worker.process.poll() is not None for worker in workers) == 2
    logs = "".join(worker.log.read_text() for worker in workers)
    assert logs.count("the worker's process is ended") == 2


def test_one_process_tells_too(tmp_path: Path):
    """Its run, its log and its metrics name the tool."""
    with serving(stalling_crew(tmp_path, "block")) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "x"}).json()["run_id"]
        (told,) = [one["content"] for one in events(http, run_id) if one["type"] == "warning"]
        assert told.startswith("block held up the whole process")
        assert 'crew_tool_stalls_total{tool="block"} 1.0' in http.get("/metrics").text
        assert told in server.log.read_text()
