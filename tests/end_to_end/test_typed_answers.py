"""The example with typed answers on a real server: events, pauses, metrics, and a kill."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import copy_example
from tests.support.processes import ServerProcess, client, serving, sse, start_server
from tests.support.served_crew import until_status


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(copy_example("intents", tmp_path_factory.mktemp("crew"))) as started:
        yield started


def events_of(server: ServerProcess, query: str) -> list[dict[str, Any]]:
    with client(server) as http:
        answer = http.post("/api/crew/stream", json={"query": query, "deltas": True})
        return list(sse(answer.text))


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["metadata"] for event in events if event["type"] == kind]


def test_a_decision_and_its_way(server: ServerProcess):
    events = events_of(server, "Is there any sencha?")
    first = of(events, "agent_response")[0]
    assert first["output"] == {"intent": "stock", "clear": True, "products": ["green tea"]}
    assert first["output_unknown"] == ["chocolate"]
    assert first["provider"] == "scripted"
    (hop,) = of(events, "handoff")
    assert (hop["why"], hop["to"]) == ("output", "clerk")
    assert hop["matched"] == {"intent": "stock", "products": ["green tea"]}
    assert of(events, "done")[0]["answer"] == "We have green tea: 12 packets."
    # nothing of it was published before it was checked
    assert {one["agent_id"] for one in of(events, "agent_delta")} == {"clerk"}


def test_what_is_wrong_is_counted(server: ServerProcess):
    events = events_of(server, "a riddle")
    wrong, right, _ = of(events, "agent_response")
    assert wrong["invalid"] == ['intent: must be one of stock, talk, not "riddle"']
    assert right["output"]["intent"] == "talk"
    with client(server) as http:
        lines = http.get("/metrics").text.splitlines()
    assert 'crew_outputs_total{agent="classify",outcome="repaired"} 1.0' in lines
    assert 'crew_outputs_total{agent="classify",outcome="invalid"} 0.0' in lines
    assert 'crew_handoffs_total{from="classify",to="talker",why="output"} 1.0' in lines
    assert any(one.startswith('crew_output_unknown_total{vocabulary="products"}') for one in lines)


def test_a_question_waits_through_a_kill(tmp_path: Path):
    """A pause by a rule is one as any other: another process goes on with the answer."""
    crew = copy_example("intents", tmp_path)
    first = start_server(crew)
    with client(first) as http:
        run_id = http.post("/api/crew/runs", json={"query": "something"}).json()["run_id"]
    paused = until_status(first, run_id, "paused")
    assert paused["answer"] == "Tea or coffee?"
    first.kill()
    with serving(crew) as second:
        with client(second) as http:
            answer = http.post(f"/api/crew/runs/{run_id}/resume", json={"query": "coffee"})
            assert answer.status_code < 400, answer.text
        ended = until_status(second, run_id, "completed")
    assert ended["answer"] == "We have coffee: 7 packets."


def test_the_crew_is_described_with_its_ways(server: ServerProcess):
    with client(server) as http:
        routing = http.get("/api/crew").json()["routing"]
    labels = {
        (one["to"], one["kind"]): one["label"] for one in routing if one["from"] == "classify"
    }
    assert labels == {
        ("talker", "invalid"): "invalid",
        ("planner", "output"): "intent = stock, products has ≥ 2",
        ("clerk", "output"): "intent = stock, products has ≥ 1",
        ("talker", "output"): "any output",
    }
    assert json.dumps(routing)
