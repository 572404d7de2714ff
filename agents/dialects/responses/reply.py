"""Reads the answers of OpenAI's responses API, whole or in events."""

from typing import Any

from agents.dialects.collector import CUT_IN_CALL, Collector
from agents.dialects.counts import counted_usage, part_at
from agents.dialects.refusals import error_in, refusal_in
from agents.dialects.responses.items import ITEMS
from agents.dialects.surrogates import join_surrogates
from agents.errors import ModelError
from agents.model import ModelReply
from tools.text.texts import map_texts

# between two messages of one answer
BETWEEN = "\n\n"


class ResponseReader(Collector):
    """Collects one answer."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        # of a stream, those that are whole, by their places
        self.items: dict[int, dict[str, Any]] = {}
        # of a stream, those that have begun; of these, the message that is being written
        self.begun: set[int] = set()
        self.writing: int | None = None

    def read_whole(self, data: bytes) -> None:
        """Read an answer that came at once; raises Refusal or ModelError."""
        document = self.document(data)
        if not isinstance(document.get("output"), list):
            if (found := error_in(document)) is not None:
                raise refusal_in(found)
            raise ModelError("unreadable", "the answer has no output")
        self._take_response(document)

    def read_chunk(self, data: bytes) -> str:
        """Read an event; return what of its text is meant for others; raises Refusal."""
        event, before = self.document(data), len(self.text)
        kind = event.get("type")
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._take_piece(event, is_refusal=kind == "response.refusal.delta")
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                if isinstance(delta := event.get("delta"), str):
                    self.take_thoughts(delta)
            case "response.reasoning_summary_part.added" if self.thoughts:
                self.take_thoughts(BETWEEN)
            case "response.output_item.added":
                self.begun.add(_index(event, len(self.begun)))
            case "response.output_item.done":
                if isinstance(item := event.get("item"), dict):
                    self.items[_index(event, len(self.items))] = item
            case (
                "response.completed"
                | "response.incomplete"
                | "response.failed"
                # the same in other servers
                | "response.done"
            ):
                response = event.get("response")
                return self._end(response if isinstance(response, dict) else {})
        return self.stream.feed("".join(self.text[before:]))

    def end_stream(self, *, is_done: bool) -> str:
        """End a stream that has no last event of its own; its items may be whole."""
        if not self.has_ended and is_done and self.begun and self.begun <= self.items.keys():
            return self._end({}) + self.stream.rest()
        return self.stream.rest()

    def _take_delta(self, delta: Any) -> None:
        if isinstance(delta, str) and delta:
            self.take_text(delta)

    def _take_piece(self, event: dict[str, Any], *, is_refusal: bool) -> None:
        """Take a piece of a message; a blank line parts it from one before it."""
        delta, index = event.get("delta"), _index(event, 0)
        if not isinstance(delta, str) or not delta:
            return
        if self.writing is not None and index != self.writing:
            self.take_text(BETWEEN)
        self.writing = index
        if is_refusal:
            self.take_refusal(delta)
        else:
            self.take_text(delta)

    def _end(self, response: dict[str, Any]) -> str:
        """Take the whole answer at the end of a stream; return what is new of its text."""
        told = "".join(self.text)
        self.text.clear()
        self.characters = 0
        if not response.get("output"):
            # some servers have it in the events before alone
            response = {**response, "output": [self.items[key] for key in sorted(self.items)]}
        self._take_response(response)
        self.has_ended = True
        whole = "".join(self.text)
        if told and not whole.startswith(told):
            # what was shown is the answer
            self.text[:] = [told]
            return ""
        return self.stream.feed(whole[len(told) :])

    def _take_response(self, response: dict[str, Any]) -> None:
        if response.get("error"):
            self.take_failure(response)
            raise refusal_in(response["error"])
        status = response.get("status")
        if status not in (None, "completed", "incomplete"):
            self.take_failure(response)
            raise ModelError("unavailable", f"the provider has not answered (status: {status})")
        self.take_model(response.get("model"))
        reason = part_at(response, "incomplete_details", "reason")
        self.finish_reason = str(reason or response.get("status") or "")
        self.take_usage(response.get("usage"))
        given = response.get("output")
        if not isinstance(given, list):
            raise ModelError("unreadable", "the answer has no output")
        output = [
            one for one in given if isinstance(one, dict) and isinstance(one.get("type"), str)
        ]
        self.items = dict(enumerate(output))
        shows = not self.thoughts
        for item in output:
            self.count(len("item"))
            match item["type"]:
                case "message":
                    if self.text:
                        self.take_text(BETWEEN)
                    self._take_message(item)
                case "function_call" if item.get("status") == "incomplete":
                    raise ModelError("empty", CUT_IN_CALL)
                case "function_call":
                    function = {"name": item.get("name"), "arguments": item.get("arguments")}
                    piece = {"id": item.get("call_id"), "function": function}
                    self.count(self.calls.add(piece, whole=True))
                case "reasoning":
                    self.count(len(str(item)))
                    if shows:
                        self._take_summary(item.get("summary"))
        self.finished = True

    def _take_summary(self, summary: Any) -> None:
        for part in summary if isinstance(summary, list) else ():
            if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                self.take_thoughts(BETWEEN + text if self.thoughts else text)

    def _take_message(self, item: dict[str, Any]) -> None:
        content = item.get("content")
        if isinstance(content, str):
            self._take_delta(content)
            return
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict):
                self._take_delta(part.get("text"))
                if isinstance(refusal := part.get("refusal"), str):
                    self.take_refusal(refusal)

    def take_usage(self, usage: Any) -> None:
        """See Collector."""
        if not isinstance(usage, dict):
            return
        self.usage = counted_usage(
            usage.get("input_tokens"),
            usage.get("output_tokens"),
            thinking=part_at(usage, "output_tokens_details", "reasoning_tokens"),
            cache_read=part_at(usage, "input_tokens_details", "cached_tokens"),
            cache_write=part_at(usage, "input_tokens_details", "cache_write_tokens"),
        )

    def reply(self) -> ModelReply:
        """Return the whole answer; raises ModelError where there is neither text nor call."""
        thoughts, content = self.split_text()
        items = [self.items[key] for key in sorted(self.items)]
        thinking = [one for one in items if one["type"] == "reasoning"]
        # what is not stored there, and came without what was thought, is not found again
        is_whole = all(one.get("encrypted_content") or one.get("content") for one in thinking)
        kept = {ITEMS: map_texts(items, join_surrogates)} if is_whole and items else {}
        had_thoughts = bool(thoughts or thinking)
        return self.make_reply(content, kept, had_thoughts=had_thoughts, is_signed=False)


def _index(event: dict[str, Any], otherwise: int) -> int:
    index = event.get("output_index")
    return index if isinstance(index, int) else otherwise
