"""Traces of servers and workers, as a receiver gets them that others wrote."""

import json
from pathlib import Path
from typing import Any

from crew.journal.wire import RunEvent
from server.telemetry.traces.spans import Span, SpanFold
from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, events, slow_crew, status
from tests.support.otlp import Receiver, receiving
from tests.support.postgres import needs_postgres
from tests.support.processes import client, free_port, serving, sse, until
from tests.support.served_crew import crew, until_status
from tools.tracing import SAMPLED

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = CALLER[3:35]


def of_log(run_id: str, received: list[dict[str, Any]]) -> dict[str, Span]:
    """The spans of a run's stream, by their ids."""
    fold = SpanFold(run_id, "", lambda *_: SAMPLED)
    told = [RunEvent.decode(one["metadata"].get("seq"), json.dumps(one)) for one in received]
    return {span.context.span_id: span for event in told for span in fold.add(event)}


def check(receiver: Receiver, run_id: str, received: list[dict[str, Any]], trace: str = "") -> None:
    """What was received is what follows from the run's log."""
    expected = of_log(run_id, received)
    until(lambda: len(receiver.of(trace or run_id)) >= len(expected))
    spans = receiver.of(trace or run_id)
    assert spans.keys() == expected.keys()
    for id_, span in spans.items():
        known = expected[id_]
        assert span["name"] == known.name
        assert span["parentSpanId"] == (known.parent.span_id if known.parent else "")
        assert int(span["startTimeUnixNano"]) == known.start
        assert int(span["endTimeUnixNano"]) == known.end


def test_a_request_of_a_trace(tmp_path: Path):
    """Its trace goes on; what spans say is by the conventions; texts are not in them."""
    with receiving(tmp_path) as receiver:
        switch = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with serving(crew(tmp_path), **switch) as server, client(server) as http:
            body = {"query": "go, secretly"}
            told = sse(
                http.post("/api/crew/stream", json=body, headers={"traceparent": CALLER}).text
            )
            run_id = told[0]["metadata"]["run_id"]
            check(receiver, run_id, told, TRACE)
            sent = http.get("/metrics").text
            assert 'crew_trace_spans_total{outcome="lost"} 0.0' in sent
            assert f'crew_trace_spans_total{{outcome="sent"}} {len(receiver.spans)}.0' in sent
        spans = {one["name"]: one for one in receiver.spans}
        assert spans["invoke_workflow test-crew"]["parentSpanId"] == CALLER[36:52]
        assert "secretly" not in receiver.log.read_text()
        tool = spans["execute_tool GetSystemInfo"]["attributes"]
        assert tool == {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "GetSystemInfo",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": tool["gen_ai.tool.call.id"],
            "crew.run.id": run_id,
            "crew.attempts": "1",
        }
        chat = spans["chat scripted"]
        assert chat["kind"] == 3
        assert int(chat["attributes"]["gen_ai.usage.input_tokens"]) > 0
        assert chat["attributes"]["gen_ai.provider.name"] == "scripted"


def test_a_server_that_is_killed(tmp_path: Path):
    """The next one reports what was under way, from its beginning on, with the same ids."""
    folder = crew(tmp_path)
    with receiving(tmp_path) as receiver:
        switch = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with serving(folder, **switch) as server, client(server) as http:
            run_id = begin(http, "long")
            server.kill()
        assert receiver.spans == []
        with serving(folder, **switch) as server, client(server) as http:
            until_status(server, run_id, "completed")
            check(receiver, run_id, events(http, run_id))


def test_a_collector_that_is_away(tmp_path: Path):
    """Runs are as fast as without it, its spans are counted as lost, and the log says it once."""
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}})
    switch = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_BSP_SCHEDULE_DELAY": "10",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }
    with serving(folder, **switch) as server, client(server) as http:
        for _ in range(3):
            assert http.post("/api/crew/run", json={"query": "x"}).json()["status"] == "completed"
        lost = 'crew_trace_spans_total{outcome="lost"} 9.0'
        until(lambda: lost in http.get("/metrics").text)
        assert server.stop() == 0
        assert server.log.read_text().count("takes no traces") == 1
        assert "Traceback" not in server.log.read_text()


@needs_postgres
def test_a_worker_plays_what_a_server_accepts(fleet: Fleet, tmp_path: Path):
    """The worker reports all of the run, the server nothing."""
    slow_crew(fleet.folder)
    with receiving(tmp_path) as receiver:
        switch = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        http = fleet.replica(**switch)
        fleet.worker(**switch)
        run_id = begin(http)
        until(lambda: status(http, run_id) == "completed")
        check(receiver, run_id, events(http, run_id))
