"""A provider that is down is seen in the metrics; its backup answers."""

from pathlib import Path

from tests.support.crews import write_crew
from tests.support.fleet import events
from tests.support.processes import client, serving


def test_a_provider_that_is_down(tmp_path: Path):
    """After one failure here: the second run does not ask it."""
    agent = {
        "primary": {"model": "m", "provider": "far"},
        "backup": {"model": "m", "provider": "scripted"},
        "is_terminal": True,
    }
    far = {"base_url": "http://127.0.0.1:1/v1", "max_retries": 0, "breaker": {"failures": 1}}
    folder = write_crew(tmp_path, {"a": agent}, [{"say": "near"}], providers={"far": far})
    with serving(folder) as server, client(server) as http:
        warned = []
        for _ in range(2):
            ended = http.post("/api/crew/run", json={"query": "x"}).json()
            assert ended["answer"] == "near"
            told = events(http, ended["run_id"])
            warned.append([e["metadata"]["code"] for e in told if e["type"] == "warning"])
        assert 'crew_provider_breaker_open{provider="far"} 1.0' in http.get("/metrics").text
    assert warned == [["breaker_open", "model_backup"], ["model_backup"]]
