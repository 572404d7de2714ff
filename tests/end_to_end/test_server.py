"""A real server process, driven over HTTP: streams, reconnects, leaving, draining, crashes, refusals."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.stage import (
    BIN,
    ServerProcess,
    clean_environment,
    client,
    serving,
    sse,
    start_server,
    write_crew,
)

AGENTS = {"a": {}, "b": {"is_terminal": True, "tools": ["GetSystemInfo"]}}
RULES: list[dict[str, Any]] = [
    {"agent": "a", "hears": "ask slowly", "say": "what exactly?", "delay_seconds": 0.3},
    {"agent": "a", "hears": "slow", "say": "slowly [B]", "delay_seconds": 0.6},
    {"agent": "a", "hears": "long", "say": "after all [B]", "delay_seconds": 3},
    {"agent": "a", "hears": "forever", "say": "x", "delay_seconds": 3600},
    {"agent": "a", "hears": "more", "say": "more of it [B]"},
    {"agent": "a", "hears": "ask", "say": "what exactly?"},
    {"agent": "a", "say": "ok [B]"},
    {"agent": "b", "after": "GetSystemInfo", "say": "Xong: kết quả ✅"},
    {"agent": "b", "say": "", "calls": ["GetSystemInfo"]},
]
ROUTING = {
    "signals": {"a": [{"signal": "[B]", "target": "b"}]},
    "agent_behaviors": {"a": {"wait_for_signal": True}},
}
WHOLE = [
    "start",
    "agent_start",
    "agent_response",
    "handoff",
    "agent_start",
    "agent_response",
    "tool_start",
    "tool_result",
    "agent_start",
    "agent_response",
    "done",
]


def crew(folder: Path, **settings: Any) -> Path:
    return write_crew(folder / "crew", AGENTS, RULES, routing=ROUTING, settings=settings)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for the tests that leave it as it was."""
    with serving(crew(tmp_path_factory.mktemp("server"), max_request_body_size_kb=1000)) as started:
        yield started


def lines(response: httpx2.Response) -> Iterator[dict[str, Any]]:
    """The events of a stream as they come."""
    block = ""
    for line in response.iter_lines():
        if line:
            block += line + "\n"
        else:
            yield from sse(block + "\n")
            block = ""


def until(server: ServerProcess, run_id: str, *statuses: str) -> dict[str, Any]:
    """Ask for a run until it has one of these states; who followed it instead would be a listener, and keep it alive."""
    ends = time.monotonic() + 15
    with client(server) as http:
        while True:
            run: dict[str, Any] = http.get(f"/api/crew/runs/{run_id}").json()
            if run["status"] in statuses:
                return run
            assert time.monotonic() < ends, run


def test_a_stream_from_start_to_done(server: ServerProcess):
    """Its headers, its frames, its ids; the same bytes again from the store."""
    with client(server) as http:
        response = http.get(
            "/api/crew/stream", params={"q": "xin chào"}, headers={"X-Request-ID": "my-id.1"}
        )
        events = sse(response.text)
        run_id = events[0]["metadata"]["run_id"]
        again = http.get(f"/api/crew/runs/{run_id}/events")
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["x-request-id"] == "my-id.1"
    assert response.text.startswith("retry: 3000\n\n")
    assert "event:" not in response.text
    assert [event["type"] for event in events] == WHOLE
    assert [event["id"] for event in events] == [f"{run_id}:{n}" for n in range(1, len(WHOLE) + 1)]
    assert events[0]["metadata"]["request_id"] == "my-id.1"
    assert events[-1]["metadata"]["answer"] == "Xong: kết quả ✅"
    assert again.content == response.content


