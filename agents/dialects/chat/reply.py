"""Reads the answers of chat completions endpoints, whole or in chunks, in their dialects.

Some leave thoughts in the text, send the whole message in place of its delta, `[DONE]` without a
reason, or usage in every chunk. What a provider adds to a message (a thought signature, say) is
kept, to be sent back.
"""

import json
from typing import Any

from pydantic_core import from_json

from agents.dialects.chat.messages import THOUGHTS
from agents.dialects.chat.partial_calls import PartialCalls
from agents.dialects.refusals import error_in, refusal_in
from agents.dialects.surrogates import join_surrogates
from agents.errors import ModelError
from agents.messages import SOURCE_KEY
from agents.model import ModelReply, Usage
from agents.written.thoughts import AnswerStream, split_thoughts
from tools.text.texts import map_texts

# of one request; more is no count
MAX_TOKENS = 10**9
# of a whole answer
MAX_CHARACTERS = 8 * 2**20
# sent back with each message; thoughts only with the calls that they led to
KEPT_MESSAGE_KEYS = frozenset({"extra_content", *THOUGHTS})
# of a part of a list of thoughts: texts that go on in the next piece
JOINED_KEYS = frozenset({"thinking", "text", "summary", "data"})
CUT_BY_LENGTH = frozenset({"length", "max_tokens", "MAX_TOKENS"})
HELD_BACK = frozenset({"content_filter", "SAFETY", "safety"})


