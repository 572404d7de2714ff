"""Reads the answers of Anthropic's messages API, whole or in events."""

from typing import Any

from agents.dialects.anthropic.blocks import BLOCKS, THINKING
from agents.dialects.collector import CUT_BY_LENGTH, CUT_IN_CALL, Collector
from agents.dialects.counts import count_in, counted_usage, part_at, whole_count
from agents.dialects.refusals import error_in, refusal_in
from agents.dialects.surrogates import join_surrogates
from agents.errors import ModelError
from agents.model import ModelReply
from tools.text.texts import map_texts

# of the pieces of a block: in which key of the piece the text of which key of the block is
PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "partial_json"),
}


class MessageReader(Collector):
    """Collects one answer."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        # as they came; of a stream, the texts in pieces, by the index of the block
        self.blocks: dict[int, dict[str, Any]] = {}
        self.pieces: dict[tuple[int, str], list[str]] = {}
        self.counts: dict[str, Any] = {}
        # of the calls, those with arguments
        self.started: set[int] = set()

    def read_whole(self, data: bytes) -> None:
        """Read an answer that came at once; raises Refusal or ModelError."""
        message = self.document(data)
        if not isinstance(message.get("content"), list):
            if (found := error_in(message)) is not None:
                self.take_failure(message)
                raise refusal_in(found)
            raise ModelError("unreadable", "the answer has no content")
        self.take_model(message.get("model"))
        for index, block in enumerate(message["content"]):
            if isinstance(block, dict):
                self._begin(index, block)
        self._take_end(message)
        self.take_usage(message.get("usage"))
        self.finished = True

    def read_chunk(self, data: bytes) -> str:
        """Read an event; return what of its text is meant for others; raises Refusal."""
        event, before = self.document(data), len(self.text)
        match event.get("type"):
            case "message_start":
                message = _dict(event.get("message"))
                self.take_model(message.get("model"))
                self.take_usage(message.get("usage"))
            case "content_block_start":
                self._begin(_index(event), _dict(event.get("content_block")))
            case "content_block_delta":
                self._add(_index(event), _dict(event.get("delta")))
            case "message_delta":
                self._take_end(_dict(event.get("delta")))
                self.take_usage(event.get("usage"))
            case "message_stop":
                self.finished = self.has_ended = True
        return self.stream.feed("".join(self.text[before:]))

    def _take_end(self, end: dict[str, Any]) -> None:
        if reason := end.get("stop_reason"):
            self.finish_reason = str(reason)
            self.has_refused = self.has_refused or reason == "refusal"
            # some gateways send no `message_stop` behind it
            self.finished = True
        why = part_at(end, "stop_details", "explanation")
        if why and not self.text and isinstance(why, str):
            self.take_refusal(why)

    def take_usage(self, usage: Any) -> None:
        """See Collector."""
        if not isinstance(usage, dict):
            return
        # the newest of a stream leave out what has not changed, or have a zero there
        known = self.counts
        self.counts |= {key: value for key, value in usage.items() if value or key not in known}
        counts = self.counts
        read = count_in(counts, "cache_read_input_tokens")
        write = count_in(counts, "cache_creation_input_tokens")
        new = whole_count(counts.get("input_tokens"))
        self.usage = counted_usage(
            None if new is None else new + read + write,
            counts.get("output_tokens"),
            thinking=part_at(counts, "output_tokens_details", "thinking_tokens"),
            cache_read=read,
            cache_write=write,
        )

    def _begin(self, index: int, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if not isinstance(kind, str):
            return
        self.blocks[index] = block
        match kind:
            case "text" if isinstance(text := block.get("text"), str) and text:
                self.take_text(text)
            case "thinking" | "redacted_thinking":
                self.count(len(str(block)))
                if isinstance(text := block.get("thinking"), str) and text:
                    self.take_thoughts(text)
            case "tool_use":
                function = {"name": block.get("name")}
                self.calls.add(
                    {"index": index, "id": block.get("id"), "function": function}, whole=False
                )

    def _add(self, index: int, delta: dict[str, Any]) -> None:
        """Add a piece to a block."""
        source, target = PIECES.get(str(delta.get("type")), ("", ""))
        text = delta.get(source)
        if target in ("text", "thinking") and index not in self.blocks:
            # its beginning was not sent
            self._begin(index, {"type": target, target: ""})
        if not isinstance(text, str) or index not in self.blocks:
            return
        match target:
            case "text":
                self.take_text(text)
            case "partial_json" if self.blocks[index]["type"] == "tool_use":
                self.started.add(index)
                self._take_call(index, json_arguments=text)
                return
            case "thinking":
                self.count(len(text))
                self.take_thoughts(text)
            case _:
                self.count(len(text))
        self.pieces.setdefault((index, target), []).append(text)

    def _take_call(self, index: int, *, json_arguments: Any) -> None:
        function = {"arguments": json_arguments}
        self.count(self.calls.add({"index": index, "function": function}, whole=False))

    def reply(self) -> ModelReply:
        """Return the whole answer; raises ModelError where there is neither text nor call."""
        self._end_calls()
        thoughts, content = self.split_text()
        blocks = [self._whole(index) for index in sorted(self.blocks)]
        kinds = {one.get("type") for one in blocks}
        has_thought = not kinds.isdisjoint(THINKING)
        # without thinking, the text and the calls say it all
        kept = {BLOCKS: [one for one in map(_kept, blocks) if one]} if has_thought else {}
        had_thoughts = has_thought or bool(thoughts)
        return self.make_reply(content, kept, had_thoughts=had_thoughts, is_signed=False)

    def _end_calls(self) -> None:
        """Take the arguments of calls that came with their beginning."""
        calls = [index for index, one in self.blocks.items() if one["type"] == "tool_use"]
        for index in calls:
            if index not in self.started and (given := self.blocks[index].get("input")):
                self._take_call(index, json_arguments=given)
        last = max(self.blocks, default=-1)
        is_open = last in calls and last not in self.started and not self.blocks[last].get("input")
        if is_open and self.reason in CUT_BY_LENGTH:
            raise ModelError("empty", CUT_IN_CALL)

    def _whole(self, index: int) -> dict[str, Any]:
        """Return a block with all its pieces."""
        block = dict(self.blocks[index])
        for key in ("text", "thinking", "signature"):
            if pieces := self.pieces.get((index, key)):
                before = block.get(key)
                block[key] = "".join([before if isinstance(before, str) else "", *pieces])
        return block


def _kept(block: dict[str, Any]) -> dict[str, Any] | None:
    """Return what is kept of a block; None for nothing."""
    match block.get("type"):
        case "thinking" | "redacted_thinking":
            kept: dict[str, Any] = map_texts(block, join_surrogates)
            return kept
        case "text" if isinstance(text := block.get("text"), str) and text:
            return {"type": "text", "text": join_surrogates(text)}
        case "tool_use":
            return {"type": "tool_use"}
        case _:
            return None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0
