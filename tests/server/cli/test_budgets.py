"""Budgets of a real server and of commands: refusals, rights, and a process that is killed."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.crew.costs.test_budgets import PRICES, SAY, WRITER
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.model_server import completion, http, model_server
from tests.support.processes import client, serving

TOKENS = {"shop": "s" * 24, "desk": "d" * 24, "boss": "b" * 24}
SCOPES = {"shop": "read+run+answer", "desk": "read+run", "boss": "read+run+answer+admin"}
GIVEN = ",".join(f"{name}+{SCOPES[name]}:{value}" for name, value in TOKENS.items())


def crew_with(folder: Path, **budgets: Any) -> Path:
    """A scripted crew with budgets; a run uses 26 tokens."""
    models = {"large": {"provider": "scripted", "prices": PRICES}}
    return write_crew(folder, {"writer": WRITER}, SAY, models=models, budgets=budgets)


def test_what_a_server_refuses(tmp_path: Path):
    """402 with the time, a pause that only an admin answers, and what each token sees."""
    budgets = {
        "each": {"scope": "token", "per": "day", "calls": 2},
        "all": {"scope": "crew", "per": "day", "tokens": 100, "then": "pause"},
    }
    with serving(crew_with(tmp_path, **budgets), CREW_API_TOKENS=GIVEN) as server:

        def asking(name: str) -> Any:
            return client(server, headers={"Authorization": f"Bearer {TOKENS[name]}"})

        with asking("shop") as shop, asking("desk") as desk, asking("boss") as boss:
            for _ in range(2):
                done = shop.post("/api/crew/run", json={"query": "x"}).json()
                assert (done["status"], done["cost"]["usd"]) == ("completed", 0.04)
            refused = shop.post("/api/crew/run", json={"query": "x"})
            assert refused.status_code == 402
            body = refused.json()
            assert body["resets_at"].endswith("T00:00:00.000Z")
            assert 0 < int(refused.headers["retry-after"]) <= 86_400
            assert "budget each of shop: 2 calls of 2 calls used" in body["detail"]
            stream = shop.get("/api/crew/stream", params={"q": "x"})
            assert stream.status_code == 402
            pots = {one["budget"]: one for one in shop.get("/api/crew/budgets").json()["budgets"]}
            assert list(pots) == ["each"]
            assert desk.get("/api/crew/budgets").json()["budgets"] == []
            paused = desk.post("/api/crew/run", json={"query": "x"}).json()
            assert paused["status"] == "paused"
            shown = desk.get(f"/api/crew/runs/{paused['run_id']}").json()
            assert shown["waiting"]["question"] == "budget"
            assert shown["waiting"]["budget"]["name"] == "all"
            decisions = [
                {"call_id": "budget", "decision": "approve", "arguments": {"tokens": 50}},
            ]
            address = f"/api/crew/runs/{paused['run_id']}/resume"
            denied = desk.post(address, json={"decisions": decisions})
            assert denied.status_code == 403
            assert boss.post(address, json={"decision": "approve"}).status_code == 400
            assert boss.post(address, json={"decisions": decisions}).status_code == 202
            ended = boss.get(f"/api/crew/runs/{paused['run_id']}/events", params={"after": 0}).text
            assert '"reason":"terminal"' in ended
            path = "/api/crew/budgets/each/shop"
            assert shop.post(path, json={"add_tokens": 5}).status_code == 403
            assert boss.post(path, json={}).status_code == 400
            assert boss.post("/api/crew/budgets/each/nix", json={"add_usd": 1}).status_code == 404
            wrong = boss.post("/api/crew/budgets/all/-", json={"add_usd": 1})
            assert (wrong.status_code, "no limit of this kind" in wrong.text) == (400, True)
            added = boss.post("/api/crew/budgets/all/-", json={"add_tokens": 1000}).json()
            assert added["limit"]["tokens"] == 1150
            assert desk.post("/api/crew/run", json={"query": "x"}).json()["status"] == "completed"
            bounded = boss.post("/api/crew/run", json={"query": "x", "max_usd": 0.01}).json()
            assert (bounded["status"], bounded["reason"]) == ("failed", "budget")
            metrics = boss.get("/metrics").text
            assert 'crew_budget_refused_total{budget="all",then="pause"} 1.0' in metrics
            assert 'crew_budget_used_ratio{budget="each"} 1.0' in metrics
            assert 'crew_cost_usd_total{agent_id="writer"' in metrics or "crew_cost_usd" in metrics


def test_a_killed_server_leaves_its_reservations(tmp_path: Path):
    """To the next one, which goes on with the run: lost ones count as they were estimated."""

    async def reply(request: dict[str, Any]) -> bytes:
        if len(models[0].asked) == 1:
            reached.set()
            await asyncio.Event().wait()
        return http(200, completion())

    async def go() -> None:
        async with model_server(lambda request: reply(request)) as model:
            models.append(model)
            folder = write_crew(
                tmp_path,
                {"a": {"model": "m", "provider": "gw", "is_terminal": True, "max_tokens": 50}},
                providers={"gw": {"base_url": model.url}},
                models={"m": {"provider": "gw", "prices": {"input": 1, "output": 2}}},
                budgets={"day": {"scope": "crew", "per": "day", "usd": 1, "reserve": "worst"}},
            )
            await asyncio.to_thread(start_and_kill, folder)
            await asyncio.to_thread(finish, folder)

    def start_and_kill(folder: Path) -> None:
        with serving(folder) as server, client(server) as asking:
            asking.post("/api/crew/runs", json={"query": "x"})
            loop.call_soon_threadsafe(lambda: None)
            asyncio.run_coroutine_threadsafe(reached.wait(), loop).result(30)
            server.kill()

    def finish(folder: Path) -> None:
        with serving(folder) as server, client(server) as asking:
            (run,) = asking.get("/api/crew/runs").json()["runs"]
            ended = asking.get(f"/api/crew/runs/{run['run_id']}/events").text
            assert '"reason":"terminal"' in ended
        (pot,) = [json.loads(one) for one in crew("budgets", folder, "--json").stdout.splitlines()]
        assert pot["reserved"] == {"usd": 0.0, "tokens": 0, "calls": 0}
        assert pot["used"]["calls"] == 2
        costs = json.loads(crew("costs", folder, "--json").stdout)["total"]
        assert (costs["calls"], costs["cost"]["estimated"]) == (2, 1)
        assert costs["usage"]["output"] == 50 + 5

    models: list[Any] = []
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        reached = asyncio.Event()
        runner.run(go())


def test_a_paused_command_says_how_to_go_on(tmp_path: Path):
    folder = crew_with(
        tmp_path, today={"scope": "crew", "per": "day", "tokens": 60, "then": "pause"}
    )
    assert crew("run", folder, "x").returncode == 0
    paused = crew("run", folder, "x")
    assert paused.returncode == 3
    assert """--call 'writer/budget=approve={"tokens": 5000}'""" in paused.stderr
    line = crew("budgets", folder).stdout
    assert line.startswith("today: 43% used: 26 of 60 tokens")
    more = crew("run", folder, "--answer", "last", "--call", 'budget=approve={"tokens": 60}')
    assert more.returncode == 0, more.stderr
    assert crew("budgets", folder).stdout.startswith("today: 43% used: 52 of 120 tokens")
    ended = crew("run", folder, "x", "--json")
    assert ended.returncode in (0, 3)


def test_mistakes_have_their_line(tmp_path: Path):
    """And their remedy: each is found before anything starts."""
    cases = {
        "{ scope: crew, per: day }": "give a limit: usd, tokens or calls",
        "{ scope: run, per: day, usd: 1 }": "a run has one pot",
        "{ scope: user, usd: 1 }": "give `per`",
        "{ scope: crew, per: day, usd: 0 }": "greater than or equal to 0.000000001",
        "{ scope: crew, per: day, usd: 1, agents: [nix] }": "nix",
        "{ scope: hook, per: day, calls: 1 }": "crew.yaml has no hooks",
        "{ scope: conversation, per: day, calls: 1 }": "crew.yaml has no conversations",
        "{ scope: crew, per: day, usd: 1, then: { model: nix } }": "models has no 'nix'",
        "{ scope: crew, per: day, usd: 1, then: { model: large } }": "no lower known price",
        "{ scope: crew, per: day, usd: 1, warn: [80] }": "write a part of the limit",
        "{ scope: crew, per: day, usd: 1, models: [nix] }": "no agent has the model 'nix'",
    }
    folder = crew_with(tmp_path)
    text = (folder / "crew.yaml").read_text().replace("budgets: {}\n", "")
    for budget, said in cases.items():
        (folder / "crew.yaml").write_text(f"{text}\nbudgets:\n  one: {budget}\n")
        ended = crew("validate", folder)
        assert ended.returncode == 1, budget
        assert said in ended.stdout, (budget, ended.stdout)
        number = len(text.splitlines()) + 3
        assert f"crew.yaml:{number}:" in ended.stdout, (budget, ended.stdout)


def test_what_a_person_gives_is_in_the_audit(tmp_path: Path):
    """And in why; the question is in words, and another model may answer."""
    small = {"provider": "scripted", "prices": {"input": 1, "output": 2}}
    models = {"large": {"provider": "scripted", "prices": PRICES}, "small": small}
    budgets = {"one": {"scope": "run", "usd": 0.01, "then": "pause"}}
    folder = write_crew(tmp_path, {"writer": WRITER}, SAY, models=models, budgets=budgets)
    for given, detail in (({"model": "small"}, "model:small"), ({"usd": 0.5}, "usd:0.5")):
        paused = crew("run", folder, "x")
        assert "? spend more? budget one of" in paused.stdout
        assert '{"budget"' not in paused.stdout
        decision = f"writer/budget=approve={json.dumps(given)}"
        done = crew("answer", "last", "", folder, "--call", decision)
        assert done.returncode == 0, done.stderr
        newest = json.loads(crew("audit", folder, "--json").stdout.splitlines()[0])
        assert (newest["action"], newest["detail"]) == ("answer", f"budget=approve {detail}")
        assert f"approve budget of writer {detail}, by" in crew("why", folder, "last").stdout


def test_a_name_that_no_agent_has_is_not_suggested(tmp_path: Path):
    models = {"large": {"provider": "scripted"}, "zebra": {"provider": "scripted"}}
    budgets = {"day": {"scope": "crew", "per": "day", "calls": 1, "models": ["zebra"]}}
    folder = write_crew(tmp_path, {"writer": WRITER}, SAY, models=models, budgets=budgets)
    shown = crew("validate", folder)
    assert "budget-never" in shown.stdout + shown.stderr
    assert "did you mean 'zebra'" not in shown.stdout + shown.stderr


def test_another_model_with_a_smaller_window(tmp_path: Path):
    """Is an error also where the usual window is that of the agent's own model."""
    small = {"provider": "scripted", "prices": {"input": 1, "output": 2}, "context_window": 1000}
    models = {"large": {"provider": "scripted", "prices": PRICES}, "small": small}
    budgets = {"one": {"scope": "run", "usd": 0.01, "then": {"model": "small"}}}
    ended = crew(
        "validate", write_crew(tmp_path, {"writer": WRITER}, SAY, models=models, budgets=budgets)
    )
    assert "small has a smaller context_window than large of writer" in ended.stdout
