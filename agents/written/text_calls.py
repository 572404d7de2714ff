"""Tool calls written as text: `Name(args)` at the start of a line, outside code fences."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agents.written.fences import code_fences
from agents.written.regions import plain_marks
from tools.calls import ToolCall
from tools.schemas.schema_types import is_text

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
# Gemma 4 writes so; only of a parameter
COLON = re.compile(r"\s*(\w+)\s*:\s*")
NOTHING = frozenset({"null", "none"})
WORDS = {"true": True, "false": False, **dict.fromkeys(NOTHING)}
CLOSING = {"(": ")", "[": "]", "{": "}"}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
# behind a backslash: a character, or both halves of one
UNICODE = re.compile(
    r"u(?:(D[89AB]{h}{{2}})\\u(D[C-F]{h}{{2}})|(?!D[89A-F])({h}{{4}}))".format(h="[0-9A-F]"),
    re.IGNORECASE,
)
MAX_DEPTH = 32
# around a line that is quoted, or one of a list
QUOTING = ">-*+`\"' \t"


class UnreadableCall(Exception):
    """The arguments cannot be read; the text says where."""


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call in a text, and how it is written, as `bare_lines` has it."""

    call: ToolCall
    text: str

    def stands_in(self, lines: Sequence[str]) -> bool:
        """Return whether it stands word for word in lines that others wrote.

        Without arguments only as a line of its own: others may speak of a tool by its name.
        """
        if not self.call.arguments:
            return self.text in lines
        return self.text in " ".join(lines)


def bare_lines(text: str) -> list[str]:
    """Return the lines of a text without what quotes or lists them (`>`, `-`, backticks)."""
    given = plain_marks(text).splitlines()
    lines = (" ".join(line.strip().strip(QUOTING).split()) for line in given)
    return [line for line in lines if line]


def find_calls(text: str, tools: Mapping[str, Mapping[str, Any]]) -> list[FoundCall]:
    """Find the calls in an answer, in its order.

    Positional arguments take the parameters in order. Arguments that cannot be read give a call
    with an `argument_error`. Linear in the text; never raises.

    Args:
        text: the answer.
        tools: the agent's own tools: name to the properties of its schema, in their order.
    """
    # as in nearly all answers
    if not tools or "(" not in text:
        return []
    opening = _opening(tuple(tools))
    fences = code_fences(text)
    calls: list[FoundCall] = []
    position = fence = 0
    while found := opening.search(text, position):
        while fence < len(fences) and fences[fence][1] <= found.start():
            fence += 1
        if fence < len(fences) and fences[fence][0] <= found.start():
            position = fences[fence][1]
            continue
        reader = Reader(text, found.end())
        error, arguments = None, {}
        try:
            arguments = reader.arguments(tools[found[1]])
            position = reader.at
        except UnreadableCall as reason:
            error = f"the arguments of {found[1]} cannot be read: {reason}"
            position = found.end()
        call = ToolCall(f"text_{len(calls) + 1}", found[1], arguments, error)
        calls.append(FoundCall(call, " ".join(bare_lines(text[found.start(1) : position]))))
    return calls


@lru_cache(maxsize=1000)
def _opening(tools: tuple[str, ...]) -> re.Pattern[str]:
    """Return what a call begins with."""
    names = "|".join(re.escape(name) for name in sorted(tools, key=len, reverse=True))
    return re.compile(rf"^[ \t]*({names})\(", re.MULTILINE)


