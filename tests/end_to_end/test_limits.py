"""How much a server takes on: requests, streams, and runs while it has too much to do."""

from pathlib import Path

from tests.support.crews import write_crew
from tests.support.processes import client, serving, until
from tests.support.served_crew import crew

ONE, OTHER = "one-0123456789abcdef", "other-0123456789abcdef"
TOKENS = f"one:{ONE},other:{OTHER}"


def as_(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_requests_of_a_token_and_of_an_address(tmp_path: Path):
    """A sixth of a minute's at once; probes do not count."""
    with serving(crew(tmp_path), CREW_API_TOKENS=TOKENS, CREW_REQUESTS_PER_MINUTE="60") as server:
        with client(server) as http:
            for _ in range(20):
                assert http.get("/health").status_code == 200
            answers = [http.get("/api/crew", headers=as_(ONE)) for _ in range(30)]
            refused = next(answer for answer in answers if answer.status_code != 200)
            assert refused.status_code == 429
            assert refused.headers["Retry-After"] == "1"
            assert "60 requests a minute" in refused.json()["detail"]
            # this address has had its own
            assert http.get("/api/crew", headers=as_(OTHER)).status_code == 429
            assert http.get("/health").status_code == 200
            assert http.get("/ready").status_code == 200


def test_a_proxy_is_many_addresses(tmp_path: Path):
    """Each client behind it has its own; a token counts from wherever it comes."""
    settings = {
        "CREW_API_TOKENS": TOKENS,
        "CREW_REQUESTS_PER_MINUTE": "60",
        "CREW_TRUSTED_PROXIES": "127.0.0.1",
    }
    with serving(crew(tmp_path), **settings) as server, client(server) as http:

        def ask(token: str, address: str) -> int:
            headers = {**as_(token), "X-Forwarded-For": address}
            return http.get("/api/crew", headers=headers).status_code

        assert 429 in [ask(ONE, f"10.0.0.{n}") for n in range(30)]
        assert ask(OTHER, "10.0.0.200") == 200
        assert 429 in [ask("wrong", "10.0.0.99") for _ in range(30)]
        metrics = http.get("/metrics", headers={**as_(OTHER), "X-Forwarded-For": "10.0.1.1"}).text
        assert 'crew_refused_requests_total{reason="rate"} 0.0' not in metrics


def test_streams_of_a_token(tmp_path: Path):
    """A further one is refused, and starts nothing; a closed one makes room."""
    settings = {"CREW_API_TOKENS": TOKENS, "CREW_MAX_STREAMS_PER_TOKEN": "1"}
    rules = [{"hears": "slow", "say": "late", "delay_seconds": 3600}, {"say": "x"}]
    folder = write_crew(tmp_path / "crew", {"a": {}}, rules)
    with serving(folder, **settings) as server, client(server) as http:
        stream = "/api/crew/stream"
        with http.stream("POST", stream, json={"query": "slow"}, headers=as_(ONE)) as first:
            assert first.status_code == 200
            refused = http.post(stream, json={"query": "x"}, headers=as_(ONE))
            assert refused.status_code == 429
            assert "1 streams of this token" in refused.json()["detail"]
            runs = http.get("/api/crew/runs", headers=as_(ONE)).json()["runs"]
            assert len(runs) == 1
            followed = http.get(f"/api/crew/runs/{runs[0]['run_id']}/events", headers=as_(ONE))
            assert followed.status_code == 429
            assert http.post(stream, json={"query": "x"}, headers=as_(OTHER)).status_code == 200
            assert http.post("/api/crew/run", json={"query": "x"}, headers=as_(ONE)).is_success
        until(lambda: http.post(stream, json={"query": "x"}, headers=as_(ONE)).status_code == 200)
