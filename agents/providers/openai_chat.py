"""A Model behind an OpenAI-compatible chat completions endpoint.

Called through the openai package's client, but by `client.post` with bytes and with plain dicts
back, over its aiohttp
transport: the same headers, errors and pooling as `create`, without its request transform and
response models, which
are most of what a call costs.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from openai import AsyncOpenAI, DefaultAioHttpClient
from openai.types.chat import ChatCompletionChunk
from pydantic_core import to_json

from agents.errors import Code, ModelError
from agents.model import Called, Hear, ModelReply, ModelRequest, Usage, Words
from agents.providers.endpoint import Endpoint
from agents.providers.openai_reply import Answer, mended

PATH = "/chat/completions"
HEADERS = {"content-type": "application/json"}
CONNECT_SECONDS = 10.0
# One process may hold many runs; None would mean aiohttp's own limit of 100.
MAX_CONNECTIONS = 5000
MAX_EVENT_BYTES = 4 * 2**20


class Client:
    """One endpoint's connections, kept open for all agents and runs."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.openai = AsyncOpenAI(
            base_url=endpoint.base_url,
            # the package refuses an empty key, servers that need none ignore it
            api_key=endpoint.api_key or "none",
            default_headers=dict(endpoint.headers),
            timeout=httpx2.Timeout(
                endpoint.timeout_seconds, connect=min(CONNECT_SECONDS, endpoint.timeout_seconds)
            ),
            # retries are ours (agents/retrying), where events and limits see them
            max_retries=0,
            http_client=DefaultAioHttpClient(
                limits=httpx2.Limits(
                    max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS
                )
            ),
        )
        # as errors name it: without a password that may stand in the URL
        url = urlsplit(endpoint.base_url)
        self.place = f"{url.scheme}://{url.hostname}{f':{url.port}' if url.port else ''}{url.path}"
        # OpenAI's newer models refuse max_tokens; the others know nothing else
        self.max_tokens_key = (
            "max_completion_tokens" if "api.openai.com" in endpoint.base_url else "max_tokens"
        )
        # some gateways refuse stream_options; found out once
        self.usage_in_streams = True

    def redact(self, text: str) -> str:
        """A server's words without this endpoint's secrets."""
        password = urlsplit(self.endpoint.base_url).password or ""
        for secret in (
            self.endpoint.api_key,
            password,
            *(value for _, value in self.endpoint.headers),
        ):
            if len(secret) >= 4:
                text = text.replace(secret, "***")
        return text

    async def aclose(self) -> None:
        """Close the connections."""
        await self.openai.close()


