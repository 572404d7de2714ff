"""Reads the answers of chat completions endpoints, whole or in chunks, in their dialects.

Some leave thoughts in the text, send the whole message in place of its delta, `[DONE]` without a
reason, or usage in every chunk. What a provider adds to a message (a thought signature, say) is
kept, to be sent back.
"""

import json
from typing import Any

from agents.dialects.chat.messages import THOUGHTS
from agents.dialects.collector import Collector
from agents.dialects.counts import counted_usage, part_at
from agents.dialects.refusals import error_in, refusal_in, refusal_of_document
from agents.dialects.surrogates import join_surrogates
from agents.errors import ModelError
from agents.model import ModelReply
from agents.quirks import Quirks
from tools.text.texts import map_texts

# sent back with each message; thoughts only with the calls that they led to
KEPT_MESSAGE_KEYS = frozenset({"extra_content", *THOUGHTS})
# what says more of the tokens: OpenAI's two; DeepSeek's; of gateways before Anthropic
PARTS_OF_USAGE = frozenset(
    {
        *("prompt_tokens_details", "completion_tokens_details"),
        *("prompt_cache_hit_tokens", "cache_creation_input_tokens", "cached_tokens"),
    }
)
# of these, what is words for people
SHOWN_THOUGHTS = frozenset({"reasoning_content", "reasoning"})
# in which an answer may stand
ENVELOPES = ("data", "result", "response", "output")
# of a part of a list of thoughts: texts that go on in the next piece
JOINED_KEYS = frozenset({"thinking", "text", "summary", "data"})