def test_a_run_as_one_document(server: ServerProcess):
    """And the run's own page, and the list."""
    with client(server) as http:
        # so that there is a next page
        http.post("/api/crew/run", json={"query": "hello"})
        answer = http.post("/api/crew/run", json={"query": "hi"}).json()
        page = http.get(f"/api/crew/runs/{answer['run_id']}").json()
        listed = http.get("/api/crew/runs", params={"limit": 1}).json()
    assert set(answer) == {
        "run_id",
        "status",
        "reason",
        "answer",
        "agent_id",
        "rounds",
        "handoffs",
        "usage",
        "duration_seconds",
    }
    assert (
        answer["status"],
        answer["reason"],
        answer["agent_id"],
        answer["rounds"],
        answer["handoffs"],
    ) == (
        "completed",
        "terminal",
        "b",
        3,
        1,
    )
    assert page["answer"] == answer["answer"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", page["started_at"])
    assert set(listed["runs"][0]) == {
        "run_id",
        "status",
        "query",
        "reason",
        "answer",
        "started_at",
        "ended_at",
        "paused_agent_id",
    }
    assert listed["next"] == listed["runs"][0]["run_id"]


def test_words_as_they_are_written(server: ServerProcess):
    """With deltas=1: pieces without ids, which together are the answer."""
    with client(server) as http:
        events = sse(http.get("/api/crew/stream", params={"q": "hi", "deltas": "1"}).text)
        plain = sse(http.get("/api/crew/stream", params={"q": "hi"}).text)
    deltas = [event for event in events if event["type"] == "agent_delta"]
    assert all(event["id"] is None for event in deltas)
    assert "".join(event["content"] for event in deltas) == "ok [B]Xong: kết quả ✅"
    assert not any(event["type"] == "agent_delta" for event in plain)


def test_a_pause_and_its_answer(server: ServerProcess):
    """By POST, and by a stream; the first wins; the stream of an answer is its own stretch only."""
    with client(server) as http:
        first = sse(http.get("/api/crew/stream", params={"q": "ask me"}).text)
        run_id = first[0]["metadata"]["run_id"]
        assert [event["type"] for event in first][-2:] == ["pause", "done"]
        assert (
            http.get("/api/crew/runs", params={"status": "paused"}).json()["runs"][0][
                "paused_agent_id"
            ]
            == "a"
        )
        second = sse(http.get("/api/crew/stream", params={"q": "more", "run_id": run_id}).text)
        assert [event["type"] for event in second] == WHOLE
        assert second[0]["id"] == f"{run_id}:{len(first) + 1}"
        assert second[0]["metadata"]["resumed"] is True
        whole = sse(http.get(f"/api/crew/runs/{run_id}/events").text)
        assert [event["id"] for event in whole] == [event["id"] for event in first + second]
        late = http.post(f"/api/crew/runs/{run_id}/resume", json={"query": "more"})
        assert (late.status_code, late.headers["content-type"]) == (409, "application/problem+json")
        paused = http.post("/api/crew/run", json={"query": "ask"}).json()
        accepted = http.post(f"/api/crew/runs/{paused['run_id']}/resume", json={"query": "more"})
        assert (accepted.status_code, accepted.headers["location"]) == (
            202,
            f"/api/crew/runs/{paused['run_id']}",
        )
    assert until(server, paused["run_id"], "completed")["answer"] == "Xong: kết quả ✅"


def test_coming_back_by_the_id_of_the_last_event(server: ServerProcess):
    """To either address, never a second run; at the end 204; a bad id 400."""
    with client(server) as http:
        events = sse(http.get("/api/crew/stream", params={"q": "hi"}).text)
        run_id, last = events[0]["metadata"]["run_id"], events[-1]["id"]
        count = len(http.get("/api/crew/runs", params={"limit": 500}).json()["runs"])
        for path in (
            "/api/crew/stream?q=another",
            f"/api/crew/runs/{run_id}/events",
            f"/api/crew/runs/{run_id}/events?after=1",
        ):
            rest = sse(http.get(path, headers={"Last-Event-ID": f"{run_id}:4"}).text)
            assert [event["id"] for event in rest] == [event["id"] for event in events[4:]]
            assert http.get(path, headers={"Last-Event-ID": last}).status_code == 204
            for bad in ("nonsense", f"{run_id}:99", f"{run_id}:-1", f"{run_id}:x", ""):
                assert http.get(path, headers={"Last-Event-ID": bad}).status_code == 400, bad
        assert (
            http.get(
                f"/api/crew/runs/{run_id}/events", headers={"Last-Event-ID": "other:1"}
            ).status_code
            == 400
        )
        assert http.get("/api/crew/stream", headers={"Last-Event-ID": "0123:1"}).status_code == 404
        assert [
            event["id"] for event in sse(http.get(f"/api/crew/runs/{run_id}/events?after=9").text)
        ] == [
            f"{run_id}:10",
            f"{run_id}:11",
        ]
        assert [
            event["id"]
            for event in sse(http.get(f"/api/crew/runs/{run_id}/events?after={run_id}:10").text)
        ] == [f"{run_id}:11"]
        assert len(http.get("/api/crew/runs", params={"limit": 500}).json()["runs"]) == count


def test_two_listeners_read_the_same(server: ServerProcess):
    """One from the start, one from the middle, while it runs."""
    with (
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as first,
    ):
        live = lines(first)
        start = next(live)
        run_id = start["metadata"]["run_id"]
        with client(server) as other:
            second = sse(other.get(f"/api/crew/runs/{run_id}/events", params={"after": "1"}).text)
        assert [start, *live][1:] == second


GOOD = {"query": "hi"}
BAD: dict[str, tuple[str, Any, int, str]] = {
    # name: (path with query, or path; body as bytes or JSON, None for GET; status; what the detail names)
    "no q": ("/api/crew/stream", None, 400, "q"),
    "empty q": ("/api/crew/stream?q=", None, 400, "query"),
    "unknown parameter": ("/api/crew/stream?q=x&nope=1", None, 400, "nope"),
    "parameter twice": ("/api/crew/stream?q=x&q=y", None, 400, "q"),
    "not UTF-8": ("/api/crew/stream?q=%ff", None, 400, "UTF-8"),
    "NUL": ("/api/crew/stream?q=a%00b", None, 400, "query"),
    "control character": ("/api/crew/stream?q=a%1bb", None, 400, "U+001B"),
    "too long": ("/api/crew/stream?q=" + "x" * 10_001, None, 400, "query"),
    "bad run id": ("/api/crew/stream?q=x&run_id=a%20b", None, 400, "run_id"),
    "unknown run": ("/api/crew/stream?q=x&run_id=nope", None, 404, "nope"),
    "run and agent": ("/api/crew/stream?q=x&run_id=r&resume_agent_id=a", None, 400, "run_id"),
    "unknown agent": ("/api/crew/stream?q=x&resume_agent_id=zz", None, 400, "resume_agent_id"),
    "bad deltas": ("/api/crew/stream?q=x&deltas=yes", None, 400, "deltas"),
    "object without a text": ('/api/crew/stream?q={"query":"x","nope":1}', None, 400, "nope"),
    "not JSON": ("/api/crew/run", b"{nope", 400, "body"),
    "not an object": ("/api/crew/run", [1], 400, "body"),
    "half a surrogate": ("/api/crew/run", b'{"query": "\\ud800"}', 400, "body"),
    "not UTF-8 in a body": ("/api/crew/run", b'{"query": "\xff"}', 400, "body"),
    "missing query": ("/api/crew/run", {}, 400, "query"),
    "wrong type": ("/api/crew/run", {"query": 3}, 400, "query"),
    "unknown field": ("/api/crew/run", {"query": "x", "temperature": 1}, 400, "temperature"),
    "unknown role": ("/api/crew/run", {"query": "x", "history": [{"role": "tool", "content": "x"}]}, 400, "history[0].role"),
    "long history": ("/api/crew/run", {"query": "x", "history": [{"role": "user", "content": "x"}] * 1001}, 400, "history"),
    "large message": ("/api/crew/run", {"query": "x", "history": [{"role": "user", "content": "é" * 50_001}]}, 400, "history[0].content"),
    "control character in a history": ("/api/crew/run", {"query": "x", "history": [{"role": "user", "content": "\x07"}]}, 400, "history[0].content"),
    "large body": ("/api/crew/run", {"query": "x" * 1_100_000}, 413, "body"),
    "decision without a run": ("/api/crew/run", {"query": "x", "decision": "approve"}, 400, "decision"),
    "unknown page": ("/api/crew/nope", None, 404, "/api/crew/nope"),
    "wrong method": ("/api/crew/run", None, 405, "GET"),
    "bad status": ("/api/crew/runs?status=odd", None, 400, "status"),
    "bad limit": ("/api/crew/runs?limit=0", None, 400, "limit"),
    "unknown run's events": ("/api/crew/runs/nope/events", None, 404, "nope"),
    "unknown format": ("/metrics?format=xml", None, 400, "format"),
    "odd number": ("/api/crew/runs?limit=" + "9" * 5000, None, 400, "limit"),
    "odd flag": ("/api/crew?prompts=yes", None, 400, "prompts"),
    "prompts": ("/api/crew?prompts=1", None, 403, "show_prompts"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_requests_say_what_is_wrong(server: ServerProcess, name: str):
    """As problem+json with a detail that names the field; nothing is started."""
    path, body, status, said = BAD[name]
    with client(server) as http:
        before = http.get("/api/crew/runs", params={"limit": 500}).json()["runs"]
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        answer = (
            http.get(path) if body is None else http.post(path, content=content, headers=headers)
        )
        assert http.get("/api/crew/runs", params={"limit": 500}).json()["runs"] == before
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert said in problem["detail"]
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "q",
    ["{not json", '{"a": 1}', '{"query": 3}', "{", "tab\tand\nline", "x" * 10_000, "é" * 10_000],
)
def test_what_looks_odd_and_is_text(server: ServerProcess, q: str):
    """A query that begins with a brace but is no object with a query; white space; as long as allowed."""
    with client(server) as http:
        events = sse(http.get("/api/crew/stream", params={"q": q}).text)
        assert events[-1]["type"] == "done"
        assert http.get(f"/api/crew/runs/{events[0]['metadata']['run_id']}").json()["query"] == q


def test_an_object_in_q(server: ServerProcess):
    """Is taken like a body."""
    with client(server) as http:
        events = sse(
            http.get(
                "/api/crew/stream", params={"q": '{"query": "hi", "resume_agent_id": "b"}'}
            ).text
        )
    assert events[0]["metadata"]["entry_agent"] == "b"


def test_a_look_starts_nothing(server: ServerProcess):
    """HEAD, as link previewers send it."""
    with client(server) as http:
        before = http.get("/api/crew/runs").json()
        assert http.head("/api/crew/stream?q=x").status_code == 405
        assert http.get("/api/crew/runs").json() == before


def test_odd_hosts_and_origins_are_refused(server: ServerProcess):
    """Before anything is parsed."""
    host, port = server.url.removeprefix("http://").split(":")
    for header, status in (
        ("Host: [", 400),
        ("Host: a@127.0.0.1", 400),
        ("Host: 127.0.0.1/evil", 400),
        (f"Host: {host}:{port}\r\nOrigin: http://[bad", 403),
    ):
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            raw.sendall(f"GET /api/crew HTTP/1.1\r\n{header}\r\nConnection: close\r\n\r\n".encode())
            assert raw.recv(100).startswith(f"HTTP/1.1 {status} ".encode()), header


def test_a_form_is_not_taken(server: ServerProcess):
    """With what to send instead."""
    with client(server) as http:
        answer = http.post("/api/crew/run", data={"query": "x"})
    assert (answer.status_code, "application/json" in answer.json()["detail"]) == (415, True)


def test_the_crew_without_its_prompts(server: ServerProcess):
    """Agents, routing, limits."""
    with client(server) as http:
        told = http.get("/api/crew").json()
    assert [agent["id"] for agent in told["agents"]] == ["a", "b"]
    assert {"from": "a", "to": "b", "kind": "signal", "label": "[B]"} in told["routing"]
    assert told["limits"]["max_handoffs"] == 5
    assert "You are a" not in json.dumps(told)


def test_limits_and_prompts_are_as_configured(tmp_path: Path):
    """Of a query, of a body; prompts where they may be shown."""
    with (
        serving(
            crew(tmp_path, max_input_size_kb=0.01, max_request_body_size_kb=0.1, show_prompts=True)
        ) as server,
        client(server) as http,
    ):
        told = [
            http.post("/api/crew/run", json={"query": "x" * n}).status_code for n in (10, 11, 200)
        ]
        assert told == [200, 400, 413]
        assert "system_prompt" in http.get("/api/crew", params={"prompts": 1}).json()["agents"][0]


def test_cancelling(server: ServerProcess):
    """A run that would go on for ever; what has ended is a conflict."""
    with (
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "forever"}) as stream,
    ):
        live = lines(stream)
        run_id = next(live)["metadata"]["run_id"]
        with client(server) as other:
            assert other.post(f"/api/crew/runs/{run_id}/cancel").status_code == 202
        assert list(live)[-1]["metadata"]["reason"] == "cancelled"
        assert http.post(f"/api/crew/runs/{run_id}/cancel").status_code == 409
        assert http.post("/api/crew/runs/nope/cancel").status_code == 404