class OpenAIChat:
    """One model of an endpoint."""

    def __init__(self, client: Client, model: str) -> None:
        self.client, self.name = client, model

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """This one."""
        return ((self.client.endpoint.provider, self.name),)

    async def reply(self, request: ModelRequest, hear: Hear) -> ModelReply:
        """Answer a request, or raise ModelError; tells `Called` either way."""
        began, outcome, usage = time.monotonic(), "cancelled", Usage()
        try:
            # the client's own timeout is one of each read, which an answer that drips would never
            # reach
            async with asyncio.timeout(self.client.endpoint.timeout_seconds):
                reply = await (
                    self._streamed(request, hear) if request.stream else self._whole(request)
                )
            outcome, usage = "success", reply.usage
            return reply
        except TimeoutError as error:
            outcome = "timeout"
            raise self._model_error(error) from error
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            await hear(
                Called(
                    self.client.endpoint.provider,
                    self.name,
                    outcome,
                    time.monotonic() - began,
                    usage,
                )
            )

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.name, "messages": request.messages}
        if request.tools:
            body["tools"] = request.tools
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.max_tokens is not None:
            body[self.client.max_tokens_key] = request.max_tokens
        return body

    async def _whole(self, request: ModelRequest) -> ModelReply:
        answer = Answer(self.name)
        try:
            response = await self.client.openai.post(
                PATH,
                cast_to=httpx2.Response,
                content=to_json(self._body(request)),
                options={"headers": HEADERS},
            )
            answer.take_whole(json.loads(response.content))
            return answer.reply()
        except Exception as error:
            raise self._model_error(error) from error

    async def _streamed(self, request: ModelRequest, hear: Hear) -> ModelReply:
        body = {**self._body(request), "stream": True}
        if self.client.usage_in_streams:
            body["stream_options"] = {"include_usage": True}
        answer = Answer(self.name)
        try:
            stream = await self._open(body)
            try:
                async for data in _events(stream.response):
                    if text := answer.take_chunk(json.loads(data)):
                        await hear(Words(mended(text)))
            finally:
                await stream.close()
            if not answer.finished:
                raise ModelError("unreadable", "the answer was cut off")
            return answer.reply()
        except Exception as error:
            raise self._model_error(error) from error

    async def _open(self, body: dict[str, Any]) -> openai.AsyncStream[ChatCompletionChunk]:
        try:
            return await self._post_stream(body)
        except openai.BadRequestError as error:
            if "stream_options" not in body or "stream_options" not in error.message:
                raise
        self.client.usage_in_streams = False
        del body["stream_options"]
        return await self._post_stream(body)

    async def _post_stream(self, body: dict[str, Any]) -> openai.AsyncStream[ChatCompletionChunk]:
        return await self.client.openai.post(
            PATH,
            cast_to=ChatCompletionChunk,
            content=to_json(body),
            options={"headers": HEADERS},
            stream=True,
            stream_cls=openai.AsyncStream[ChatCompletionChunk],
        )

    def _model_error(self, error: Exception) -> ModelError:
        """The border: what the openai package and the transports raise, as ModelError."""
        where = f"{self.name} at {self.client.place}"
        match error:
            case ModelError():
                return ModelError(
                    error.code,
                    self.client.redact(f"{where}: {error}"),
                    retry_after_seconds=error.retry_after_seconds,
                )
            case openai.APIStatusError(status_code=status):
                code: Code = (
                    "rate_limited"
                    if status == 429
                    else "unavailable"
                    if status >= 500
                    else "refused"
                )
                said = self.client.redact(error.message)[:500]
                return ModelError(
                    code,
                    f"{where} answered {status}: {said}",
                    retry_after_seconds=_retry_after(error.response),
                )
            # the aiohttp transport says ConnectTimeout of every connection that could not be made,
            # or was lost
            case openai.APITimeoutError(__cause__=httpx2.ConnectTimeout() as cause):
                return ModelError(
                    "connection", f"no connection to {where}: {self.client.redact(str(cause))}"
                )
            case openai.APITimeoutError() | httpx2.ReadTimeout() | TimeoutError():
                return ModelError(
                    "timeout",
                    f"{where} did not answer within {self.client.endpoint.timeout_seconds:g} s",
                )
            case openai.APIConnectionError():
                return ModelError(
                    "connection",
                    f"no connection to {where}: {self.client.redact(str(error.__cause__ or error))}",
                )
            case httpx2.TransportError():
                return ModelError(
                    "connection", f"the connection to {where} was lost: {type(error).__name__}"
                )
            case _:
                return ModelError(
                    "unreadable",
                    f"{where} sent an unreadable answer: {type(error).__name__}: {self.client.redact(str(error))[:200]}",
                )


async def _events(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The data of each server-sent event, until [DONE]."""
    rest = b""
    async for piece in response.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > MAX_EVENT_BYTES:
            raise ModelError("unreadable", "an event of the answer is larger than 4 MiB")
        for line in lines:
            if line.startswith(b"data:"):
                data = line[5:].strip()
                if data == b"[DONE]":
                    return
                if data:
                    yield data


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds that the server asks to wait, by number or by date."""
    said = response.headers.get("retry-after", "")
    try:
        seconds = (
            float(said)
            if said[:1].isdigit()
            else parsedate_to_datetime(said).timestamp() - time.time()
        )
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)
