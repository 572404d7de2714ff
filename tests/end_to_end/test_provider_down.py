"""A provider that is down is seen in the metrics; its backup answers."""

import asyncio
from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.fleet import events
from tests.support.model_server import http, model_server
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
    with serving(folder) as server, client(server) as asking:
        warned = []
        for _ in range(2):
            ended = asking.post("/api/crew/run", json={"query": "x"}).json()
            assert ended["answer"] == "near"
            told = events(asking, ended["run_id"])
            warned.append([e["metadata"]["code"] for e in told if e["type"] == "warning"])
        assert 'crew_provider_breaker_open{provider="far"} 1.0' in asking.get("/metrics").text
    assert warned == [["breaker_open", "model_backup"], ["model_backup"]]


async def test_who_waits_for_a_provider_reads_why(tmp_path: Path):
    """A warning when the wait begins; the last cause in the error, at /ready and GET /api/crew."""
    words = "gpu node 4 is down for maintenance until 18:00"
    async with model_server([http(503, {"error": {"message": words}})]) as far:
        keys = {
            "base_url": far.url,
            "max_retries": 0,
            "breaker": {"failures": 1, "open_seconds": 3600},
        }
        folder = write_crew(
            tmp_path,
            {"a": {"model": "m-1", "provider": "far"}},
            providers={"far": keys},
            settings={"timeout_seconds": 1},
        )
        with serving(folder) as server, client(server) as http_client:

            def look() -> tuple[list[Any], list[Any], Any, Any]:
                ids = [
                    http_client.post("/api/crew/run", json={"query": "x"}).json()["run_id"]
                    for _ in range(2)
                ]
                first, second = (events(http_client, one) for one in ids)
                crew = http_client.get("/api/crew").json()
                return first, second, crew["providers"], http_client.get("/ready").json()

            first, second, providers, ready = await asyncio.to_thread(look)
    assert words in next(e for e in first if e["type"] == "error")["content"]
    warned = next(e for e in second if e["type"] == "warning")
    assert warned["metadata"]["code"] == "breaker_waiting"
    assert f"503: {words}" in warned["content"]
    assert "is waited for until 20" in warned["content"]
    (provider,) = providers
    assert provider["answers"] is False
    assert words in provider["reason"]
    assert provider["models"][0]["last_failure"]["code"] == "unavailable"
    assert ready["status"] == "degraded"
    assert words in ready["models_failing"][0]["reason"]
