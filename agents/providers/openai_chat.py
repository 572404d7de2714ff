"""A Model behind an OpenAI-compatible chat completions endpoint.

Called through the openai package's client, but by `client.post` with bytes and with plain dicts
back, over its aiohttp transport: the same headers, errors and pooling as `create`, without its
request transform and response models, which are most of what a call costs.
"""

import json
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from openai import AsyncOpenAI, DefaultAioHttpClient
from openai.types.chat import ChatCompletionChunk
from pydantic_core import to_json

from agents.endpoint import Endpoint
from agents.errors import ModelError, ModelErrorCode
from agents.model import (
    EmitModelEvent,
    ModelReply,
    ModelRequest,
    RequestEnded,
    TextDelta,
    Usage,
)
from agents.providers.openai_reply import ReplyReader, join_surrogates
from tools.clock import Clock

PATH = "/chat/completions"
HEADERS = {"content-type": "application/json"}
CONNECT_SECONDS = 10.0
# One process may hold many runs; None would mean aiohttp's own limit of 100.
MAX_CONNECTIONS = 5000
MAX_EVENT_BYTES = 4 * 2**20


class Client:
    """One endpoint's connections, kept open for all agents and runs."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self.endpoint, self.clock = endpoint, clock
        seconds = endpoint.timeout_seconds
        self.openai = AsyncOpenAI(
            base_url=endpoint.base_url,
            # the package refuses an empty key, servers that need none ignore it
            api_key=endpoint.api_key or "none",
            default_headers=dict(endpoint.headers),
            timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
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
        port = f":{url.port}" if url.port else ""
        self.place = f"{url.scheme}://{url.hostname}{port}{url.path}"
        # OpenAI's newer models refuse max_tokens; the others know nothing else
        is_openai = "api.openai.com" in endpoint.base_url
        self.max_tokens_key = "max_completion_tokens" if is_openai else "max_tokens"
        # some gateways refuse stream_options; found out once
        self.usage_in_streams = True

    def redact(self, text: str) -> str:
        """A server's words without this endpoint's secrets."""
        password = urlsplit(self.endpoint.base_url).password or ""
        headers = [value for _, value in self.endpoint.headers]
        for secret in (self.endpoint.api_key, password, *headers):
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

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer a request, or raise ModelError; emits `RequestEnded` either way."""
        endpoint, clock = self.client.endpoint, self.client.clock
        started, outcome, usage = clock.monotonic(), "cancelled", Usage()
        try:
            # the client's own timeout is one of each read, which a slow trickle never reaches
            async with clock.timeout(endpoint.timeout_seconds):
                if request.stream:
                    reply = await self._reply_streamed(request, emit)
                else:
                    reply = await self._reply_whole(request)
            outcome, usage = "success", reply.usage
            return reply
        except TimeoutError as error:
            outcome = "timeout"
            raise self._model_error(error) from error
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            seconds = clock.monotonic() - started
            await emit(RequestEnded(endpoint.provider, self.name, outcome, seconds, usage))

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        messages = [message.wire for message in request.messages]
        body: dict[str, Any] = {"model": self.name, "messages": messages}
        if request.tools:
            body["tools"] = request.tools
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.max_tokens is not None:
            body[self.client.max_tokens_key] = request.max_tokens
        return body

    async def _reply_whole(self, request: ModelRequest) -> ModelReply:
        reader = ReplyReader(self.name)
        content = to_json(self._body(request))
        try:
            response = await self.client.openai.post(
                PATH, cast_to=httpx2.Response, content=content, options={"headers": HEADERS}
            )
            reader.read_whole(json.loads(response.content))
            return reader.reply()
        except Exception as error:
            raise self._model_error(error) from error

    async def _reply_streamed(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        body = {**self._body(request), "stream": True}
        if self.client.usage_in_streams:
            body["stream_options"] = {"include_usage": True}
        reader = ReplyReader(self.name)
        try:
            stream = await self._open(body)
            try:
                async for data in _events(stream.response):
                    if text := reader.read_chunk(json.loads(data)):
                        await emit(TextDelta(join_surrogates(text)))
            finally:
                await stream.close()
            if not reader.finished:
                raise ModelError("unreadable", "the answer was cut off")
            return reader.reply()
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
        """What the openai package and the transports raise, as ModelError."""
        where, redact = f"{self.name} at {self.client.place}", self.client.redact
        match error:
            case ModelError():
                text, wait = f"{where}: {error}", error.retry_after_seconds
                return ModelError(error.code, redact(text), retry_after_seconds=wait)
            case openai.APIStatusError():
                return self._status_error(error, where)
            # the aiohttp transport reports every failed or lost connection as ConnectTimeout
            case openai.APITimeoutError(__cause__=httpx2.ConnectTimeout() as cause):
                text = f"no connection to {where}: {redact(str(cause))}"
                return ModelError("connection", text)
            case openai.APITimeoutError() | httpx2.ReadTimeout() | TimeoutError():
                seconds = self.client.endpoint.timeout_seconds
                return ModelError("timeout", f"{where} did not answer within {seconds:g} s")
            case openai.APIConnectionError():
                reason = str(error.__cause__ or error)
                return ModelError("connection", f"no connection to {where}: {redact(reason)}")
            case httpx2.TransportError():
                text = f"the connection to {where} was lost: {type(error).__name__}"
                return ModelError("connection", text)
            case _:
                reason = f"{type(error).__name__}: {redact(str(error))[:200]}"
                return ModelError("unreadable", f"{where} sent an unreadable answer: {reason}")

    def _status_error(self, error: openai.APIStatusError, where: str) -> ModelError:
        status = error.status_code
        code: ModelErrorCode = "refused"
        if status == 429:
            code = "rate_limited"
        elif status >= 500:
            code = "unavailable"
        text = f"{where} answered {status}: {self.client.redact(error.message)[:500]}"
        now = self.client.clock.now().timestamp()
        wait = parse_retry_after(error.response.headers.get("retry-after", ""), now)
        return ModelError(code, text, retry_after_seconds=wait)


async def _events(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The data of each server-sent event, until [DONE]."""
    rest = b""
    async for piece in response.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > MAX_EVENT_BYTES:
            raise ModelError("unreadable", "an event of the answer is larger than 4 MiB")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                return
            if data:
                yield data


def parse_retry_after(value: str, now: float) -> float | None:
    """Seconds that a server asks to wait, by number or by date; None for anything else.

    Args:
        value: of the header `Retry-After` (RFC 9110, 10.2.3).
        now: seconds since 1970.
    """
    try:
        if value[:1].isdigit():
            seconds = float(value)
        else:
            seconds = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)
