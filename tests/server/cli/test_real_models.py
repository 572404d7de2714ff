"""`crew test --model`: real models answer in place of `says`, over real HTTP."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.forked import crew
from tests.support.model_server import Reply, completion, http, model_server
from tests.support.rehearsed import rehearse, repair_crew

WEB = {"tool": "restart", "arguments": {"service": "web"}}
CASE = {
    "name": "broken",
    "query": "It is broken",
    "env": {"FAR_KEY": "a-word-in-its-place"},
    "says": {"desk": ["For Fay. [FIX]"], "fixer": [{"calls": [WEB]}, "It is done"]},
    "returns": {"restart": "restarted"},
    "answers": [{"approve": True}],
    "expect": {
        "path": ["desk", {"fixer": "[FIX]"}, "pause", "end"],
        "calls": [WEB],
        "judge": [{"says": "it was restarted", "model": "small"}],
    },
}


def model(services: list[str], judged: bool = True) -> Reply:
    """A model that restarts these services, play by play; the last one again and again."""
    left = list(services)

    def reply(body: dict[str, Any]) -> bytes:
        words = json.dumps(body["messages"])
        if "You judge whether" in words:
            assert "It is done: restarted" in words
            return http(200, completion(json.dumps({"reason": "so it says", "holds": judged})))
        if '"role": "tool"' in words:
            return http(200, completion("It is done: restarted"))
        if "restart" not in {one["function"]["name"] for one in body.get("tools", ())}:
            return http(200, completion("For Fay. [FIX]"))
        service = left.pop(0) if len(left) > 1 else left[0]
        return http(200, completion(None, calls=[("restart", {"service": service})]))

    return reply


async def command(
    folder: Path, reply: Reply, *options: Any, case: Any = CASE, price: float = 0.0
) -> tuple[Any, list[dict[str, Any]], list[str]]:
    """`crew test` of a crew with a real model: how it ends, what the model was sent, its headers."""
    async with model_server(reply) as server:
        provider = {"base_url": server.url, "api_key": "${FAR_KEY}"}
        small = {"provider": "far", "model": "served"}
        repair_crew(folder, providers={"far": provider}, models={"small": small})
        keys = ("input_token_price_per_million", "output_token_price_per_million")
        for path in sorted((folder / "agents").iterdir()) if price else ():
            limits = yaml.safe_dump({"cost_limits": dict.fromkeys(keys, price)})
            path.write_text(path.read_text() + limits)
        rehearse(folder, case)
        key = "the-key-of-this-process"
        ended = await asyncio.to_thread(crew, "test", folder, *options, FAR_KEY=key)
        return ended, server.asked, server.headers


def documents(ended: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The one rehearsal, and the summary."""
    one, summary = map(json.loads, ended.stdout.splitlines())
    return one, summary["summary"]


async def test_a_rate_with_its_interval(tmp_path: Path):
    """And where failing plays leave the passing ones; the judge has a say; the process's own key is used."""
    reply = model(["web", "database", "web", "database", "web", "web", "web", "web", "web", "web"])
    options = ("--model", "small", "--times", 10, "--max-tokens", 100_000, "--jobs", 1)
    ended, asked, headers = await command(tmp_path, reply, *options)
    assert ended.returncode == 1, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("✗ tests/a.yaml::broken  8 of 10 pass (80%; 54% to 93%)  ")
    database, web = (
        f'pause for approval on restart({{"service":"{one}"}})' for one in ("database", "web")
    )
    assert lines[1] == f"    step 2: {database}, in 2 failing; {web}, in passing ones"
    assert lines[2].startswith('    2 × calls  restart({"service":"web"}) does not occur')
    assert lines[3].startswith("8 of 10 plays of 1 rehearsals pass with small; ")
    # desk, fixer twice, the judge
    assert len(asked) == 40
    assert {one["model"] for one in asked} == {"served"}
    assert all("the-key-of-this-process" in one for one in headers)
    enough = await command(tmp_path, model(["web", "database"]), *options, "--min-pass", 0.1)
    assert enough[0].returncode == 0


