"""What a server takes and refuses; what it shows of the crew; metrics."""

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import (
    ServerProcess,
    client,
    serving,
    sse,
)
from tests.support.served_crew import crew

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
    "agent that clients may not name": ("/api/crew/stream?q=x&resume_agent_id=a", None, 403, "resume_agent_id"),
    "bad deltas": ("/api/crew/stream?q=x&deltas=yes", None, 400, "deltas"),
    "object without a text": ('/api/crew/stream?q={"query":"x","nope":1}', None, 400, "nope"),
    "not JSON": ("/api/crew/run", b"{nope", 400, "body"),
    "a key twice": ("/api/crew/run", b'{"query": "x", "query": "y"}', 400, "key twice"),
    "a key twice in q": ('/api/crew/stream?q={"query":"x","query":"y"}', None, 400, "key twice"),
    "deep": ("/api/crew/run", b'{"query": ' + b"[" * 500, 400, "nested"),
    "many keys": ("/api/crew/run", b"{" + b",".join(b'"%d":1' % n for n in range(50_000)) + b"}", 400, "keys and items"),
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
    "large body": ("/api/crew/run", {"query": "x" * 10_300_000}, 413, "body"),
    "decision without a run": ("/api/crew/run", {"query": "x", "decision": "approve"}, 400, "decision"),
    "unknown page": ("/api/crew/nope", None, 404, "/api/crew/nope"),
    "wrong method": ("/api/crew/run", None, 405, "GET"),
    "bad status": ("/api/crew/runs?status=odd", None, 400, "status"),
    "bad limit": ("/api/crew/runs?limit=0", None, 400, "limit"),
    "unknown run's events": ("/api/crew/runs/nope/events", None, 404, "nope"),
    "a blank query": ("/api/crew/runs", {"query": " \t\u200b"}, 400, "no words"),
    "a blank question": ("/api/crew/stream?q=%20", None, 400, "no words"),
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
        # JSON with a name of its own, such as that of A2A
        headers = {"Content-Type": "application/a2a+json; charset=utf-8"}
        taken = http.post("/api/crew/run", content=b'{"query": "x"}', headers=headers)
        assert taken.status_code == 200


def test_the_crew_without_its_prompts(server: ServerProcess):
    """Agents, routing, limits."""
    with client(server) as http:
        received = http.get("/api/crew").json()
    assert [agent["id"] for agent in received["agents"]] == ["a", "b"]
    assert {"from": "a", "to": "b", "kind": "signal", "label": "[B]"} in received["routing"]
    assert received["limits"]["max_handoffs"] == 5
    assert "You are a" not in json.dumps(received)


def test_limits_and_prompts_are_as_configured(tmp_path: Path):
    """Of a query, of a body; prompts where they may be shown."""
    with (
        serving(
            crew(tmp_path, max_input_size_kb=0.01, max_request_body_size_kb=0.1, show_prompts=True)
        ) as server,
        client(server) as http,
    ):
        received = [
            http.post("/api/crew/run", json={"query": "x" * n}).status_code for n in (10, 11, 200)
        ]
        assert received == [200, 400, 413]
        assert "system_prompt" in http.get("/api/crew", params={"prompts": 1}).json()["agents"][0]


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


def test_strangers_need_a_token(tmp_path: Path):
    """The probes are open, and nothing else; nothing of it is logged."""
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
            "/",
            "/console/console.js",
        ):
            refused = http.get(path)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), (
                path
            )
        for path in ("/health", "/ready"):
            assert http.get(path).status_code == 200
        for key in (token, other):
            assert (
                http.get("/api/crew", headers={"Authorization": f"Bearer {key}"}).status_code == 200
            )
        shown = {"Authorization": f"Bearer {token}"}
        assert http.get("/api/crew/stream?q=hush", headers=shown).status_code == 200
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


def test_a_body_is_bounded_unless_the_crew_says_so(server: ServerProcess):
    """10.24 MB."""
    with client(server) as http:
        for size, status in ((10_240_000, 400), (10_240_001, 413)):
            content = b'{"query": "' + b"x" * (size - 13) + b'"}'
            answer = http.post(
                "/api/crew/run", content=content, headers={"Content-Type": "application/json"}
            )
            assert (len(content), answer.status_code) == (size, status)
