"""Vectors of texts from endpoints that answer rightly, wrongly, late or never."""

import json
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from agents.costs.prices import Prices, Rates
from agents.endpoint import Endpoint
from agents.errors import ModelError
from agents.model import ModelEvent, RequestEnded, ignore_event
from agents.providers.embeddings import Embedder
from crew.journal.records.remembered.vectors import fused, numbers_of
from tests.support.model_server import http, model_server
from tests.support.vectors import answer, embedding
from tools.clock import SYSTEM_CLOCK
from tools.text.secrets import Secrets


def embedder(
    url: str, dimensions: int | None = None, seconds: float = 30, counts: Any = None
) -> Embedder:
    endpoint = Endpoint("gw", url, "k-123456", (), seconds, 0)
    secrets = Secrets()
    endpoint.tell(secrets)
    counts = Counter() if counts is None else counts
    return Embedder(endpoint, "mini", dimensions, SYSTEM_CLOCK, secrets, counts)


async def test_vectors_are_in_the_order_of_their_texts():
    """Of length 1, whatever the server gives; what is sent has the form of the API."""
    counts: Counter[tuple[str, str]] = Counter()
    async with model_server(embedding(6)) as server:
        one = embedder(server.url, 6, counts=counts)
        car, tea = await one.embed(["a car", "two teas or tea"], ignore_event)
        await one.aclose()
    assert server.asked == [
        {
            "model": "mini",
            "input": ["a car", "two teas or tea"],
            "encoding_format": "float",
            "dimensions": 6,
        }
    ]
    assert server.headers[0].startswith("POST /v1/embeddings ")
    assert "Bearer k-123456" in server.headers[0]
    numbers = numbers_of(car)
    assert math.isclose(sum(value * value for value in numbers), 1, rel_tol=1e-6)
    assert numbers[0] > 0.9 > numbers_of(tea)[0]
    assert counts == {("mini", "success"): 1}


def changed(change: Any) -> Any:
    def reply(request: dict[str, Any]) -> bytes:
        document = answer(request)
        change(document["data"])
        return http(200, document)

    return reply


WRONG: dict[str, Any] = {
    "too many": changed(lambda rows: rows.extend(rows * 3)),
    "too few": changed(lambda rows: rows.pop()),
    "other dimensions in one": changed(lambda rows: rows[0]["embedding"].append(1.0)),
    "none at all": changed(lambda rows: [one.update(embedding=[]) for one in rows]),
    "not numbers": changed(lambda rows: rows[0].update(embedding=["a", "b", "c", "d"])),
    "zero": changed(lambda rows: rows[0].update(embedding=[0.0] * 4)),
    "infinite": changed(lambda rows: rows[0].update(embedding=[1e300, 1e300, 1e300, 1e300])),
    "no data": lambda request: http(200, {"object": "list"}),
    "no object": lambda request: http(200, [1, 2]),
    "HTML": lambda request: http(200, "<html>sign in</html>"),
    "NaN": lambda request: http(200, json.dumps(answer(request)).replace("0.1", "NaN")),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_answer_is_no_vector(name: str):
    counts: Counter[tuple[str, str]] = Counter()
    async with model_server(WRONG[name]) as server:
        one = embedder(server.url, counts=counts)
        with pytest.raises(ModelError) as caught:
            await one.embed(["a car", "tea"], ignore_event)
        await one.aclose()
    assert caught.value.code == "unreadable"
    assert "mini at http://" in str(caught.value)
    assert counts == {("mini", "unreadable"): 1}


async def test_other_dimensions_than_were_requested():
    async with model_server(embedding(8)) as server:
        one = embedder(server.url, 4)
        with pytest.raises(ModelError, match="8 numbers, and 4 are expected"):
            await one.embed(["a"], ignore_event)
        await one.aclose()


@pytest.mark.parametrize(
    ("status", "code"), [(401, "refused"), (429, "rate_limited"), (500, "unavailable")]
)
async def test_a_refusal_has_its_code(status: int, code: str):
    """And no key in its words."""
    refusal = http(status, {"error": {"message": "no: k-123456"}})
    async with model_server(lambda _: refusal) as server:
        one = embedder(server.url)
        with pytest.raises(ModelError) as caught:
            await one.embed(["a"], ignore_event)
        await one.aclose()
    assert caught.value.code == code
    assert "k-123456" not in str(caught.value)


async def test_an_address_that_hangs():
    async def never() -> bytes:
        await SYSTEM_CLOCK.sleep(600)
        return b""

    async with model_server(lambda _: never()) as server:
        one = embedder(server.url, seconds=0.2)
        with pytest.raises(ModelError) as caught:
            await one.embed(["a"], ignore_event)
        await one.aclose()
    assert caught.value.code == "timeout"


async def test_an_address_where_no_one_is():
    one = embedder("http://127.0.0.1:9/v1")
    with pytest.raises(ModelError) as caught:
        await one.embed(["a"], ignore_event)
    await one.aclose()
    assert caught.value.code == "connection"


def test_two_rankings_are_one():
    """Words count more; what both find comes first."""
    assert fused(["a", "b", "c"], ["d", "b"]) == ["b", "a", "c", "d"]
    assert fused(["a"], []) == ["a"]
    assert fused([], ["a", "b"]) == ["a", "b"]
    assert fused([], []) == []
    # of two models, what each finds first counts as much
    assert fused(["a"], ["b", "c"], ["d", "b"]) == ["b", "a", "d", "c"]


@pytest.mark.parametrize(
    ("usage", "tokens", "estimated"),
    [
        ({"prompt_tokens": 7, "total_tokens": 7}, 7, 0),
        (None, 2, 1),
        ({"prompt_tokens": -1}, 2, 1),
        ({"prompt_tokens": True}, 2, 1),
        ("many", 2, 1),
    ],
)
async def test_what_they_cost_is_told(usage: Any, tokens: int, estimated: int):
    """By the server's count, else by our own; a request that fails costs nothing."""

    def reply(request: dict[str, Any]) -> bytes:
        if request["input"] == ["wrong"]:
            return http(400, {"error": {"message": "no"}})
        if request["input"] == ["a broken answer"]:
            return http(200, {"data": []})
        return http(200, {**answer(request), "usage": usage})

    told: list[ModelEvent] = []

    async def note(event: ModelEvent) -> None:
        told.append(event)

    prices = Prices(Rates(Decimal("0.02")), "prices.json")
    async with model_server(reply) as server:
        endpoint = Endpoint("gw", server.url, "k-123456", (), 30, 0)
        one = Embedder(endpoint, "mini", None, SYSTEM_CLOCK, Secrets(), Counter(), prices)
        await one.embed(["a car"], note)
        with pytest.raises(ModelError):
            await one.embed(["wrong"], note)
        with pytest.raises(ModelError):
            await one.embed(["a broken answer"], note)
        await one.aclose()
    first, second, third = (event for event in told if isinstance(event, RequestEnded))
    assert (first.provider, first.model, first.outcome) == ("gw", "mini", "success")
    assert (first.usage.prompt_tokens, first.usage.estimated) == (tokens, estimated)
    assert first.usage.cost_usd == pytest.approx(tokens * 0.02 / 1e6)
    assert (second.outcome, second.usage.total_tokens) == ("refused", 0)
    assert (third.outcome, third.usage.prompt_tokens, third.usage.estimated) == ("unreadable", 3, 1)
    assert first.id != second.id