def test_metrics_count(tmp_path: Path):
    """Zero at start, every series there; after runs their numbers; nothing that users said; JSON too."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        before = http.get("/metrics")
        for name in (
            "crew_runs_total",
            "crew_tool_calls_total",
            "crew_handoffs_total",
            "crew_agent_turns_total",
            "crew_model_requests_total",
            "crew_stream_resumes_total",
        ):
            samples = re.findall(rf"^{name}{{.*}} (\S+)$", before.text, re.MULTILINE)
            assert samples, name
            assert set(samples) == {"0.0"}, name
        http.post("/api/crew/run", json={"query": "hi unmistakable"})
        http.post("/api/crew/run", json={"query": "ask"})
        after = http.get("/metrics").text
        numbers = http.get("/metrics", params={"format": "json"}).json()
    assert before.headers["content-type"].startswith("text/plain")
    for line in (
        'crew_runs_total{crew="test-crew",outcome="completed"} 1.0',
        'crew_handoffs_total{from="a",to="b",why="signal"} 1.0',
        'crew_tool_calls_total{outcome="success",tool="GetSystemInfo"} 1.0',
        'crew_agent_turns_total{agent="a",outcome="success"} 2.0',
        "crew_pauses_open 1.0",
        "crew_runs_active 0.0",
        "crew_config_last_reload_successful 1.0",
        'crew_model_requests_total{model="scripted",outcome="success",provider="scripted"} 4.0',
    ):
        assert line in after, line
    assert "unmistakable" not in after
    assert "process_resident_memory_bytes" in after
    assert numbers["crew_pauses_open"] == [{"labels": {}, "value": 1.0}]


def test_a_silent_stream_pings(tmp_path: Path):
    """Without an id, after so long without an event."""
    with (
        serving(crew(tmp_path, sse_keep_alive_seconds=0.1)) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "forever"}) as stream,
    ):
        live = lines(stream)
        kinds = [next(live) for _ in range(4)]
    assert [event["type"] for event in kinds] == ["start", "agent_start", "ping", "ping"]
    assert kinds[2]["id"] is None


def test_who_leaves_has_a_grace(tmp_path: Path):
    """A run goes on for a while without listeners, then it is cancelled; one who comes back in time keeps it alive."""
    with serving(crew(tmp_path, disconnect_grace_seconds=0.3)) as server, client(server) as http:
        with http.stream("GET", "/api/crew/stream", params={"q": "forever"}) as stream:
            run_id = next(lines(stream))["metadata"]["run_id"]
        assert until(server, run_id, "cancelled")["reason"] == "cancelled"
        with http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream:
            kept = next(lines(stream))["metadata"]["run_id"]
        assert [e["type"] for e in sse(http.get(f"/api/crew/runs/{kept}/events").text)][
            -1
        ] == "done"
        # who posts and leaves is a listener too
        with contextlib.suppress(httpx2.TimeoutException):
            http.post("/api/crew/run", json={"query": "forever and a day"}, timeout=0.5)
        posted = http.get("/api/crew/runs", params={"limit": 1}).json()["runs"][0]["run_id"]
        assert until(server, posted, "cancelled")["query"] == "forever and a day"


def test_the_grace_of_one_stretch_is_not_that_of_the_next(tmp_path: Path):
    """Who left before the pause has no say in what another one's answer began."""
    with serving(crew(tmp_path, disconnect_grace_seconds=0.6)) as server, client(server) as http:
        with http.stream("GET", "/api/crew/stream", params={"q": "ask slowly"}) as stream:
            run_id = next(lines(stream))["metadata"]["run_id"]
        until(server, run_id, "paused")
        http.post(f"/api/crew/runs/{run_id}/resume", json={"query": "slow"})
        assert until(server, run_id, "completed", "cancelled")["status"] == "completed"


