"""A Model behind an endpoint, whatever dialect it has."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any

import aiohttp
from pydantic_core import to_json

from agents.costs.usage import NO_USAGE
from agents.dialects.collector import CUT_BY_LENGTH, Collector
from agents.dialects.outgoing import Outgoing
from agents.dialects.refusals import Refusal, refusal_in, room_left
from agents.dialects.surrogates import join_surrogates
from agents.errors import ModelError
from agents.extras import NO_EXTRAS, ModelExtras
from agents.model import (
    EmitModelEvent,
    ModelEvent,
    ModelNotice,
    ModelReply,
    ModelRequest,
    RequestEnded,
    TextDelta,
    ThinkingDelta,
)
from agents.providers.client import Client
from agents.providers.estimates import estimated_usage, usage_of_failure
from agents.providers.failures import refusal_of, request_error
from agents.providers.lessons import learn
from agents.providers.server_events import (
    BOM,
    DONE,
    MAX_STREAM_BYTES,
    BoundedBody,
    EventData,
    chunks_in,
    decoded_once,
    may_be_events,
    read_end,
    read_whole,
    without_frame,
)
from agents.quirks import Quirks
from agents.written.find import calls_at_end
from tools.text.server_words import is_html, words_of

# of the prompt, and of what is asked
WITHOUT_HISTORY = 2


class RemoteModel:
    """One model of an endpoint."""

    def __init__(self, client: Client, model: str, extras: ModelExtras = NO_EXTRAS) -> None:
        self.client, self.name, self.extras = client, model, extras
        self.table = client.table(model)
        # who gets back what it has sent with a message; the first dialect had no name
        dialect = client.dialect.name
        named = "" if dialect == "chat" else f"{dialect}: "
        self.source = f"{named}{client.endpoint.provider} {client.place} {model}"

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """This one."""
        return ((self.client.endpoint.provider, self.name),)

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer a request, or raise ModelError; emits `RequestEnded` either way."""
        endpoint, clock = self.client.endpoint, self.client.clock
        started, outcome, usage = clock.monotonic(), "cancelled", NO_USAGE
        readers: list[Collector] = []
        try:
            # the client's own timeout is one of each read, which a slow trickle never reaches
            with clock.hold():
                async with clock.timeout(endpoint.timeout_seconds):
                    reply = await self._answer(request, emit, readers)
            outcome, usage = "success", reply.usage
            return reply
        except TimeoutError as error:
            outcome = "timeout"
            raise self._failure(error) from error
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            seconds = clock.monotonic() - started
            if outcome != "success" and readers:
                usage = usage_of_failure(outcome, readers[-1], request)
            left_out = self._without_kept(request)
            ended = RequestEnded(endpoint.provider, self.name, outcome, seconds, usage, left_out)
            await emit(ended)

    def _without_kept(self, request: ModelRequest) -> int:
        """Count the messages with which another endpoint wants something back."""
        count = 0
        for one in request.messages:
            if one.private is not None and one.private.source not in ("", self.source):
                count += 1
        return count

    async def _answer(
        self, request: ModelRequest, emit: EmitModelEvent, readers: list[Collector]
    ) -> ModelReply:
        """Ask; once more without each thing that the endpoint turns out not to take.

        `readers` gets what reads each answer.
        """
        tried: list[Quirks] = []
        given = request
        dialect = self.client.dialect
        while True:
            quirks = self.table.quirks
            tried.append(quirks)
            outgoing = Outgoing(self.name, request, quirks, self.source, self.extras)
            body = dialect.build(outgoing)
            reader = dialect.reader(self.name, self.source, quirks)
            readers.append(reader)
            if dialect.stops_thinking is not None and dialect.stops_thinking(outgoing, body):
                text = "does not think while it goes on with calls that did not begin with that"
                await emit(ModelNotice("thinking_off", f"{self.name} {text}"))
            try:
                shown = emit if request.stream else _emit_nothing
                await self._ask(body, reader, shown, streams=request.stream)
                reply = await self._finish(reader, request, emit)
                is_typed = request.output is not None and outgoing.has_schema
                if is_typed and not (reader.has_refused or reply.calls):
                    await self._look_at_form(quirks, reply, emit)
                return reply
            except Refusal as refusal:
                reader.take_failure(refusal.body)
                left, wanted = room_left(refusal), outgoing.max_tokens or 0
                # with less room, the history is shortened where there is one
                least = wanted // 2 if len(request.messages) > WITHOUT_HISTORY else 0
                least = max(least, self.extras.thinking_tokens or 0)
                if left is not None and least < left < wanted and request is given:
                    # beside this prompt
                    request = replace(request, max_tokens=left)
                    text = f"{self.name} has room for {left} tokens: the answer is cut to that"
                    await emit(ModelNotice("answer_bounded", text))
                    tried.remove(quirks)
                    continue
                found = (
                    None
                    if reader.text or reader.thoughts_taken
                    else learn(dialect.name, quirks, body, refusal)
                )
                if found is None or found[0] in tried:
                    raise self._failure(refusal) from refusal
                if not self.table.learn(quirks, found[0]):
                    # another request has found it out meanwhile
                    continue
                text = f"{self.name} at {self.client.place} {found[1]}"
                await emit(ModelNotice(_notice_of(quirks, found[0]), text))
            except Exception as error:
                raise self._failure(error) from error

    async def _look_at_form(self, quirks: Quirks, reply: ModelReply, emit: EmitModelEvent) -> None:
        """Find out whether the endpoint keeps to a schema: many take one and do nothing with it."""
        if "{" in reply.content:
            return
        if self.table.learn(quirks, replace(quirks, typed_output=False)):
            text = f"{self.name} at {self.client.place} takes a schema and answers without it"
            await emit(ModelNotice("output_in_words", f"{text}: it is given in words from now on"))

    async def _ask(
        self, body: dict[str, Any], reader: Collector, emit: EmitModelEvent, *, streams: bool
    ) -> None:
        """Send a request and read its answer; `streams`: its text is emitted as it comes.

        Raises:
            Refusal: the endpoint does not answer.
        """
        response = await self.client.connections.post(to_json(body))
        try:
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                raise await refusal_of(response)
            if "stream" in body and not _has_come_at_once(response):
                await self._read_stream(response, reader, emit)
                if not response.content.at_eof():
                    await read_end(response, self.client.clock)
            else:
                await self._read_whole(await read_whole(response), response.status, reader)
                if streams:
                    # what was to come in pieces has come at once
                    await self._emit_whole(reader, emit)
        finally:
            # closed, where it is not read to its end
            response.release()
        if not reader.finished:
            said = f": {reader.words}" if reader.words and not reader.text else ""
            raise ModelError("unreadable", f"the answer was cut off{said}")

    async def _read_whole(self, data: bytes, status: int, reader: Collector) -> None:
        """Read an answer that came at once: JSON, or the events of a stream all the same."""
        data = decoded_once(without_frame(data))
        if not data.strip():
            raise _nothing(status)
        chunks = chunks_in(data)
        if chunks is None:
            if data[:1] not in (b"{", b"["):
                raise _words_for_an_answer(status, data.decode(errors="replace"))
            reader.read_whole(data)
            return
        for chunk in chunks:
            reader.read_chunk(chunk)
        reader.end_stream(is_done=True)

    async def _read_stream(
        self, response: aiohttp.ClientResponse, reader: Collector, emit: EmitModelEvent
    ) -> None:
        """Read a streamed answer, up to what ends it, or its end."""
        body, events, is_first = BoundedBody(response, MAX_STREAM_BYTES), EventData(), True
        while piece := await _next_piece(body, reader):
            if is_first:
                piece = piece.removeprefix(BOM)
                begins = without_frame(piece)
                if begins and not may_be_events(begins):
                    # a whole answer, an error, words or a page, whatever its type says
                    data = await body.read_rest(piece)
                    await self._read_whole(data, HTTPStatus.OK, reader)
                    await self._emit_whole(reader, emit)
                    return
                # comments, or blank lines, may stand before it
                is_first = not begins
            if await self._read_events(events.feed(piece), reader, emit):
                return
        if is_first:
            raise _nothing(response.status)
        if not await self._read_events(events.rest(), reader, emit):
            await self._emit(reader.end_stream(is_done=False), reader, emit)

    async def _read_events(
        self, events: list[bytes], reader: Collector, emit: EmitModelEvent
    ) -> bool:
        """Read events of a stream; whether nothing of the answer comes behind them."""
        for data in events:
            if data[:1] not in (b"{", b"[") and data not in DONE:
                # a comment that keeps the stream open, or words where no answer comes
                reader.note_words(data)
                continue
            if data in DONE:
                await self._emit(reader.end_stream(is_done=True), reader, emit)
                return True
            await self._emit(reader.read_chunk(data), reader, emit)
            if reader.has_ended:
                await self._emit(reader.end_stream(is_done=True), reader, emit)
                return True
        return False

    async def _emit_whole(self, reader: Collector, emit: EmitModelEvent) -> None:
        text = reader.stream.feed("".join(reader.text)) + reader.stream.rest()
        await self._emit(text, reader, emit)

    async def _emit(self, text: str, reader: Collector, emit: EmitModelEvent) -> None:
        """Emit what is new of an answer: of its text, and of what was thought."""
        if self.extras.shows_thinking and (thoughts := reader.new_thoughts()):
            await emit(ThinkingDelta(join_surrogates(thoughts)))
        if text:
            await emit(TextDelta(join_surrogates(text)))

    def _failure(self, error: Exception) -> ModelError:
        return request_error(error, self.name, self.client.endpoint, self.client.secrets)

    async def _finish(
        self, reader: Collector, request: ModelRequest, emit: EmitModelEvent
    ) -> ModelReply:
        try:
            reply = reader.reply()
        except ModelError as error:
            if error.code != "empty" or not self._has_calls_in_thoughts(reader, request):
                raise
            reply = reader.reply()
        if reader.cut:
            await emit(ModelNotice("answer_cut", f"{self.name}: {reader.cut}"))
            reply = replace(reply, is_cut=True)
        if reply.usage.total_tokens == 0:
            reply = replace(
                reply, usage=estimated_usage(request, reply.content, reply.calls, least=1)
            )
        elif reader.thoughts and not reply.usage.thinking_tokens:
            # a part of what came out, which the provider does not count apart
            thought = request.tokenizer.count("".join(reader.thoughts))
            thinking = min(thought, reply.usage.completion_tokens)
            reply = replace(reply, usage=replace(reply.usage, thinking_tokens=thinking))
        return reply

    def _has_calls_in_thoughts(self, reader: Collector, request: ModelRequest) -> bool:
        """Take the calls with which thoughts end for the answer, where there is no other."""
        takes = request.takes_written and reader.quirks.written_calls
        if not takes or reader.reason in CUT_BY_LENGTH:
            return False
        thoughts = "".join(reader.thoughts) or reader.split_text()[0]
        tools = {one.name: one.parameters.get("properties", {}) for one in request.tools}
        calls = calls_at_end(thoughts, tools)
        if calls:
            reader.text[:] = [calls]
        return bool(calls)


