"""A Model behind an OpenAI-compatible chat completions endpoint."""

import importlib
import json
import re
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import aiohttp
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
from agents.providers.connections import (
    Connections,
    EventData,
    read_end,
    read_whole,
    refuse_too_large,
)
from agents.providers.openai_reply import ReplyReader, is_too_long, join_surrogates
from tools.clock import Clock
from tools.secrets import Secrets

DONE = b"[DONE]"
# how servers say that a model has no native calls: "does not support tools" (Ollama), "No endpoints
# found that support tool use" (OpenRouter), "requires --enable-auto-tool-choice" (vLLM)
NO_NATIVE_CALLS = re.compile(
    r"(?=.*(?:tool|function))(?=.*(?:support|enable-auto-tool-choice))", re.IGNORECASE | re.DOTALL
)
REFUSALS = frozenset({400, 404, 422, 501})
TOO_LONG_STATUSES = frozenset({400, 413})


class Refusal(Exception):
    """A server has answered with another status than 2xx."""

    def __init__(self, status: int, message: str, body: str, retry_after: str) -> None:
        """`message`: for people; `body`: all that it said."""
        super().__init__(message)
        self.status, self.body, self.retry_after = status, body, retry_after


class Client:
    """An endpoint, and what has been found out about it."""

    def __init__(self, endpoint: Endpoint, clock: Clock, secrets: Secrets) -> None:
        """`secrets`: not repeated in errors; gets the password of a proxy."""
        self.endpoint, self.clock, self.secrets = endpoint, clock, secrets
        self.connections = Connections(endpoint, secrets)
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
        """Why the endpoint cannot be used, as its list of models shows; None where it answers.

        Asked by the openai package, as other programs would: what is wrong is not ours then.
        """
        # it takes half a second to import, which no run should wait for
        openai = importlib.import_module("openai")
        endpoint, connections = self.endpoint, self.connections

        async def bound(response: Any) -> None:
            refuse_too_large(response.headers)

        try:
            http = openai.DefaultAsyncHttpxClient(
                # another host must not get the headers
                follow_redirects=False,
                # the proxy and the authorities are those of the requests
                trust_env=False,
                proxy=connections.proxy,
                verify=connections.certificates() or True,
                event_hooks={"response": [bound]},
            )
            client = openai.AsyncOpenAI(
                base_url=endpoint.base_url,
                # it refuses an empty key, servers that need none ignore it
                api_key=endpoint.api_key or "none",
                default_headers={"Accept-Encoding": "identity", **dict(endpoint.headers)},
                timeout=seconds,
                max_retries=0,
                http_client=http,
            )
            # what is in the list does not matter, and may be much
            async with client, client.models.with_streaming_response.list():
                pass
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            return f"{self.place} refuses the key ({error.status_code})"
        except openai.APIStatusError as error:
            code = error.status_code
            if HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR:
                # one without such a list answers all the same
                return None
            return f"{self.place} answers with {code}"
        except (openai.OpenAIError, ModelError, ValueError) as error:
            return f"{self.place} does not answer: {error}"
        return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self.connections.aclose()


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
            response = await self._open(request)
            try:
                if request.stream:
                    await _read_stream(response, reader, emit)
                    if not response.content.at_eof():
                        await read_end(response, self.client.clock)
                else:
                    reader.read_whole(await read_whole(response))
            finally:
                # closed, where it is not read to its end
                response.release()
            if not reader.finished:
                raise ModelError("unreadable", "the answer was cut off")
            return reader.reply(has_native_calls=self._has_native_calls)
        except Exception as error:
            raise self._model_error(error) from error

    async def _open(self, request: ModelRequest) -> aiohttp.ClientResponse:
        """Send a request; once more without what the server turns out not to know."""
        while True:
            body = self._body(request)
            if request.stream:
                body["stream"] = True
                if self.client.usage_in_streams:
                    body["stream_options"] = {"include_usage": True}
            response = await self.client.connections.post(to_json(body))
            if response.status < HTTPStatus.MULTIPLE_CHOICES:
                return response
            refusal = await _refusal(response)
            if refusal.status in REFUSALS:
                if "stream_options" in body and "stream_options" in refusal.body:
                    self.client.usage_in_streams = False
                    continue
                if "tools" in body and NO_NATIVE_CALLS.search(refusal.body):
                    self.client.without_native_calls.add(self.name)
                    continue
            raise refusal

    def _model_error(self, error: Exception) -> ModelError:
        """What the session raises and servers say, as ModelError."""
        where, mask = f"{self.name} at {self.client.place}", self.client.secrets.mask
        match error:
            case ModelError():
                text, wait = f"{where}: {error}", error.retry_after_seconds
                return ModelError(error.code, mask(text), retry_after_seconds=wait)
            case Refusal():
                return self._refused(error, where)
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
                return ModelError("connection", f"no connection to {where}: {mask(str(error))}")
            case aiohttp.ClientHttpProxyError():
                text = f"no connection to {where}: the proxy answered {error.status}"
                return ModelError("connection", text)
            case TimeoutError():
                seconds = self.client.endpoint.timeout_seconds
                return ModelError("timeout", f"{where} did not answer within {seconds:g} s")
            case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError():
                text = f"the connection to {where} was lost: {type(error).__name__}"
                return ModelError("connection", text)
            case _:
                reason = f"{type(error).__name__}: {mask(str(error))[:200]}"
                return ModelError("unreadable", f"{where} sent an unreadable answer: {reason}")

    def _refused(self, refusal: Refusal, where: str) -> ModelError:
        status = refusal.status
        code: ModelErrorCode = "refused"
        if status in TOO_LONG_STATUSES and is_too_long(refusal.body):
            code = "context_overflow"
        elif status == HTTPStatus.TOO_MANY_REQUESTS:
            code = "rate_limited"
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            code = "unavailable"
        text = f"{where} answered {status}: {self.client.secrets.mask(str(refusal))[:500]}"
        wait = parse_retry_after(refusal.retry_after, self.client.clock.now().timestamp())
        return ModelError(code, text, retry_after_seconds=wait)


async def _read_stream(
    response: aiohttp.ClientResponse, reader: ReplyReader, emit: EmitModelEvent
) -> None:
    """Read a streamed answer, up to [DONE] or its end."""
    events = EventData()
    while piece := await response.content.readany():
        for data in events.feed(piece):
            if data == DONE:
                return
            if text := reader.read_chunk(data):
                await emit(TextDelta(join_surrogates(text)))


async def _refusal(response: aiohttp.ClientResponse) -> Refusal:
    """What an answer says that is none; it is read to its end."""
    try:
        text = (await read_whole(response)).decode(errors="replace")
    finally:
        response.release()
    message = text.strip() or response.reason or ""
    try:
        said = json.loads(text)["error"]
        message = said if isinstance(said, str) else said["message"]
    except (ValueError, LookupError, TypeError):
        # in no form that is known
        pass
    after = response.headers.get("retry-after", "")
    return Refusal(response.status, str(message), text, after)


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
