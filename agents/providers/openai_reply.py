"""Reads the answers of chat completions endpoints, whole or in chunks, in their dialects.

Some leave out `index`, or repeat the id, or say `stop` although there are calls, or send usage in
every chunk. What a provider adds to a call or a message (a thought signature, say) is kept, to be
sent back.
"""

import itertools
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from agents.errors import ModelError
from agents.model import ModelReply, Usage
from tools.calls import ToolCall
from tools.texts import map_texts

# of one request; more is no count
MAX_TOKENS = 10**9
# of a whole answer
MAX_CHARACTERS = 8 * 2**20
MAX_ARGUMENT_BYTES = 2**20
MAX_DEPTH = 32
# how servers say that a request is too long: OpenAI and vLLM ("maximum context length",
# context_length_exceeded), Anthropic ("prompt is too long"), llama.cpp ("exceeds the available
# context size"), Gemini ("input token count … exceeds the maximum"), Groq ("reduce the length")
TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|prompt is too long|input is too long"
    r"|exceeds? the (?:available |maximum |model's )?(?:context|number of tokens)"
    r"|token count.{0,80}exceeds|reduce the length|too many (?:input )?tokens",
    re.IGNORECASE | re.DOTALL,
)
KNOWN_CALL_KEYS = frozenset({"id", "type", "index", "function"})
# Only these are sent back; some servers refuse keys that they do not know.
KEPT_MESSAGE_KEYS = ("extra_content",)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        # as JSON it would be null, which is not what a tool would get
        raise ValueError(f"{digits[:20]} is beyond every number")
    return number


ARGUMENTS = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


@dataclass(slots=True)
class PartialCall:
    """A call whose arguments are still being written."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


class ReplyReader:
    """Collects one answer."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.text: list[str] = []
        self.calls: list[PartialCall] = []
        self.by_index: dict[int, PartialCall] = {}
        self.usage = Usage()
        self.extra: dict[str, Any] = {}
        # of all that is kept of the answer
        self.characters = 0
        # a finish_reason came, or the whole answer at once
        self.finished = False

    def read_whole(self, data: bytes) -> None:
        """Read an answer that came at once: its JSON."""
        choice = self._choice(_decoded(data))
        if choice is None:
            raise ModelError("unreadable", "the answer has no choices")
        self._message(choice["message"], whole=True)
        self.finished = True

    def read_chunk(self, data: bytes) -> str:
        """Read a chunk of a stream, as JSON; returns its text."""
        choice = self._choice(_decoded(data))
        if choice is None:
            return ""
        before = len(self.text)
        self._message(choice.get("delta") or {})
        self.finished = self.finished or choice.get("finish_reason") is not None
        return "".join(self.text[before:])

    def _choice(self, data: Any) -> dict[str, Any] | None:
        if error := data.get("error"):
            raise _error_in_answer(error)
        if (model := data.get("model")) and model != self.model:
            self.model = join_surrogates(str(model))
        if usage := data.get("usage"):
            tokens = [int(usage.get(f"{kind}_tokens") or 0) for kind in ("prompt", "completion")]
            if not all(0 <= count <= MAX_TOKENS for count in tokens):
                raise ModelError("unreadable", f"the usage is impossible: {str(tokens)[:100]}")
            self.usage = Usage(*tokens)
        choices = data.get("choices")
        return choices[0] if choices else None

    def _message(self, message: dict[str, Any], *, whole: bool = False) -> None:
        content = message.get("content")
        if isinstance(content, str) and content:
            self.text.append(content)
            self._count(content)
        elif content:
            self.text += [part.get("text", "") for part in content]
        elif refusal := message.get("refusal"):
            # a refusal is an answer in words
            self.text.append(str(refusal))
        for key in KEPT_MESSAGE_KEYS:
            if key in message:
                self.extra[key] = map_texts(message[key], join_surrogates)
        for piece in message.get("tool_calls") or ():
            self._call(piece, whole=whole)

    def _call(self, piece: dict[str, Any], *, whole: bool) -> None:
        index, function = piece.get("index"), piece.get("function") or {}
        call_id = join_surrogates(str(piece.get("id") or ""))
        name = join_surrogates(str(function.get("name") or ""))
        # a whole answer has whole calls, whatever their ids
        call = self._new() if whole else self._partial(index, call_id, name)
        call.id, call.name = call.id or call_id, call.name or name
        arguments = function.get("arguments")
        # a call that is not written yet takes room, too
        self._count(name + str(arguments or "") + "call")
        if isinstance(arguments, str):
            call.arguments += arguments
        elif arguments is not None:
            call.arguments += json.dumps(arguments)
        for key, value in piece.items():
            if key not in KNOWN_CALL_KEYS:
                call.extra[key] = map_texts(value, join_surrogates)

    def _partial(self, index: int | None, call_id: str, name: str) -> PartialCall:
        """The call that a piece continues: by its index, else its id, else the last.

        A name starts a new one.
        """
        if index is not None:
            known = self.by_index.get(index)
        else:
            known = next((c for c in self.calls if call_id and c.id == call_id), None)
        if known is None and index is None and not call_id and not name and self.calls:
            known = self.calls[-1]
        reused = index is not None and call_id and known and known.id and known.id != call_id
        if known is None or reused:
            known = self._new()
        if index is not None:
            self.by_index[index] = known
        return known

    def _count(self, text: str) -> None:
        """Raise ModelError once the answer is larger than one may be, however it is cut up."""
        self.characters += len(text)
        if self.characters > MAX_CHARACTERS:
            raise ModelError("unreadable", "the answer is larger than 8 MiB")

    def _new(self) -> PartialCall:
        self.calls.append(PartialCall())
        return self.calls[-1]

    def reply(self, *, has_native_calls: bool = True) -> ModelReply:
        """The whole answer, or ModelError("empty") where there is neither text nor call."""
        content = join_surrogates("".join(self.text))
        self._give_ids()
        calls = tuple(_to_tool_call(call) for call in self.calls)
        if not calls and not content.strip():
            raise ModelError("empty", "the answer is empty")
        return ModelReply(
            content,
            calls,
            self.usage,
            self.model,
            self.extra,
            has_native_calls=has_native_calls,
        )

    def _give_ids(self) -> None:
        """Every call gets an id of its own, by which its result will be known."""
        given = [call.id for call in self.calls]
        fresh = (name for n in itertools.count(1) if (name := f"call_{n}") not in given)
        seen: set[str] = set()
        for call in self.calls:
            if not call.id or call.id in seen:
                call.id = next(fresh)
            seen.add(call.id)


