"""A server of `/embeddings` for which words of one group mean the same."""

from collections.abc import Callable
from typing import Any

from tests.support.model_server import http

GROUPS = (("car", "automobile", "vehicle"), ("loss", "drawdown"), ("tea", "beverage"))


def meaning(text: str, dimensions: int = 4) -> list[float]:
    """How often each group is meant; the last number keeps the vector from being 0."""
    words = text.casefold().split()
    found = [float(sum(word.strip(".,?") in group for word in words)) for group in GROUPS]
    return [*found, 0.1, *[0.0] * (dimensions - len(GROUPS) - 1)]


def answer(request: dict[str, Any], dimensions: int = 4) -> dict[str, Any]:
    """The answer to a request, out of order: its places are named."""
    texts = request["input"]
    rows = [{"index": n, "embedding": meaning(one, dimensions)} for n, one in enumerate(texts)]
    return {"object": "list", "data": rows[::-1], "model": request["model"]}


def embedding(dimensions: int = 4) -> Callable[[dict[str, Any]], bytes]:
    return lambda request: http(200, answer(request, dimensions))
