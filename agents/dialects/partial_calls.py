"""Tool calls that servers send whole or in pieces, in their dialects.

Some leave out `index`, give one index to several calls, another id to each piece, repeat the name,
or send arguments that are nearly JSON. What a provider adds to a call is kept, to be sent back.
"""

import itertools
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from agents.dialects.surrogates import join_surrogates
from agents.written.text_calls import Reader, UnreadableCall
from tools.calls import ToolCall
from tools.text.texts import map_texts

MAX_ARGUMENT_BYTES = 2**20
MAX_DEPTH = 32
KNOWN_CALL_KEYS = frozenset(
    {"id", "type", "index", "function", "name", "arguments", "parameters", "input"}
)
FENCE = re.compile(r"\s*```\w*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
# a template's mark that has slipped in behind the arguments
SLIPPED = re.compile(r"(?:<\|[^<>|]{1,40}\|>|</s>|</tool_call>)\s*\Z")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        # as JSON it would be null, which is not what a tool would get
        raise ValueError(f"{digits[:20]} is beyond every number")
    return number


# a text may hold line breaks and tabs as they are
ARGUMENTS = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, strict=False)


@dataclass(slots=True)
class PartialCall:
    """A call with arguments that are still being written."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    # the last piece of the arguments, and whether each has had all before it
    last: str = ""
    grows: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are a whole object."""
        return self.read() is not None

    def read(self) -> Any:
        """Return its arguments; None where they are no whole object yet."""
        text = self.arguments.strip()
        if not (text.startswith("{") and text.endswith("}")):
            return None
        try:
            return ARGUMENTS.decode(text)
        except (ValueError, RecursionError):
            return None