async def test_a_judge_says_no(tmp_path: Path):
    options = ("--model", "far/served", "--max-tokens", 100_000, "--json")
    ended, _, _ = await command(tmp_path, model(["web"], judged=False), *options)
    one, summary = documents(ended)
    assert (one["passed"], one["plays"], one["model"]) == (0, 1, "far/served")
    (problem,) = one["problems"]
    assert problem["text"] == "small says that it is not so: it was restarted (so it says)"
    assert problem["source"] == "tests/a.yaml:30"
    assert summary["passed"] == 0


async def test_the_money_bounds_it(tmp_path: Path):
    """A request that might cost more than is left is not made; the plays before it count."""
    # the server says 15 tokens of each request; a play without the judge has three
    case = {**CASE, "expect": {"end": "terminal"}}
    options = ("--model", "small", "--times", 20, "--jobs", 1, "--json")
    # what a request may cost is about 1,100 tokens
    ended, asked, _ = await command(
        tmp_path, model(["web"]), *options, "--max-usd", 0.0015, case=case, price=1.0
    )
    one, summary = documents(ended)
    assert ended.returncode == 1
    assert "the money was spent before all was played" in ended.stderr
    assert 0 < one["plays"] < 20
    assert summary["is_over"]
    assert 0.0003 < summary["usd"] <= 0.0015
    assert summary["usd"] == pytest.approx(15e-6 * len(asked))
    none, _, _ = await command(tmp_path, model(["web"]), *options, "--max-usd", 0.1, case=case)
    assert none.returncode == 2
    assert "agent desk has no price, so --max-usd cannot hold" in none.stderr


async def test_compared_with_an_earlier_one(tmp_path: Path):
    """A difference is said only where the intervals have nothing in common."""
    options = ("--model", "small", "--times", 12, "--max-tokens", 100_000, "--json")
    before = tmp_path / "before.jsonl"
    ended, _, _ = await command(tmp_path / "crew", model(["web"]), *options)
    before.write_text(ended.stdout)
    more = (*options, "--baseline", before)
    same, _, _ = await command(tmp_path / "crew", model(["database", "web"]), *more)
    assert documents(same)[0]["baseline"] == {
        "model": "small",
        "passed": 12,
        "plays": 12,
        "now": "cannot say",
    }
    worse, _, _ = await command(tmp_path / "crew", model(["database"]), *more)
    assert documents(worse)[0]["baseline"]["now"] == "worse"
    before.write_text("what is this\n")
    wrong, _, _ = await command(tmp_path / "crew", model(["web"]), *more)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "is not what crew test --model --json has printed" in wrong.stderr


async def test_what_is_not_played_by_a_real_model(tmp_path: Path):
    options = ("--model", "own", "--max-tokens", 1000)
    ended, asked, _ = await command(
        tmp_path, model(["web"]), *options, case={**CASE, "skip": "not yet"}
    )
    assert (ended.returncode, asked) == (5, [])
    assert "- tests/a.yaml::broken  not yet" in ended.stdout


def test_wrong_options(tmp_path: Path):
    """A bound is needed; what says nothing about real models is refused."""
    repair_crew(tmp_path)
    rehearse(tmp_path, CASE | {"expect": {"end": "terminal"}})
    wrong: list[tuple[tuple[str, ...], str]] = [
        (("--model", "small"), "give --max-usd, or --max-tokens"),
        (("--model", "nix", "--max-tokens", "5"), "there is no model 'nix'"),
        (("--model", "small", "--max-tokens", "5", "--mutants"), "does not go with --model"),
        (("--times", "3"), "it goes with --model"),
    ]
    for options, text in wrong:
        ended = crew("test", tmp_path, *options)
        assert ended.returncode == 2, options
        assert text in " ".join(ended.stderr.replace("│", " ").split())


@pytest.mark.parametrize("judge", [{"says": "it is so", "model": "nix"}])
def test_a_judge_that_is_not_there(tmp_path: Path, judge: Any):
    """An error with its line, also without a model; a judge alone says nothing there."""
    folder = repair_crew(tmp_path)
    suite = rehearse(folder, CASE | {"expect": {"end": "terminal", "judge": [judge]}})
    (problem,) = suite.problems
    assert (problem.code, problem.file) == ("bad-value", "tests/a.yaml")
    assert problem.message.startswith("there is no model 'nix'")
    alone = rehearse(folder, CASE | {"expect": {"judge": [judge]}})
    assert [one.code for one in alone.problems] == ["no-expectation"]
