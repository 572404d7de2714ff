"""How long an answer took, to its first words and in waiting: over HTTP and for Prometheus."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2

from tests.support.crews import write_crew
from tests.support.processes import client, serving

# five words, one every 0.3 seconds
SAY = [{"say": "one two three four five", "delay_seconds": 1.5}]


def answer_of(http: httpx2.Client, **body: Any) -> dict[str, Any]:
    run = http.post("/api/crew/run", json={"query": "hello", **body}).json()["run_id"]
    steps = http.get(f"/api/crew/runs/{run}/why").json()["steps"]
    found: dict[str, Any] = next(one["facts"] for one in steps if "answers" in one["step"])
    return found


def test_the_times_of_an_answer(tmp_path: Path):
    """Its first words come before its end; a second one waits for a place, and that is apart."""
    agent = {"is_terminal": True, "max_concurrent": 1}
    with serving(write_crew(tmp_path, {"a": agent}, SAY)) as server, client(server) as http:
        whole = answer_of(http)
        assert "first_token_seconds" not in whole
        with ThreadPoolExecutor(2) as pool:
            both = list(pool.map(lambda _: answer_of(http, deltas=True), range(2)))
        for one in both:
            assert 0.2 < one["first_token_seconds"] < one["seconds"]
        assert max(one.get("waited_seconds", 0.0) for one in both) > 0.1
        found = http.get("/metrics").text
        assert "crew_model_first_token_seconds_count 2.0" in found