class PartialCalls:
    """The calls of one answer."""

    def __init__(self) -> None:
        self.calls: list[PartialCall] = []
        # texts of the answer may have halves of surrogate pairs
        self.has_halves = False
        self._by_index: dict[int, PartialCall] = {}

    def add(self, piece: dict[str, Any], *, whole: bool) -> int:
        """Take a call, or a piece of one; returns how many characters it has.

        Args:
            piece: of `tool_calls`.
            whole: the answer came at once, so that it is a call of its own whatever its id.
        """
        function = piece.get("function")
        # some have no object of its own for what is called
        function = function if isinstance(function, dict) else piece
        given = str(piece.get("index"))
        index = int(given) if given.isdecimal() else None
        call_id, name = str(piece.get("id") or ""), str(function.get("name") or "")
        if self.has_halves:
            call_id, name = join_surrogates(call_id), join_surrogates(name)
        keys = ("arguments", "parameters", "input")
        arguments = next((function[key] for key in keys if key in function), None)
        text = arguments if isinstance(arguments, str) else ""
        if arguments is not None and not isinstance(arguments, str):
            text = json.dumps(arguments)
        if self._is_known(PartialCall(call_id, name, text)):
            # some send it once more at the end: made twice, it would act twice
            return 0
        call = self._new() if whole else self._partial(index, call_id, name)
        call.id = call.id or call_id
        if not call.arguments:
            call.name = _joined(call.name, name)
        if call.arguments.strip() == "{}" and text.lstrip().startswith("{"):
            # an empty object, sent before the real one
            call.arguments = ""
        if text:
            call.grows = call.grows and text.startswith(call.last)
            call.last = text
        call.arguments += text
        for key, value in piece.items():
            if key not in KNOWN_CALL_KEYS:
                call.extra[key] = map_texts(value, join_surrogates)
        # a call that is not written yet takes room, too
        return len(name) + len(text) + len("call")

    def _is_known(self, piece: PartialCall) -> bool:
        """Return whether a whole call has come before: of the same id, tool and arguments."""
        if not piece.id or not piece.is_whole:
            return False
        of = [one for one in self.calls if (one.id, one.name) == (piece.id, piece.name)]
        return any(one.is_whole and one.read() == piece.read() for one in of)

    def _partial(self, index: int | None, call_id: str, name: str) -> PartialCall:
        """Return the call that a piece continues: by its index, else its id, else the last.

        A name begins a new one where the call so far is whole. Some count an index wrongly: the
        pieces of a call that has an id of its own, or nothing by which it is another one, are its.
        """
        by_id = next((one for one in self.calls if call_id and one.id == call_id), None)
        known = None if index is None else self._by_index.get(index)
        if known is None or (by_id is not None and not name):
            known = by_id or known
        if known is None and not call_id and not name and self.calls:
            known = self.calls[-1]
        if known is None or (name and self._is_other(known, call_id, name)):
            known = self._new()
        if index is not None:
            self._by_index[index] = known
        return known

    def _is_other(self, known: PartialCall, call_id: str, name: str) -> bool:
        """Return whether a piece with a name is of another call than the one that has its index."""
        if not known.name:
            return False
        has_own_id = bool(call_id and known.id and call_id != known.id)
        if known.is_whole:
            # an empty object may stand before the arguments
            return known.arguments.strip() != "{}" or not call_id or call_id != known.id
        return has_own_id and (name != known.name or not known.arguments)

    def _new(self) -> PartialCall:
        self.calls.append(PartialCall())
        return self.calls[-1]

    def finished(self) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id of its own, by which its result will be known."""
        if not self.calls:
            return ()
        given = [call.id for call in self.calls]
        fresh = (name for n in itertools.count(1) if (name := f"call_{n}") not in given)
        seen: set[str] = set()
        for call in self.calls:
            if not call.id or call.id in seen:
                call.id = next(fresh)
            seen.add(call.id)
        return tuple(_to_tool_call(call) for call in self.calls)


def _joined(known: str, new: str) -> str:
    """Return a name that may come in pieces, as a whole again, or as it has grown."""
    if new.startswith(known):
        return new
    return known if new.endswith(known) or known.endswith(new) else known + new


def _to_tool_call(call: PartialCall) -> ToolCall:
    arguments: Any = {}
    error = None
    try:
        if len(call.arguments) > MAX_ARGUMENT_BYTES:
            error = f"the arguments are larger than {MAX_ARGUMENT_BYTES:,} bytes"
        elif call.arguments.strip():
            arguments = _read(call)
            # some servers write null, or an empty list, for none
            arguments = {} if arguments in (None, []) else arguments
        if not isinstance(arguments, dict):
            error = "the arguments are no JSON object"
        elif _is_deeper(arguments, MAX_DEPTH):
            error = f"the arguments are nested more than {MAX_DEPTH} deep"
    except (ValueError, RecursionError) as reason:
        error = f"the arguments are not JSON: {reason}"
    if error is not None:
        return ToolCall(call.id, call.name, {}, error, call.extra)
    return ToolCall(call.id, call.name, map_texts(arguments, join_surrogates), None, call.extra)


def _read(call: PartialCall) -> Any:
    try:
        return read_arguments(call.arguments)
    except ValueError:
        if not call.grows or call.last == call.arguments:
            raise
        # each piece was all that there was by then
        return read_arguments(call.last)


def read_arguments(text: str) -> Any:
    """Read the arguments of a call: JSON, or nearly.

    Taken as well: raw line breaks in texts, JSON within a JSON text, a code fence around it, an
    empty object or the same one before it, single quotes, a mark of the template or a bracket too
    many behind it.

    Raises:
        ValueError: it is none of that; with what is wrong with it as JSON.
    """
    try:
        value = ARGUMENTS.decode(text)
    except ValueError as error:
        value = _nearly(text, error)
    if isinstance(value, str):
        # encoded twice
        inner = value.strip()
        if inner.startswith("{"):
            return ARGUMENTS.decode(inner)
    return value


def _nearly(text: str, error: ValueError) -> Any:
    if (fenced := FENCE.fullmatch(text)) is not None:
        return ARGUMENTS.decode(fenced[1])
    if (several := _several(text)) is not None:
        return several
    cut = SLIPPED.sub("", text)
    if cut != text:
        return ARGUMENTS.decode(cut)
    if not isinstance(error, json.JSONDecodeError):
        # a number that no tool could mean, which is no matter of form
        raise error
    stripped = text.strip()
    reader = Reader(stripped, 0)
    try:
        found = reader.object() if stripped.startswith("{") else None
    except UnreadableCall:
        found = None
    if found is None or stripped[reader.at :].strip("} \t\r\n"):
        raise error
    return found


def _several(text: str) -> Any:
    """Return the one object that a text of several is, where all others are empty or the same."""
    found: list[Any] = []
    at = 0
    try:
        while at < len(text):
            value, at = ARGUMENTS.raw_decode(text, at)
            found.append(value)
            while at < len(text) and text[at].isspace():
                at += 1
    except ValueError:
        return None
    different = [one for number, one in enumerate(found) if one and one not in found[:number]]
    return different[0] if len(found) > 1 and len(different) == 1 else None


def _is_deeper(value: dict[str, Any] | list[Any], levels: int) -> bool:
    """Return whether objects and lists are nested in more levels than so many."""
    if levels == 0:
        return True
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list) and _is_deeper(part, levels - 1):
            return True
    return False
