"""Reads the answers of chat completions endpoints, whole or in chunks.

In the dialects that are about.

Some leave out `index`, or repeat the id, or say `stop` although there are calls, or send usage in
every chunk; what a
provider adds to a call or a message (a thought signature, say) is kept to be sent back.
"""

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from agents.errors import ModelError
from agents.model import ModelReply, Usage
from tools.calls import ToolCall

KNOWN_CALL_KEYS = frozenset({"id", "type", "index", "function"})
# Only what is known to be wanted back is sent back; other servers refuse keys that they do not
# know.
KEPT_MESSAGE_KEYS = ("extra_content",)


@dataclass(slots=True)
class PartialCall:
    """A call whose arguments are still being written."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


class Answer:
    """Gathers one answer."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.text: list[str] = []
        self.calls: list[PartialCall] = []
        self.by_index: dict[int, PartialCall] = {}
        self.usage = Usage()
        self.extra: dict[str, Any] = {}
        # a finish_reason came, or the whole answer at once
        self.finished = False

    def take_whole(self, data: Any) -> None:
        """Take an answer that came at once."""
        choice = self._choice(data)
        if choice is None:
            raise ModelError("unreadable", "the answer has no choices")
        self._message(choice["message"], whole=True)
        self.finished = True

    def take_chunk(self, data: Any) -> str:
        """Take a chunk of a stream; returns its text."""
        choice = self._choice(data)
        if choice is None:
            return ""
        before = len(self.text)
        self._message(choice.get("delta") or {})
        self.finished = self.finished or choice.get("finish_reason") is not None
        return "".join(self.text[before:])

    def _choice(self, data: Any) -> dict[str, Any] | None:
        if error := data.get("error"):
            message = error.get("message", error) if isinstance(error, dict) else error
            code = str(error.get("code", "")) if isinstance(error, dict) else ""
            raise ModelError(
                "rate_limited" if code in ("429", "rate_limit_exceeded") else "unavailable",
                str(message)[:500],
            )
        self.model = mended(str(data.get("model") or self.model))
        if usage := data.get("usage"):
            self.usage = Usage(
                int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
            )
        choices = data.get("choices")
        return choices[0] if choices else None

    def _message(self, message: dict[str, Any], *, whole: bool = False) -> None:
        if content := message.get("content"):
            self.text.append(
                content
                if isinstance(content, str)
                else "".join(part.get("text", "") for part in content)
            )
        elif refusal := message.get("refusal"):
            # a refusal is an answer in words
            self.text.append(str(refusal))
        for key in KEPT_MESSAGE_KEYS:
            if key in message:
                self.extra[key] = _mended_deep(message[key])
        for piece in message.get("tool_calls") or ():
            self._call(piece, whole=whole)

    def _call(self, piece: dict[str, Any], *, whole: bool) -> None:
        index, function = piece.get("index"), piece.get("function") or {}
        call_id, name = mended(str(piece.get("id") or "")), mended(str(function.get("name") or ""))
        # a whole answer has whole calls, whatever their ids
        call = self._new() if whole else self._partial(index, call_id, name)
        call.id, call.name = call.id or call_id, call.name or name
        arguments = function.get("arguments")
        call.arguments += (
            arguments
            if isinstance(arguments, str)
            else json.dumps(arguments)
            if arguments is not None
            else ""
        )
        call.extra |= {
            key: _mended_deep(value) for key, value in piece.items() if key not in KNOWN_CALL_KEYS
        }

    def _partial(self, index: int | None, call_id: str, name: str) -> PartialCall:
        """The call that a piece goes on with: by its index, else its id, else the last.

        A name begins one.
        """
        known = (
            self.by_index.get(index)
            if index is not None
            else next((c for c in self.calls if call_id and c.id == call_id), None)
        )
        if known is None and index is None and not call_id and not name and self.calls:
            known = self.calls[-1]
        if known is None or (index is not None and call_id and known.id and known.id != call_id):
            known = self._new()
        if index is not None:
            self.by_index[index] = known
        return known

    def _new(self) -> PartialCall:
        self.calls.append(PartialCall())
        return self.calls[-1]

    def reply(self) -> ModelReply:
        """The whole answer, or ModelError("empty") where there is neither text nor call."""
        content = mended("".join(self.text))
        self._name_calls()
        calls = tuple(_made(call) for call in self.calls)
        if not calls and not content.strip():
            raise ModelError("empty", "the answer is empty")
        return ModelReply(content, calls, self.usage, self.model, self.extra)

    def _name_calls(self) -> None:
        """Every call an id of its own, by which its result will be known."""
        said = [call.id for call in self.calls]
        fresh = (name for n in itertools.count(1) if (name := f"call_{n}") not in said)
        seen: set[str] = set()
        for call in self.calls:
            if not call.id or call.id in seen:
                call.id = next(fresh)
            seen.add(call.id)


def _made(call: PartialCall) -> ToolCall:
    try:
        arguments = (
            json.loads(call.arguments, parse_constant=_no_number) if call.arguments.strip() else {}
        )
        flaw = None if isinstance(arguments, dict) else "the arguments are no JSON object"
    except (ValueError, RecursionError) as error:
        arguments, flaw = {}, f"the arguments are not JSON: {error}"
    return ToolCall(
        call.id, call.name, _mended_deep(arguments) if flaw is None else {}, flaw, call.extra
    )


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def mended(text: str) -> str:
    """Text without lone surrogates, which have no UTF-8 form.

    Pairs that came in two pieces are joined.
    """
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _mended_deep(value: Any) -> Any:
    match value:
        case str():
            return mended(value)
        case dict():
            return {mended(k): _mended_deep(v) for k, v in value.items()}
        case list():
            return [_mended_deep(v) for v in value]
        case _:
            return value
