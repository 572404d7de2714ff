"""`crew costs` and `crew prices`, as a person uses them."""

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.crew.costs.test_costs_of_runs import PRICES, crew_at
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.model_server import completion, http, model_server
from tests.support.processes import client, serving

LITELLM = {
    "sample_spec": {"note": "x"},
    "m-9": {
        "input_cost_per_token": 2e-06,
        "output_cost_per_token": 1.2e-05,
        "cache_read_input_token_cost": 5e-07,
        "input_cost_per_token_above_200k_tokens": 4e-06,
    },
}
GENAI = [
    {
        "id": "gw",
        "models": [
            {
                "id": "m-nine",
                "match": {"or": [{"equals": "m-9"}, {"starts_with": "m-9-"}]},
                "prices": {"input_mtok": {"base": 2, "tiers": [{"start": 200000, "price": 4}]}, "output_mtok": 12, "cache_read_mtok": 0.5},
            }
        ],
    }
]  # fmt: skip


async def played(folder: Path, *agents: dict[str, Any]) -> None:
    """Runs of a crew, by the command; each with its agent."""
    async with model_server(lambda request: http(200, completion())) as server:
        for agent in agents:
            crew_at(folder, server.url, agent)
            done = await asyncio.to_thread(crew, "run", folder, "go")
            assert done.returncode == 0, done.stderr


def test_what_was_spent(tmp_path: Path):
    assert "no model was called yet" in crew("costs", tmp_path).stderr
    nothing = json.loads(crew("costs", tmp_path, "--json").stdout)
    assert (nothing["rows"], nothing["total"]["calls"]) == ([], 0)
    asyncio.run(played(tmp_path, {}, {}, {"model": "nix"}))
    table = crew("costs", tmp_path)
    lines = table.stdout.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "a m-1 2 calls 20 in 10 out $0.00012",
        "a nix 1 call 10 in 5 out ? no price is known: models.nix.prices",
        "≥ $0.00012, 1 answers unpriced",
    ]
    document = json.loads(
        crew("costs", tmp_path, "--by", "token", "--since", "1h", "--json").stdout
    )
    (row,) = document["rows"]
    assert (row["token"], row["calls"]) == ("", 3)
    assert row["cost"] == document["total"]["cost"]
    assert row["cost"] == {"usd": 0.00012, "unpriced": 1, "estimated": 0}
    rows = list(csv.DictReader(io.StringIO(crew("costs", tmp_path, "--by", "run", "--csv").stdout)))
    assert [one["calls"] for one in rows] == ["1", "1", "1"]
    top = json.loads(crew("costs", tmp_path, "--by", "run", "--top", "1", "--json").stdout)
    assert (len(top["rows"]), top["total"]["calls"]) == (1, 3)


def test_todays_prices(tmp_path: Path):
    """In place of those of then; what has none today is not known."""
    asyncio.run(played(tmp_path, {}))
    text = (tmp_path / "crew.yaml").read_text()
    assert str(PRICES["output"]) in text
    (tmp_path / "crew.yaml").write_text(text.replace("output: 10", "output: 100"))
    then = json.loads(crew("costs", tmp_path, "--json").stdout)["total"]["cost"]["usd"]
    now = json.loads(crew("costs", tmp_path, "--json", "--reprice").stdout)["total"]["cost"]["usd"]
    assert (then, now) == (60 / 1e6, 510 / 1e6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--by", "week"), "there is no 'week'"),
        (("--since", "yesterday"), "such as 7d"),
        (("--json", "--csv"), "without --json"),
    ],
    ids=str,
)
def test_wrong_options(tmp_path: Path, options: tuple[str, ...], said: str):
    write_crew(tmp_path, {"a": {"is_terminal": True}})
    ended = crew("costs", tmp_path, *options)
    assert ended.returncode == 2
    assert said in " ".join(ended.stderr.replace("│", " ").split())


@contextmanager
def priced_crew(folder: Path) -> Iterator[Path]:
    """A crew with a model that only lists have, one of its own price, and one that none has."""
    agents = {
        "a": {"model": "m-9", "provider": "gw"},
        "b": {"model": "dear"},
        "c": {"model": "unheard", "provider": "gw", "is_terminal": True},
    }
    models = {"dear": {"provider": "gw", "prices": {"input": 1, "output": 2}}}
    write_crew(folder, agents, providers={"gw": {"base_url": "http://127.0.0.1:9"}}, models=models)
    (folder / "agents" / "b.yaml").write_text(
        "id: b\nname: B\nrole: b\nmodel: dear\nsystem_prompt: x\n"
    )
    yield folder