async def _emit_nothing(event: ModelEvent) -> None:
    """Show nothing of an answer that comes in pieces, and that no reader wants in pieces."""


def _notice_of(known: Quirks, learned: Quirks) -> str:
    """Return the code of the warning by which an operator knows what is done otherwise now."""
    if known.typed_output and not learned.typed_output:
        return "output_in_words"
    return "endpoint_learned" if known.leave_out == learned.leave_out else "parameter_refused"


def _words_for_an_answer(status: int, text: str) -> Refusal:
    """Return what a server, or something before it, has sent in place of an answer."""
    if is_html(text):
        return Refusal(status, words_of(text), text, is_html=True)
    found = refusal_in(words_of(text))
    return found if found.status else replace(found, status=status)


def _nothing(status: int) -> ModelError:
    return ModelError("unreadable", f"the server answered {status} and sent nothing")


async def _next_piece(body: BoundedBody, reader: Collector) -> bytes:
    """Read the next piece of a stream; what is lost behind the end of an answer is nothing."""
    try:
        return await body.read()
    except aiohttp.ClientError:
        if not reader.finished:
            raise
        return b""


def _has_come_at_once(response: aiohttp.ClientResponse) -> bool:
    """Return whether an answer that was to come in pieces is none that does."""
    content_type = response.headers.get("content-type", "").lower()
    return "json" in content_type or "html" in content_type
