"""A Model behind an OpenAI-compatible chat completions endpoint.

Called through the openai package's client, but by `client.post` with bytes and with plain dicts
back, over its aiohttp transport: the same headers, errors and pooling as `create`, without its
request transform and response models, which are most of what a call costs.
"""

import functools
import json
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
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
from agents.providers.openai_reply import ReplyReader, is_too_long, join_surrogates
from tools.clock import Clock
from tools.secrets import Secrets

PATH = "/chat/completions"
# a small compressed answer may be a very large one
HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}
CONNECT_SECONDS = 10.0
# One process may hold many runs; None would mean aiohttp's own limit of 100.
MAX_CONNECTIONS = 5000
MAX_EVENT_BYTES = 4 * 2**20
# of an answer that comes at once
MAX_ANSWER_BYTES = 8 * 2**20
# of all events of a streamed one: a few characters come in some hundred bytes
MAX_STREAM_BYTES = 512 * 2**20
# how servers say that a model has no native calls: "does not support tools" (Ollama), "No endpoints
# found that support tool use" (OpenRouter), "requires --enable-auto-tool-choice" (vLLM)
NO_NATIVE_CALLS = re.compile(
    r"(?=.*(?:tool|function))(?=.*(?:support|enable-auto-tool-choice))", re.IGNORECASE | re.DOTALL
)
REFUSALS = frozenset({400, 404, 422, 501})
TOO_LONG_STATUSES = frozenset({400, 413})


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted, read once for all endpoints: each reading takes 14 ms."""
    return httpx2.create_ssl_context()


class Client:
    """One endpoint's connections, kept open for all agents and runs."""

    def __init__(self, endpoint: Endpoint, clock: Clock, secrets: Secrets) -> None:
        """`secrets`: not repeated in errors."""
        self.endpoint, self.clock, self.secrets = endpoint, clock, secrets
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
                # another host must not get the conversation and the headers
                follow_redirects=False,
                verify=_certificates(),
                event_hooks={"response": [_refuse_too_large]},
                limits=httpx2.Limits(
                    max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS
                ),
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
        # models that have refused tools
        self.without_native_calls: set[str] = set()

    async def probe(self, seconds: float) -> str | None:
        """Why the endpoint cannot be used, as its list of models shows; None where it answers."""
        try:
            await self.openai.with_options(timeout=seconds).models.list()
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            return f"{self.place} refuses the key ({error.status_code})"
        except openai.APIStatusError as error:
            # one without such a list answers all the same
            known = error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
            return None if known else f"{self.place} answers with {error.status_code}"
        except (openai.OpenAIError, ValueError) as error:
            return f"{self.place} does not answer: {error}"
        return None

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
                reply = await self._answer(request, emit)
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

    @property
    def _has_native_calls(self) -> bool:
        return self.name not in self.client.without_native_calls

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        messages = [message.wire for message in request.messages]
        body: dict[str, Any] = {"model": self.name, "messages": messages}
        if request.tools and self._has_native_calls:
            body["tools"] = request.tools
        elif request.tools:
            prompt = f"{messages[0]['content']}\n\n{request.text_call_hint}"
            body["messages"] = [{**messages[0], "content": prompt}, *messages[1:]]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.max_tokens is not None:
            body[self.client.max_tokens_key] = request.max_tokens
        return body

    async def _answer(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        reader = ReplyReader(self.name)
        try:
            stream = await self._open(request)
            try:
                if request.stream:
                    async for data in _events(stream.response):
                        if text := reader.read_chunk(json.loads(data)):
                            await emit(TextDelta(join_surrogates(text)))
                else:
                    pieces = [piece async for piece in _pieces(stream.response, MAX_ANSWER_BYTES)]
                    reader.read_whole(json.loads(b"".join(pieces)))
            finally:
                await stream.close()
            if not reader.finished:
                raise ModelError("unreadable", "the answer was cut off")
            return replace(reader.reply(), has_native_calls=self._has_native_calls)
        except Exception as error:
            raise self._model_error(error) from error

    async def _open(self, request: ModelRequest) -> openai.AsyncStream[ChatCompletionChunk]:
        """Send a request; once more without what the server turns out not to know."""
        while True:
            body = self._body(request)
            if request.stream:
                body["stream"] = True
                if self.client.usage_in_streams:
                    body["stream_options"] = {"include_usage": True}
            try:
                return await self._post(body)
            except openai.APIStatusError as error:
                if error.status_code not in REFUSALS:
                    raise
                if "stream_options" in body and "stream_options" in error.message:
                    self.client.usage_in_streams = False
                elif "tools" in body and NO_NATIVE_CALLS.search(error.message):
                    self.client.without_native_calls.add(self.name)
                else:
                    raise

    async def _post(self, body: dict[str, Any]) -> openai.AsyncStream[ChatCompletionChunk]:
        """An answer that is not read yet, so that its size can be bounded."""
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
        where, mask = f"{self.name} at {self.client.place}", self.client.secrets.mask
        match error:
            case ModelError():
                text, wait = f"{where}: {error}", error.retry_after_seconds
                return ModelError(error.code, mask(text), retry_after_seconds=wait)
            case openai.APIStatusError():
                return self._status_error(error, where)
            case openai.APIConnectionError(__cause__=ModelError() as cause):
                return self._model_error(cause)
            # the aiohttp transport reports every failed or lost connection as ConnectTimeout
            case openai.APITimeoutError(__cause__=httpx2.ConnectTimeout() as cause):
                text = f"no connection to {where}: {mask(str(cause))}"
                return ModelError("connection", text)
            case openai.APITimeoutError() | httpx2.ReadTimeout() | TimeoutError():
                seconds = self.client.endpoint.timeout_seconds
                return ModelError("timeout", f"{where} did not answer within {seconds:g} s")
            case openai.APIConnectionError():
                reason = str(error.__cause__ or error)
                return ModelError("connection", f"no connection to {where}: {mask(reason)}")
            case httpx2.TransportError():
                text = f"the connection to {where} was lost: {type(error).__name__}"
                return ModelError("connection", text)
            case _:
                reason = f"{type(error).__name__}: {mask(str(error))[:200]}"
                return ModelError("unreadable", f"{where} sent an unreadable answer: {reason}")

    def _status_error(self, error: openai.APIStatusError, where: str) -> ModelError:
        status = error.status_code
        code: ModelErrorCode = "refused"
        if status in TOO_LONG_STATUSES and is_too_long(f"{error.code} {error.message}"):
            code = "context_overflow"
        elif status == 429:
            code = "rate_limited"
        elif status >= 500:
            code = "unavailable"
        text = f"{where} answered {status}: {self.client.secrets.mask(error.message)[:500]}"
        now = self.client.clock.now().timestamp()
        wait = parse_retry_after(error.response.headers.get("retry-after", ""), now)
        return ModelError(code, text, retry_after_seconds=wait)


async def _refuse_too_large(response: httpx2.Response) -> None:
    """Also of errors: before any of the body is read."""
    coding = response.headers.get("content-encoding", "")
    if coding.lower() not in ("", "identity"):
        raise ModelError("unreadable", f"the answer is compressed ({coding[:40]}), unasked")
    length = response.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_ANSWER_BYTES:
        raise ModelError("unreadable", "the answer is larger than 8 MiB")


async def _pieces(response: httpx2.Response, most: int) -> AsyncIterator[bytes]:
    """The bytes of an answer; raises ModelError beyond `most`."""
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > most:
            raise ModelError("unreadable", f"the answer is larger than {most >> 20} MiB")
        yield piece


async def _events(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The data of each server-sent event, until [DONE]."""
    rest = b""
    async for piece in _pieces(response, MAX_STREAM_BYTES):
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
