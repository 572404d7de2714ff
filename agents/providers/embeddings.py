"""Texts as vectors, from any address of the form of OpenAI's `/embeddings`."""

import array
import math
import secrets as random_tokens
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from pydantic_core import from_json, to_json

from agents.costs.prices import Prices, priced
from agents.costs.usage import NO_USAGE, Usage
from agents.dialects.by_name import DIALECTS
from agents.endpoint import Endpoint
from agents.errors import ModelError
from agents.model import EmitModelEvent, RequestEnded
from agents.providers.connections import ModelConnections
from agents.providers.failures import refusal_of, request_error
from agents.providers.server_events import read_whole
from agents.tokenizing.tokens import ESTIMATE
from tools.clock import Clock
from tools.text.secrets import Secrets

PATH = "/embeddings"
# requests of such outcomes have been worked on, as far as is known
WORKED_ON = frozenset({"success", "cancelled", "timeout", "unreadable"})
# numbers of a vector
MAX_DIMENSIONS = 16_000


class Embedder:
    """Makes vectors of texts by one model."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        dimensions: int | None,
        clock: Clock,
        secrets: Secrets,
        counts: Counter[tuple[str, str]],
        prices: Prices | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            endpoint: where; its dialect is that of chat completions.
            model: as the endpoint names it.
            dimensions: how many numbers a vector is to have; None: as many as the model gives.
            clock: of timeouts.
            secrets: not repeated in errors; gets the password of a proxy.
            counts: of this process: by model and outcome, "success" or the code of the error.
            prices: of its tokens; None: not known.
        """
        self._endpoint, self._model, self._dimensions = endpoint, model, dimensions
        self._clock, self._secrets, self._counts = clock, secrets, counts
        self._prices = prices
        dialect = replace(DIALECTS["chat"], path=PATH)
        self._connections = ModelConnections(endpoint, dialect, secrets)

    @property
    def space(self) -> str:
        """By which vectors are known that can be compared."""
        place = f"{self._endpoint.provider} {self._endpoint.path_url}"
        return f"{place} {self._model} {self._dimensions or ''}".strip()

    async def embed(self, texts: Sequence[str], emit: EmitModelEvent) -> list[bytes]:
        """See VectorModel."""
        outcome, started = "cancelled", self._clock.monotonic()
        said: Any = None
        try:
            made, said = await self._ask(texts)
            outcome = "success"
            return made
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            self._counts[self._model, outcome] += 1
            usage = _usage(said, texts) if outcome in WORKED_ON else NO_USAGE
            request = RequestEnded(
                self._endpoint.provider,
                self._model,
                outcome,
                self._clock.monotonic() - started,
                priced(usage, self._prices),
                prices=self._prices,
                id=random_tokens.token_hex(8),
            )
            await emit(request)

    async def _ask(self, texts: Sequence[str]) -> tuple[list[bytes], Any]:
        # empty texts are refused by some
        given = [text if text.strip() else "-" for text in texts]
        body: dict[str, Any] = {"model": self._model, "input": given, "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        try:
            with self._clock.hold():
                async with self._clock.timeout(self._endpoint.timeout_seconds):
                    return await self._exchange(body, len(texts))
        except Exception as error:  # each becomes a ModelError
            raise request_error(error, self._model, self._endpoint, self._secrets) from error

    async def _exchange(self, body: dict[str, Any], count: int) -> tuple[list[bytes], Any]:
        response = await self._connections.post(to_json(body))
        try:
            if response.status != HTTPStatus.OK:
                raise await refusal_of(response)
            return self._read(await read_whole(response), count)
        finally:
            response.release()

    def _read(self, data: bytes, count: int) -> tuple[list[bytes], Any]:
        """Return the vectors of an answer, in the order of their texts, and what it says of use."""
        try:
            answer = from_json(data)
            rows = answer["data"]
            # most servers give them in order; some name their places
            rows = sorted(rows, key=lambda one: one.get("index", 0))
            vectors = [[float(value) for value in one["embedding"]] for one in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError("unreadable", f"the answer has no vectors ({error!r})") from error
        if len(vectors) != count:
            text = f"the answer has {len(vectors)} vectors for {count} texts"
            raise ModelError("unreadable", text)
        sizes = {len(vector) for vector in vectors}
        wanted = self._dimensions
        if len(sizes) > 1 or not 0 < max(sizes) <= MAX_DIMENSIONS or wanted not in (None, *sizes):
            said = ", ".join(map(str, sorted(sizes)))
            text = f"the vectors have {said} numbers, and {wanted or 'as many each'} are expected"
            raise ModelError("unreadable", text)
        return [_normal(vector) for vector in vectors], answer.get("usage")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()


def _usage(said: Any, texts: Sequence[str]) -> Usage:
    """Return what went in: as the server says, or by our own count."""
    tokens = said.get("prompt_tokens") if isinstance(said, dict) else None
    if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens > 0:
        return Usage(tokens)
    return Usage(sum(map(ESTIMATE.count, texts)), estimated=1)


def _normal(vector: Sequence[float]) -> bytes:
    """Return a vector of length 1; raises ModelError where it has no direction."""
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not math.isfinite(length) or length == 0:
        raise ModelError("unreadable", "a vector has no direction: it is 0, or not finite")
    numbers = array.array("f", [value / length for value in vector])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