class ReplyReader(Collector):
    """Collects one answer."""

    def __init__(self, model: str, source: str, quirks: Quirks) -> None:
        super().__init__(model, source, quirks)
        self.extra: dict[str, Any] = {}
        # of it, texts that come in pieces: there may be many, so they are joined once
        self.pieces: dict[str, list[str]] = {}
        # some of the answer has come as deltas
        self.has_deltas = False
        # which of SHOWN_THOUGHTS this server has
        self.thoughts_key = ""

    def read_whole(self, data: bytes) -> None:
        """Read an answer that came at once: its JSON.

        Raises:
            Refusal: it is an error, or a page.
            ModelError: it is neither.
        """
        choice = self._choice(self.decoded(data))
        if choice is None:
            raise ModelError("unreadable", "the answer has no choices")
        self._take(choice, whole=True)
        self.finished = True

    def read_chunk(self, data: bytes) -> str:
        """Read a chunk of a stream, as JSON; returns what of its text is meant for others.

        Raises:
            Refusal: it is an error.
        """
        choice = self._choice(self.decoded(data))
        if choice is None:
            return ""
        before = len(self.text)
        self._take(choice, whole=False)
        self.finished = self.finished or bool(self.finish_reason)
        return self.stream.feed("".join(self.text[before:]))

    def _choice(self, data: Any) -> dict[str, Any] | None:
        data = _unpacked(data)
        if not isinstance(data, dict):
            if isinstance(data, list) and (found := error_in(data)) is not None:
                # Gemini has its errors in lists
                raise refusal_in(found.get("error", found) if isinstance(found, dict) else found)
            raise ModelError("unreadable", "the answer is unreadable: it is no JSON object")
        error = data.get("error")
        # some gateways have an empty one in every answer
        if error and (not isinstance(error, dict) or any(error.values())):
            self.take_failure(data)
            raise refusal_of_document(data)
        self.take_model(data.get("model"))
        self.take_usage(data.get("usage") or part_at(data, "x_groq", "usage"))
        given = data.get("choices")
        listed = given if isinstance(given, list) else []
        if choices := [one for one in listed if isinstance(one, dict)]:
            choice = self._of_several(choices)
            # Kimi
            self.take_usage(choice.get("usage"))
            if isinstance(error := choice.get("error"), dict):
                self.take_failure(data)
                raise refusal_in(error)
            return choice
        if isinstance(data.get("message"), dict):
            # as Ollama's own API has it
            return {**data, "finish_reason": data.get("done_reason")}
        if data.get("choices") is None and (found := error_in(data)) is not None:
            raise refusal_in(found)
        return None

    def _of_several(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the choice that is the answer: requests want one.

        Some gateways have the text of one answer in one choice, and its calls in another.
        """
        first = next((one for one in choices if not one.get("index")), choices[0])
        key = "delta" if "delta" in first else "message"
        own = first.get(key)
        own = own if isinstance(own, dict) else {}
        for other in choices:
            said = other.get("delta") or other.get("message")
            if other is first or not isinstance(said, dict) or own.get("tool_calls"):
                continue
            if calls := said.get("tool_calls"):
                own = {**own, "tool_calls": calls}
                reason = other.get("finish_reason") or first.get("finish_reason")
                first = {**first, key: own, "finish_reason": reason}
        return first

    def take_usage(self, usage: Any) -> None:
        """See Collector."""
        if not isinstance(usage, dict):
            return
        known = self.usage
        # some end a stream with zeros, and some have the names of another API
        prompt = _first(usage, "prompt_tokens", "input_tokens")
        completion = _first(usage, "completion_tokens", "output_tokens")
        if known.total_tokens and not (prompt or completion):
            return
        prompt = (not prompt and known.prompt_tokens) or prompt
        completion = (not completion and known.completion_tokens) or completion
        total = usage.get("total_tokens")
        if isinstance(total, int) and (self.quirks.google or _is_apart(usage)):
            # what was thought is in the total, and not in what came out
            completion = max(total - (prompt or 0), completion or 0)
        if PARTS_OF_USAGE.isdisjoint(usage):
            self.usage = counted_usage(prompt, completion)
            return
        read = part_at(usage, "prompt_tokens_details", "cached_tokens")
        written = part_at(usage, "prompt_tokens_details", "cache_write_tokens")
        self.usage = counted_usage(
            prompt,
            completion,
            thinking=part_at(usage, "completion_tokens_details", "reasoning_tokens"),
            cache_read=read or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens"),
            cache_write=usage.get("cache_creation_input_tokens") or written,
        )

    def _take(self, choice: dict[str, Any], *, whole: bool) -> None:
        if reason := choice.get("finish_reason"):
            self.finish_reason = str(reason)
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict) and delta:
            self.has_deltas = True
            self._message(delta, whole=whole)
        elif isinstance(message, dict):
            # behind deltas it repeats all that came
            self._message(message, whole=True, repeats=self.has_deltas)
        elif isinstance(text := choice.get("text"), str):
            self.take_text(text)

    def _message(self, message: dict[str, Any], *, whole: bool, repeats: bool = False) -> None:
        content = message.get("content")
        if repeats and self.text:
            known = "".join(self.text)
            is_more = isinstance(content, str) and content.startswith(known)
            content = content.removeprefix(known) if is_more and content else ""
        if isinstance(content, str) and content:
            self.take_text(content)
        elif isinstance(content, list):
            for part in content:
                self._part(part)
        elif isinstance(content, dict) and content:
            is_part = "text" in content or "type" in content
            self._part(content if is_part else json.dumps(content, ensure_ascii=False))
        elif isinstance(content, int | float) and not isinstance(content, bool):
            self.take_text(json.dumps(content))
        elif refusal := message.get("refusal"):
            self.take_refusal(str(refusal))
        if not KEPT_MESSAGE_KEYS.isdisjoint(message):
            for key in sorted(message.keys() & KEPT_MESSAGE_KEYS):
                if message[key]:
                    self._keep(key, map_texts(message[key], join_surrogates), whole=whole)
        pieces = message.get("tool_calls") or ()
        # some have one call in place of a list
        listed = (pieces,) if isinstance(pieces, dict) else pieces
        taken = [piece for piece in listed if isinstance(piece, dict) and piece]
        for piece in taken:
            self.count(self.calls.add(piece, whole=whole))
        old = message.get("function_call")
        if old is not None and isinstance(old, dict) and not taken:
            # the form before `tool_calls`, which has one call and no id; some send both
            self.count(self.calls.add({"index": 0, "function": old}, whole=whole))

    def _part(self, part: Any) -> None:
        """Take a part of a content that is a list: a text, or thoughts."""
        match part:
            case str():
                self.take_text(part)
            case {"type": "thinking" | "reasoning"}:
                pass
            case {"text": str() as text}:
                self.take_text(text)
            case {"refusal": str() as text}:
                self.take_refusal(text)

    def _keep(self, key: str, value: Any, *, whole: bool) -> None:
        """Keep what is to be sent back; pieces of a stream are joined."""
        self.count(len(str(value)))
        if isinstance(value, str):
            pieces = self.pieces.setdefault(key, [])
            if key in SHOWN_THOUGHTS:
                self._show_thoughts(key, value, whole=whole)
            if whole:
                pieces.clear()
            pieces.append(value)
            return
        known = self.extra.get(key)
        if whole or known is None or type(known) is not type(value):
            self.extra[key] = value
        elif isinstance(value, list):
            for part in value:
                _join_part(known, part)
        else:
            self.extra[key] = {**known, **value} if isinstance(value, dict) else value

    def _show_thoughts(self, key: str, text: str, *, whole: bool) -> None:
        """Take what the model thinks, of one key: some servers send the same under two."""
        self.thoughts_key = self.thoughts_key or key
        if key != self.thoughts_key:
            return
        # the whole message at the end of a stream repeats what came
        known = "".join(self.thoughts) if whole else ""
        if new := text.removeprefix(known):
            self.take_thoughts(new)

    def reply(self) -> ModelReply:
        """Return the whole answer; raises ModelError where there is neither text nor call."""
        thoughts, content = self.split_text()
        kept, calls = self.extra, self.calls.calls
        if self.pieces:
            kept = kept | {key: "".join(pieces) for key, pieces in self.pieces.items()}
        had_thoughts = bool(thoughts)
        if kept and not calls:
            had_thoughts = had_thoughts or any(kept.get(key) for key in THOUGHTS)
            kept = {key: value for key, value in kept.items() if key not in THOUGHTS}
        is_signed = bool(calls) and any(call.extra for call in calls)
        return self.make_reply(content, kept, had_thoughts=had_thoughts, is_signed=is_signed)


def _unpacked(data: Any) -> Any:
    """Return an answer that stands in another object, as some gateways have it."""
    if not isinstance(data, dict) or data.get("choices") or data.get("error"):
        return data
    for key in ENVELOPES:
        inner = data.get(key)
        if isinstance(inner, dict) and isinstance(inner.get("choices"), list):
            return {**inner, "usage": inner.get("usage") or data.get("usage")}
    return data


def _first(usage: dict[str, Any], *keys: str) -> Any:
    """Return what the first of these keys has that is there."""
    return next((usage[key] for key in keys if usage.get(key) is not None), None)


def _is_apart(usage: dict[str, Any]) -> bool:
    """Return whether what was thought is no part of what is said to have come out, as xAI's."""
    thinking = part_at(usage, "completion_tokens_details", "reasoning_tokens")
    parts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), thinking)
    if not thinking or not all(isinstance(one, int) and one >= 0 for one in parts):
        return False
    return bool(usage.get("total_tokens") == sum(map(int, parts)))


def _join_part(known: list[Any], part: Any) -> None:
    """Join a piece of a list of thoughts: to the last of its kind that is not signed yet."""
    last = known[-1] if known else None
    is_same = (
        isinstance(last, dict)
        and isinstance(part, dict)
        and last.get("type") == part.get("type")
        and last.get("index") == part.get("index")
        and not last.get("signature")
    )
    if not is_same or last is None:
        known.append(part)
        return
    for key, value in part.items():
        if key in JOINED_KEYS and isinstance(value, str) and isinstance(last.get(key), str):
            last[key] += value
        elif value or key not in last:
            last[key] = value