@pytest.mark.parametrize("data", [LITELLM, GENAI], ids=["litellm", "genai"])
def test_prices_of_a_list(tmp_path: Path, data: Any):
    """Written for the models of this crew, and counted from then on."""
    with priced_crew(tmp_path / "crew") as folder:
        before = crew("prices", folder).stdout.splitlines()
        assert before[0].startswith("gw/m-9   unknown: give crew.yaml's models.m-9")
        assert before[1] == "gw/dear   $1 input, $2 output   (models)"
        (tmp_path / "list.json").write_text(json.dumps(data))
        asked = crew("prices", folder, "--update", "--from", tmp_path / "list.json")
        assert asked.returncode == 1, "no one says yes"
        assert not (folder / "prices.json").exists()
        done = crew("prices", folder, "--update", "--from", tmp_path / "list.json", "--yes")
        assert done.returncode == 0, done.stderr
        assert "gw/m-9: $2 input, $12 output, $0.5 cache_read, above 200,000 input: $4 input" in (
            done.stdout
        )
        assert "gw/unheard: " in done.stdout
        kept = json.loads((folder / "prices.json").read_text())
        assert list(kept["models"]) == ["gw/m-9"]
        after = crew("prices", folder).stdout.splitlines()
        assert after[0].endswith("(prices.json), 0 days old")
        again = crew("prices", folder, "--update", "--from", tmp_path / "list.json", "--yes")
        assert "nothing has changed" in again.stdout
        good = crew("validate", folder)
        assert "no file says what gw/unheard costs" in good.stdout


def test_prices_of_the_package(tmp_path: Path):
    """Real ones, of a model that everyone has; nothing is fetched."""
    agents = {"a": {"model": "gpt-4o", "provider": "openai", "is_terminal": True}}
    folder = write_crew(tmp_path, agents)
    proxy = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    done = crew("prices", folder, "--update", "--yes", OPENAI_API_KEY="x" * 20, **proxy)
    assert done.returncode == 0, done.stderr
    kept = json.loads((folder / "prices.json").read_text())
    assert kept["source"] == "genai-prices"
    prices = kept["models"]["openai/gpt-4o"]
    assert 0 < prices["cache_read"] < prices["input"] < prices["output"] < 100


@pytest.mark.parametrize(
    ("text", "said"),
    [("[1]", "in no form that is known"), ("{", "is no JSON"), ('{"a": NaN}', "NaN is no price")],
)
def test_foreign_lists(tmp_path: Path, text: str, said: str):
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}})
    (tmp_path / "list.json").write_text(text)
    ended = crew("prices", folder, "--update", "--from", tmp_path / "list.json")
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"source": "x", "date": "2026-11-01", "models": {"a/b": {"input": NaN}}}', "1:"),
        ('{\n"source": "x",\n"date": "soon"}', "3:9"),
        ('{"source": "x",\n"dates": 1}', "2:1"),
    ],
)
def test_a_wrong_prices_json_has_its_line(tmp_path: Path, text: str, place: str):
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}})
    (folder / "prices.json").write_text(text)
    ended = crew("validate", folder)
    assert ended.returncode == 1
    assert f"prices.json:{place}" in ended.stdout


def test_who_may_see_costs(tmp_path: Path):
    """An admin all, others what their own token, and others for their user, have spent."""
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}})
    tokens = {name: name[0] * 24 for name in ("shop", "desk", "boss")}
    scopes = {"shop": "read+run", "desk": "read+run", "boss": "read+run+act_as+admin"}
    given = ",".join(f"{name}+{scopes[name]}:{value}" for name, value in tokens.items())
    with serving(folder, CREW_API_TOKENS=given) as server:
        sums = {}
        for name, user in (("shop", "shop"), ("shop", "shop"), ("desk", "desk"), ("boss", "desk")):
            headers = {"Authorization": f"Bearer {tokens[name]}"}
            with client(server, headers=headers) as asking:
                done = asking.post("/api/crew/run", json={"query": "x", "user_id": user})
                assert done.json()["cost"] == {"usd": 0.0, "unpriced": 0, "estimated": 0}
        for name in tokens:
            with client(server, headers={"Authorization": f"Bearer {tokens[name]}"}) as asking:
                found = asking.get("/api/crew/costs", params={"by": "token"}).json()
                sums[name] = {row["token"]: row["calls"] for row in found["rows"]}
                assert asking.get("/api/crew/costs", params={"by": "x"}).status_code == 400
                assert asking.get("/api/crew/costs", params={"since": "x"}).status_code == 400
        with client(server) as nobody:
            assert nobody.get("/api/crew/costs").status_code == 401
    assert sums == {
        "shop": {"shop": 2},
        "desk": {"desk": 1, "boss": 1},
        "boss": {"shop": 2, "desk": 1, "boss": 1},
    }
