"""Whose a run is, in which order runs are at work, and how many may be."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, status
from tests.support.postgres import needs_postgres
from tests.support.processes import client, serving, until

SHOP, OPS = "shop-0123456789abcdef", "ops-0123456789abcdef"
TOKENS = f"shop:{SHOP},ops@9:{OPS}"
RULES: list[dict[str, Any]] = [
    {"hears": "slow", "say": "late", "delay_seconds": 3600},
    {"say": "done"},
]


def crew(folder: Path, **settings: float) -> Path:
    limits = {"timeout_seconds": 7200, **settings}
    return write_crew(folder, {"a": {"is_terminal": True}}, RULES, settings=limits)


def as_(http: httpx2.Client, token: str) -> httpx2.Client:
    http.headers["Authorization"] = f"Bearer {token}"
    return http


def test_a_token_says_whose_run_it_is(tmp_path: Path):
    """And up to which priority."""
    with (
        serving(crew(tmp_path / "crew"), CREW_API_TOKENS=TOKENS) as server,
        client(server) as one,
        client(server) as other,
    ):
        shop, ops = as_(one, SHOP), as_(other, OPS)
        made = shop.post("/api/crew/run", json={"query": "x"}).json()["run_id"]
        row = shop.get(f"/api/crew/runs/{made}").json()
        assert (row["owner"], row["priority"]) == ("shop", 5)
        refused = shop.post("/api/crew/run", json={"query": "x", "priority": 6})
        assert refused.status_code == 403
        assert refused.json()["detail"] == "priority: at most 5 with this token"
        made = ops.post("/api/crew/run", json={"query": "x", "priority": 9}).json()["run_id"]
        row = ops.get(f"/api/crew/runs/{made}").json()
        assert (row["owner"], row["priority"]) == ("ops", 9)
        for wrong in ("10", "x", "-1"):
            asked = ops.get("/api/crew/stream", params={"q": "x", "priority": wrong})
            assert asked.status_code == 400
        # each has keys of its own
        key = {"Idempotency-Key": "one"}
        ids = [one.post("/api/crew/run", json={"query": "x"}, headers=key) for one in (shop, ops)]
        assert len({one.json()["run_id"] for one in ids}) == 2
        answer = {"query": "x", "run_id": made, "priority": 1}
        assert ops.post("/api/crew/run", json=answer).status_code == 400


@pytest.mark.parametrize(
    "tokens", ["a b:0123456789abcdef", "x@10:0123456789abcdef", ":0123456789abcdef"]
)
def test_a_token_that_cannot_be_read_is_not_shown(tmp_path: Path, tokens: str):
    """What stands before the colon may be a part of it."""
    with (
        pytest.raises(AssertionError, match="the server did not start") as told,
        serving(crew(tmp_path / "crew"), CREW_API_TOKENS=tokens),
    ):
        pass
    assert "NAME:TOKEN" in str(told.value)
    assert tokens not in str(told.value)
    assert tokens.partition(":")[2] not in str(told.value)


def test_two_owners_do_not_share_a_token(tmp_path: Path):
    """One of them would be the other."""
    tokens = f"a:{SHOP},b:{SHOP}"
    with (
        pytest.raises(AssertionError, match="two of them are the same token"),
        serving(crew(tmp_path / "crew"), CREW_API_TOKENS=tokens),
    ):
        pass


def test_a_run_waits_for_its_turn(tmp_path: Path):
    """Its time does not run; more than may wait are refused."""
    folder = crew(tmp_path / "crew", max_concurrent_runs=1, max_waiting_runs_per_owner=1)
    with serving(folder) as server, client(server) as http:
        first, second = begin(http, "slow"), begin(http)
        until(lambda: "crew_runs_waiting 1.0" in http.get("/metrics").text)
        refused = http.post("/api/crew/run", json={"query": "x"})
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
        assert "settings.max_waiting_runs_per_owner" in refused.json()["detail"]
        http.post(f"/api/crew/runs/{first}/cancel")
        until(lambda: status(http, second) == "completed")
        until(lambda: "crew_runs_waiting 0.0" in http.get("/metrics").text)


def test_an_owner_stores_so_much(tmp_path: Path):
    """Beyond it nothing more is started for it; others, and what it has, go on."""
    folder = crew(tmp_path / "crew", max_stored_mb_per_owner=0.005)
    with (
        serving(folder, CREW_API_TOKENS=TOKENS) as server,
        client(server) as one,
        client(server) as other,
    ):
        shop, ops = as_(one, SHOP), as_(other, OPS)
        made = shop.post("/api/crew/run", json={"query": "x" * 5000}).json()["run_id"]
        # it is counted now and then
        until(lambda: shop.post("/api/crew/run", json={"query": "x"}).status_code == 429)
        refused = shop.post("/api/crew/runs", json={"query": "x"})
        assert "settings.max_stored_mb_per_owner" in refused.json()["detail"]
        assert ops.post("/api/crew/run", json={"query": "x"}).status_code == 200
        assert shop.get(f"/api/crew/runs/{made}").status_code == 200


def test_the_runs_of_all_owners_are_bounded_too(tmp_path: Path):
    """Whose run it is does not matter then."""
    folder = crew(tmp_path / "crew", max_concurrent_runs=1, max_waiting_runs=1)
    with serving(folder) as server, client(server) as http:
        begin(http, "slow")
        begin(http)
        until(lambda: "crew_runs_waiting 1.0" in http.get("/metrics").text)
        refused = http.post("/api/crew/run", json={"query": "x"})
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert "settings.max_waiting_runs)" in refused.json()["detail"]


@needs_postgres
def test_the_runs_of_all_owners_are_bounded_on_all_machines(fleet: Fleet):
    """Counted in the database, now and then."""
    crew(fleet.folder, max_concurrent_runs=1, max_waiting_runs=2)
    http = fleet.replica()
    fleet.worker()
    begin(http, "slow")

    def is_refused() -> bool:
        with http.stream("POST", "/api/crew/stream", json={"query": "x"}) as stream:
            return stream.status_code == 503

    for _ in range(3):
        begin(http)
    until(is_refused)


def test_a_run_that_waits_outlives_its_server(tmp_path: Path):
    """And is cancelled at once."""
    folder = crew(tmp_path / "crew", max_concurrent_runs=1)
    with serving(folder) as server, client(server) as http:
        begin(http, "slow")
        second, third = begin(http), begin(http)
        http.post(f"/api/crew/runs/{third}/cancel")
        until(lambda: status(http, third) == "cancelled")
        server.kill()
    crew(tmp_path / "crew")
    with serving(folder) as server, client(server) as http:
        until(lambda: status(http, second) == "completed")


@needs_postgres
def test_no_more_are_at_work_than_may_be_over_all_machines(fleet: Fleet):
    """Of one owner; those of another go on."""
    crew(fleet.folder, max_concurrent_runs_per_owner=2, max_waiting_runs_per_owner=4)
    shop = as_(fleet.replica(CREW_API_TOKENS=TOKENS), SHOP)
    workers = [fleet.stack.enter_context(client(fleet.worker())) for _ in range(2)]
    for _ in range(4):
        begin(shop, "slow")

    def active() -> float:
        metrics = [worker.get("/metrics", params={"format": "json"}).json() for worker in workers]
        return sum(float(one["crew_runs_active"][0]["value"]) for one in metrics)

    until(lambda: active() == 2)
    for _ in range(2):
        begin(shop, "slow")
    assert shop.post("/api/crew/run", json={"query": "x"}).status_code == 429
    shop.headers["Authorization"] = f"Bearer {OPS}"
    made = begin(shop)
    until(lambda: status(shop, made) == "completed")
    assert active() == 2


@needs_postgres
def test_replicas_keep_to_a_limit_together(fleet: Fleet):
    """Though each does not count for every start: what one leaves, the others do not use twice."""
    crew(fleet.folder, max_waiting_runs_per_owner=40)
    replicas = [fleet.replica() for _ in range(2)]
    begin(replicas[0])
    accepted = 1
    for http in reversed(replicas):
        while http.post("/api/crew/runs", json={"query": "x"}).status_code == 202:
            accepted += 1
            assert accepted <= 40
    assert accepted == 40