class ReplyReader:
    """Collects one answer."""

    def __init__(self, model: str, source: str) -> None:
        """`source`: names provider, address and model, which alone gets back what is kept."""
        self.model, self.source = model, source
        self.text: list[str] = []
        self.stream = AnswerStream()
        self.calls = PartialCalls()
        self.usage = Usage()
        self.extra: dict[str, Any] = {}
        # of it, texts that come in pieces: there may be many, so they are joined once
        self.pieces: dict[str, list[str]] = {}
        # of all that is kept of the answer
        self.characters = 0
        self.finish_reason = ""
        # a finish_reason came, or the whole answer at once
        self.finished = False

    def read_whole(self, data: bytes) -> None:
        """Read an answer that came at once: its JSON.

        Raises:
            Refusal: it is an error, or a page.
            ModelError: it is neither.
        """
        choice = self._choice(self._decoded(data))
        if choice is None:
            raise ModelError("unreadable", "the answer has no choices")
        self._take(choice, whole=True)
        self.finished = True

    def read_chunk(self, data: bytes) -> str:
        """Read a chunk of a stream, as JSON; returns what of its text is meant for others.

        Raises:
            Refusal: it is an error.
        """
        choice = self._choice(self._decoded(data))
        if choice is None:
            return ""
        before = len(self.text)
        self._take(choice, whole=False)
        self.finished = self.finished or bool(self.finish_reason)
        return self.stream.feed("".join(self.text[before:]))

    def end_stream(self, *, is_done: bool) -> str:
        """End a stream; `is_done`: its server said so. Returns the text that was held back."""
        self.finished = self.finished or (is_done and bool(self.text or self.calls.calls))
        return self.stream.rest()

    def _decoded(self, data: bytes) -> Any:
        """Decode JSON; raises ValueError."""
        try:
            return from_json(data)
        except ValueError:
            # three times as slow, but it takes halves of surrogate pairs
            self.calls.has_halves = True
            return json.loads(data)

    def _choice(self, data: Any) -> dict[str, Any] | None:
        if not isinstance(data, dict):
            if isinstance(data, list) and (found := error_in(data)) is not None:
                # Gemini has its errors in lists
                raise refusal_in(found.get("error", found) if isinstance(found, dict) else found)
            raise ModelError("unreadable", "the answer is unreadable: it is no JSON object")
        if error := data.get("error"):
            raise refusal_in(error)
        if (model := data.get("model")) and model != self.model:
            self.model = join_surrogates(str(model))
        if isinstance(usage := data.get("usage"), dict):
            prompt = int(usage.get("prompt_tokens") or 0)
            completion = int(usage.get("completion_tokens") or 0)
            if not (0 <= prompt <= MAX_TOKENS and 0 <= completion <= MAX_TOKENS):
                tokens = str([prompt, completion])[:100]
                raise ModelError("unreadable", f"the usage is impossible: {tokens}")
            self.usage = Usage(prompt, completion)
        if choices := data.get("choices"):
            choice: dict[str, Any] = choices[0]
            return choice
        if isinstance(data.get("message"), dict):
            # as Ollama's own API has it
            return {**data, "finish_reason": data.get("done_reason")}
        if "choices" not in data and (found := error_in(data)) is not None:
            raise refusal_in(found)
        return None

    def _take(self, choice: dict[str, Any], *, whole: bool) -> None:
        if reason := choice.get("finish_reason"):
            self.finish_reason = str(reason)
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, dict):
            self._message(message, whole=whole or "delta" not in choice)
        elif isinstance(text := choice.get("text"), str):
            self._text(text)

    def _message(self, message: dict[str, Any], *, whole: bool) -> None:
        content = message.get("content")
        if isinstance(content, str) and content:
            self._text(content)
        elif isinstance(content, list):
            for part in content:
                self._part(part)
        elif refusal := message.get("refusal"):
            # a refusal is an answer in words
            self._text(str(refusal))
        if not KEPT_MESSAGE_KEYS.isdisjoint(message):
            for key in sorted(message.keys() & KEPT_MESSAGE_KEYS):
                if message[key]:
                    self._keep(key, map_texts(message[key], join_surrogates), whole=whole)
        for piece in message.get("tool_calls") or ():
            if isinstance(piece, dict):
                self._count(self.calls.add(piece, whole=whole))
        old = message.get("function_call")
        if old is not None and isinstance(old, dict):
            # the form before `tool_calls`, which has one call and no id
            self._count(self.calls.add({"index": 0, "function": old}, whole=whole))

    def _text(self, text: str) -> None:
        self.text.append(text)
        self._count(len(text))

    def _part(self, part: Any) -> None:
        """Take a part of a content that is a list: a text, or thoughts."""
        match part:
            case str():
                self._text(part)
            case {"type": "thinking" | "reasoning"}:
                pass
            case {"text": str() as text}:
                self._text(text)
            case {"refusal": str() as text}:
                self._text(text)

    def _keep(self, key: str, value: Any, *, whole: bool) -> None:
        """Keep what is to be sent back; pieces of a stream are joined."""
        self._count(len(str(value)))
        if isinstance(value, str):
            pieces = self.pieces.setdefault(key, [])
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

    def _count(self, characters: int) -> None:
        """Raise ModelError once the answer is larger than one may be, however it is cut up."""
        self.characters += characters
        if self.characters > MAX_CHARACTERS:
            raise ModelError("unreadable", "the answer is larger than 8 MiB")

    def reply(self, *, has_native_calls: bool = True, has_written_calls: bool = True) -> ModelReply:
        """Return the whole answer; raises ModelError where there is neither text nor call."""
        text = "".join(self.text)
        if self.calls.has_halves:
            text = join_surrogates(text)
        thoughts, content = split_thoughts(text)
        calls = self.calls.finished()
        kept = self.extra
        if self.pieces:
            kept = kept | {key: "".join(pieces) for key, pieces in self.pieces.items()}
        if not calls and not content.strip():
            raise self._empty(bool(thoughts or any(kept.get(key) for key in THOUGHTS)))
        extra: dict[str, Any] = {}
        if kept:
            extra = {key: value for key, value in kept.items() if calls or key not in THOUGHTS}
        if extra or (calls and any(call.extra for call in calls)):
            extra[SOURCE_KEY] = self.source
        return ModelReply(
            content,
            calls,
            self.usage,
            self.model,
            extra,
            has_native_calls=has_native_calls,
            has_written_calls=has_written_calls,
        )

    def _empty(self, has_thoughts: bool) -> ModelError:  # of ours
        reason = f"finish_reason: {self.finish_reason}"
        if self.finish_reason in HELD_BACK:
            text = f"the provider's content filter has held the answer back ({reason})"
            return ModelError("refused", text)
        if self.finish_reason in CUT_BY_LENGTH:
            text = "the whole length went to thinking, and there is no answer"
            if not has_thoughts:
                text = "the length was used up before there was an answer"
            return ModelError("empty", f"{text} ({reason}): raise max_tokens, or let it think less")
        if has_thoughts:
            return ModelError("empty", "there is only reasoning, and no answer")
        return ModelError("empty", "the answer is empty")

    @property
    def cut(self) -> str:
        """Why a text is not whole; "" where it is."""
        if self.finish_reason in CUT_BY_LENGTH:
            return "the answer is cut by its length (finish_reason: length): raise max_tokens"
        if self.finish_reason in HELD_BACK:
            return "the provider's content filter has cut the answer"
        return ""


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
