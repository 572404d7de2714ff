"""Runs over HTTP: a stream, a document, pauses, reconnects, cancelling."""

import re

from tests.support.processes import (
    ServerProcess,
    client,
    sse,
)
from tests.support.served_crew import WHOLE, lines, until_status


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
        "cost",
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
        "agent_id",
        "started_at",
        "ended_at",
        "paused_agent_id",
        "paused_until",
        "asks",
        "user_id",
        "conversation_id",
        "exchange",
        "source",
        "source_name",
        "revision",
        "tools",
        "usage",
        "cost",
        "duration_seconds",
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
    """By POST, and by a stream; the first wins; the stream of an answer is its own segment only."""
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
        assert [event["type"] for event in second] == [WHOLE[0], "answered", *WHOLE[1:]]
        assert second[0]["id"] == f"{run_id}:{len(first) + 1}"
        assert second[0]["metadata"]["resumed"] is True
        whole = sse(http.get(f"/api/crew/runs/{run_id}/events").text)
        assert [event["id"] for event in whole] == [event["id"] for event in first + second]
        late = http.post(f"/api/crew/runs/{run_id}/resume", json={"query": "more"})
        assert (late.status_code, late.headers["content-type"]) == (409, "application/problem+json")
        paused = http.post("/api/crew/run", json={"query": "ask"}).json()
        address = f"/api/crew/runs/{paused['run_id']}/resume"
        decided = http.post(address, json={"decision": "approve"})
        assert (decided.status_code, decided.json()["errors"][0]["field"]) == (400, "decision")
        assert "asks for words" in decided.json()["detail"]
        accepted = http.post(f"/api/crew/runs/{paused['run_id']}/resume", json={"query": "more"})
        assert (accepted.status_code, accepted.headers["location"]) == (
            202,
            f"/api/crew/runs/{paused['run_id']}",
        )
    assert until_status(server, paused["run_id"], "completed")["answer"] == "Xong: kết quả ✅"


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
        # an Arabic 1
        odd = {"after": f"{run_id}:\u0661"}
        assert http.get(f"/api/crew/runs/{run_id}/events", params=odd).status_code == 400
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