def test_without_grace_a_run_goes_on(tmp_path: Path):
    """-1: to its end."""
    with serving(crew(tmp_path, disconnect_grace_seconds=-1)) as server, client(server) as http:
        with http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream:
            run_id = next(lines(stream))["metadata"]["run_id"]
        assert until(server, run_id, "completed")


def test_draining(tmp_path: Path):
    """SIGTERM: no new runs, but a run that can end does, and its stream with it; then the process goes, with 0."""
    with (
        serving(crew(tmp_path)) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream,
    ):
        live = lines(stream)
        next(live)
        server.process.send_signal(signal.SIGTERM)
        with client(server) as other:
            while (ready := other.get("/ready")).status_code == 200:
                continue
            assert (ready.status_code, ready.headers["retry-after"]) == (503, "5")
            refused = other.post("/api/crew/run", json={"query": "late"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert other.get("/health").status_code == 200
        assert [event["type"] for event in live][-1] == "done"
        assert server.process.wait(5) == 0


def test_what_cannot_end_is_left_for_the_next_process(tmp_path: Path):
    """Its stream gets a farewell and no `done`; the next start takes it up, and the reader comes back by its id."""
    folder = crew(tmp_path)
    with (
        serving(folder, CREW_DRAIN_SECONDS="0.2") as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "long"}) as stream,
    ):
        raw = stream.iter_text()
        text = next(raw)
        while "agent_start" not in text:
            text += next(raw)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        text += "".join(raw)
        assert server.process.wait(5) == 0
        assert time.monotonic() - began < 0.2 + 2
    assert text.rstrip().splitlines()[-1].startswith(": this server is going down")
    events = sse(text)
    assert [event["type"] for event in events] == ["start", "agent_start"]
    with serving(folder) as server, client(server) as http:
        rest = sse(http.get("/api/crew/stream", headers={"Last-Event-ID": events[-1]["id"]}).text)
    assert [event["type"] for event in rest] == WHOLE[2:]
    assert rest[0]["id"].endswith(":3")