class Reader:
    """Reads what stands behind a place in a text: arguments, values, objects."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def call_arguments(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Read the arguments of a call up to its closing bracket; `({...})` has all of them.

        Raises:
            UnreadableCall: they cannot be read.
        """
        start = self.at
        if self._space() == "{" and len(properties) != 1:
            try:
                found = self.object()
            except UnreadableCall:
                found = None
            if found is not None and self._take(")"):
                return found
            self.at = start
        return self.arguments(properties)

    def object(self) -> dict[str, Any]:
        """Read an object, with either kind of quotes; raises UnreadableCall."""
        if not self._take("{"):
            raise UnreadableCall("expected an object")
        return self._object(0)

    def arguments(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Read the arguments of a call, positional ones too; raises UnreadableCall."""
        parameters = list(properties)
        out: dict[str, Any] = {}
        position = 0
        while not self._take(")"):
            key = KEY.match(self.text, self.at) or COLON.match(self.text, self.at)
            if key and ("=" in key[0] or key[1] in properties):
                name, self.at = key[1], key.end()
            elif position < len(parameters):
                name = parameters[position]
                position += 1
            else:
                raise UnreadableCall(
                    f"it takes {len(parameters)} argument{'s' * (len(parameters) != 1)}"
                )
            if name in out:
                raise UnreadableCall(f"{name} is given twice")
            out[name] = self._value(")", 0, as_text=is_text(properties.get(name)))
            self._separator(")")
        return out

    def _space(self) -> str:
        """Skip white space; the character behind it, or "" at the end of the text."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def _take(self, wanted: str) -> bool:
        if self._space() != wanted:
            return False
        self.at += 1
        return True

    def _separator(self, closing: str) -> None:
        found = self._space()
        if found == ",":
            self.at += 1
        elif found != closing:
            raise UnreadableCall(
                f"expected ',' or '{closing}', found {found!r}"
                if found
                else f"no closing '{closing}'"
            )

    def _value(self, closing: str, depth: int, *, as_text: bool = False) -> Any:
        if depth > MAX_DEPTH:
            raise UnreadableCall(f"nested more than {MAX_DEPTH} deep")
        match self._space():
            case "":
                raise UnreadableCall(f"no closing '{closing}'")
            case '"' | "'" as quote:
                return self._quoted(quote)
            case "[":
                self.at += 1
                return self._list(depth + 1)
            case "{":
                self.at += 1
                return self._object(depth + 1)
            case _:
                words = self._bare(closing)
                # a number of an account keeps its zeros
                return words if as_text and words.lower() not in NOTHING else _meant(words)

    def _quoted(self, quote: str) -> str:
        out: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == quote:
                return "".join(out)
            if char == "\\" and (found := UNICODE.match(self.text, self.at)):
                self.at = found.end()
                codes = [int(code, 16) for code in found.groups() if code is not None]
                char = "".join(map(chr, codes)).encode("utf-16", "surrogatepass").decode("utf-16")
            elif char == "\\" and self.at < len(self.text):
                char = self.text[self.at]
                self.at += 1
                char = ESCAPES.get(char, char if char in "\"'\\/" else "\\" + char)
            out.append(char)
        raise UnreadableCall(f"no closing {quote}")

    def _list(self, depth: int) -> list[Any]:
        out: list[Any] = []
        while not self._take("]"):
            out.append(self._value("]", depth))
            self._separator("]")
        return out

    def _object(self, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while not self._take("}"):
            quote = self._space()
            key = self._quoted(quote) if quote in ("'", '"') else self._key()
            if not self._take(":"):
                raise UnreadableCall(f"expected ':' after {key!r}")
            out[key] = self._value("}", depth)
            self._separator("}")
        return out

    def _key(self) -> str:
        found = re.compile(r"[\w.-]+").match(self.text, self.at)
        if found is None:
            raise UnreadableCall("expected a key")
        self.at = found.end()
        return found[0]

    def _bare(self, closing: str) -> str:
        """Return what is unquoted, up to the next comma on this line; its brackets match."""
        start = self.at
        open_brackets: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if open_brackets and char == open_brackets[-1]:
                open_brackets.pop()
            elif not open_brackets and char in (",", closing):
                break
            elif char in CLOSING:
                if len(open_brackets) >= MAX_DEPTH:
                    raise UnreadableCall(f"nested more than {MAX_DEPTH} deep")
                open_brackets.append(CLOSING[char])
            elif char == "\n":
                if open_brackets:
                    raise UnreadableCall(f"no closing '{open_brackets[-1]}' on this line")
                break
            self.at += 1
        else:
            raise UnreadableCall(f"no closing '{closing}'")
        words = self.text[start : self.at].strip()
        if not words:
            raise UnreadableCall("an argument is empty")
        return words


def _meant(words: str) -> int | float | bool | str | None:
    """Return a number, true, false, null, or the words themselves."""
    if words.lower() in WORDS:
        return WORDS[words.lower()]
    return _number(words) if NUMBER.match(words) else words


def _number(words: str) -> int | float | str:
    try:
        number = float(words) if any(c in words for c in ".eE") else int(words)
    except ValueError:
        # more digits than Python reads at once: no number that a tool could mean
        return words
    # 1e999 is beyond every float, and infinity has no JSON form
    return number if math.isfinite(number) else words