def _error_in_answer(error: Any) -> ModelError:
    """An error that a server put into an answer with status 200."""
    message, code = error, ""
    if isinstance(error, dict):
        message, code = error.get("message", error), str(error.get("code", ""))
    if is_too_long(f"{code} {message}"):
        return ModelError("context_overflow", str(message)[:500])
    limited = code in ("429", "rate_limit_exceeded")
    return ModelError("rate_limited" if limited else "unavailable", str(message)[:500])


def is_too_long(text: str) -> bool:
    """Whether a server refuses a request for its length, by the text of its error."""
    return TOO_LONG.search(text) is not None


def _to_tool_call(call: PartialCall) -> ToolCall:
    arguments: Any = {}
    error = None
    try:
        if len(call.arguments) > MAX_ARGUMENT_BYTES:
            error = f"the arguments are larger than {MAX_ARGUMENT_BYTES:,} bytes"
        elif call.arguments.strip():
            arguments = ARGUMENTS.decode(call.arguments)
            # some servers write null for none
            arguments = {} if arguments is None else arguments
        if not isinstance(arguments, dict):
            error = "the arguments are no JSON object"
        elif _is_deeper(arguments, MAX_DEPTH):
            error = f"the arguments are nested more than {MAX_DEPTH} deep"
    except (ValueError, RecursionError) as reason:
        error = f"the arguments are not JSON: {reason}"
    if error is not None:
        return ToolCall(call.id, call.name, {}, error, call.extra)
    return ToolCall(call.id, call.name, map_texts(arguments, join_surrogates), None, call.extra)


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether objects and lists are nested in more levels than so many."""
    if not isinstance(value, dict | list):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in parts)


def _decoded(data: bytes) -> Any:
    """JSON; raises ValueError."""
    try:
        return from_json(data)
    except ValueError:
        # three times as slow, but it takes halves of surrogate pairs
        return json.loads(data)


def join_surrogates(text: str) -> str:
    """Text without lone surrogates, which have no UTF-8 form; halves of a pair are joined."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