def test_kill_9_loses_nothing(tmp_path: Path):
    """An accepted run goes on at the next start, from its last recorded step, with the same ids and bytes."""
    folder = crew(tmp_path)
    with (
        serving(folder) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream,
    ):
        live = lines(stream)
        seen = [next(live), next(live)]
        server.kill()
    with serving(folder) as server, client(server) as http:
        run_id = seen[0]["metadata"]["run_id"]
        whole = sse(http.get(f"/api/crew/runs/{run_id}/events").text)
    assert whole[:2] == seen
    assert [event["type"] for event in whole] == WHOLE
    assert [event["metadata"]["seq"] for event in whole] == list(range(1, len(WHOLE) + 1))


def test_a_second_signal_ends_at_once(tmp_path: Path):
    """And the run is still in the store."""
    folder = crew(tmp_path)
    with (
        serving(folder) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "forever"}) as stream,
    ):
        next(lines(stream))
        server.process.send_signal(signal.SIGTERM)
        with client(server) as other:
            while other.get("/ready").status_code == 200:
                continue
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(5)
    with serving(folder) as server, client(server) as http:
        assert http.get("/api/crew/runs").json()["runs"][0]["status"] == "running"


def test_a_reader_that_never_reads_is_cut_off_and_slows_nobody(tmp_path: Path):
    """Past 1,000 waiting events; the run ends all the same."""
    rules = [{"agent": "a", "say": "word " * 60_000 + "[B]"}, {"agent": "b", "say": "end"}]
    folder = write_crew(
        tmp_path / "crew", {"a": {}, "b": {"is_terminal": True}}, rules, routing=ROUTING
    )
    with serving(folder) as server, client(server) as http:
        host, port = server.url.removeprefix("http://").split(":")
        deaf = socket.create_connection((host, int(port)))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(
            f"GET /api/crew/stream?q=hi&deltas=1 HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        )
        deaf.recv(1)
        run = http.get("/api/crew/runs").json()["runs"][0]
        assert until(server, run["run_id"], "completed")["answer"] == "end"
        while "crew_stream_subscribers 1.0" in http.get("/metrics").text:
            continue
        deaf.close()


def test_strangers_need_a_token(tmp_path: Path):
    """By header, or in the URL for EventSource; the probes are open; nothing of it is logged."""
    token, other = "0123456789abcdef-one", "0123456789abcdef-two"
    with (
        serving(
            crew(tmp_path), CREW_API_TOKENS=f"{token},{other}", CREW_LOG_LEVEL="info"
        ) as server,
        client(server) as http,
    ):
        for path in (
            "/api/crew",
            "/api/crew/runs",
            "/metrics",
            "/api/crew/stream?q=x",
            "/api/crew/stream?q=x&access_token=wrong-wrong-wrong",
        ):
            refused = http.get(path)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), (
                path
            )
        for path in ("/health", "/ready", "/"):
            assert http.get(path).status_code == 200
        for key in (token, other):
            assert (
                http.get("/api/crew", headers={"Authorization": f"Bearer {key}"}).status_code == 200
            )
        assert http.get(f"/api/crew/stream?q=hush&access_token={token}").status_code == 200
        server.stop()
    text = server.log.read_text()
    assert "/api/crew/stream" in text
    assert token not in text
    assert "hush" not in text


def test_pages_of_other_sites_are_refused(server: ServerProcess):
    """Foreign origins, cross-site loads, and names that somebody pointed at this machine."""
    with client(server) as http:
        assert http.get("/api/crew", headers={"Origin": "http://evil.example"}).status_code == 403
        for site in ("cross-site", "same-site"):
            assert (
                http.get("/api/crew/stream?q=x", headers={"Sec-Fetch-Site": site}).status_code
                == 403
            )
        assert http.get("/api/crew", headers={"Origin": server.url}).status_code == 200
        assert http.get("/api/crew", headers={"Host": "evil.example"}).status_code == 421


def test_origins_can_be_allowed(tmp_path: Path):
    """For a front end that lives elsewhere."""
    with (
        serving(crew(tmp_path), CREW_CORS_ORIGINS="http://app.example") as server,
        client(server) as http,
    ):
        answer = http.get("/api/crew", headers={"Origin": "http://app.example"})
        asked = http.options(
            "/api/crew/run",
            headers={
                "Origin": "http://app.example",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type",
            },
        )
        assert answer.headers["access-control-allow-origin"] == "http://app.example"
        assert asked.status_code == 200
        assert http.get("/api/crew", headers={"Origin": "http://evil.example"}).status_code == 403


def test_log_lines_belong_to_their_request_and_run(tmp_path: Path):
    """JSON lines with request_id and run_id."""
    with serving(crew(tmp_path), CREW_LOG_LEVEL="info") as server, client(server) as http:
        events = sse(
            http.get(
                "/api/crew/stream", params={"q": "hi"}, headers={"X-Request-ID": "trace-me"}
            ).text
        )
        server.stop()
    told = [
        json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")
    ]
    mine = [
        line for line in told if line.get("request_id") == "trace-me" and "run" in line["message"]
    ]
    assert {line.get("run_id") for line in mine if line["logger"] == "crew.journal.events"} == {
        events[0]["metadata"]["run_id"]
    }
    assert (
        next(line["message"] for line in mine if line["logger"] == "crew.journal.events")
        == "run started"
    )


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (["--host", "0.0.0.0"], {}, "CREW_API_TOKENS"),
        ([], {"CREW_API_TOKENS": "short"}, "16 characters"),
        ([], {"CREW_API_TOKEN": "x"}, "did you mean CREW_API_TOKENS?"),
        ([], {"CREW_DATABASE_URL": "mysql://x"}, "mysql:…"),
        ([], {"CREW_DRAIN_SECONDS": "soon"}, "CREW_DRAIN_SECONDS"),
        ([], {"CREW_LOG_FORMAT": "xml"}, "text or json"),
        ([], {"CREW_CORS_ORIGINS": "*"}, "is no origin"),
        (["--provider", "openai"], {}, "OPENAI_API_KEY"),
    ],
)
def test_it_does_not_start_with_wrong_settings(
    tmp_path: Path, options: list[str], environment: dict[str, str], said: str
):
    """But says in one sentence what to do, and exits with 1."""
    ended = subprocess.run(
        [BIN / "crew", "serve", crew(tmp_path), "--port", "0", *options],
        capture_output=True,
        text=True,
        env=clean_environment(**environment),
        timeout=30,
    )
    assert ended.returncode == 2 - ("OPENAI" in said or "mysql" in said)
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken(tmp_path: Path, server: ServerProcess):
    """One sentence, before any run is taken up."""
    port = server.url.rpartition(":")[2]
    ended = subprocess.run(
        [BIN / "crew", "serve", crew(tmp_path), "--port", port],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=30,
    )
    assert (ended.returncode, "already in use" in ended.stderr) == (2, True)


def test_one_server_a_database(tmp_path: Path):
    """A second one says so."""
    folder = crew(tmp_path)
    server = start_server(folder)
    try:
        ended = subprocess.run(
            [BIN / "crew", "serve", folder, "--port", "0"],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=30,
        )
    finally:
        server.kill()
    assert ended.returncode == 2
    assert "SQLite is for one" in ended.stderr
