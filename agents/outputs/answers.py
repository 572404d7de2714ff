"""A typed answer is read and checked: what a model wrote to an object, or to what is wrong in it.

Nothing is converted: "false" is no boolean. What is right in it already, but for case or spelling,
gets the spelling of the schema or of the vocabulary.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from agents.outputs.schema import KINDS, Field, number_text
from agents.outputs.vocabularies import Vocabulary
from tools.text.folding import fold
from tools.text.texts import without_surrogates

# a longer answer is not read
MAX_CHARS = 1_000_000
# whole numbers above it are not the same in all programs (RFC 8259, 6)
MAX_INTEGER = 2**53
# of a wrong value, in the words that tell of it
MAX_SHOWN = 60
# of a text that a vocabulary does not have, what is told
MAX_UNKNOWN = 200
# more are not told of at once
MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """A text that a vocabulary does not have."""

    vocabulary: str
    value: str


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer, as it was checked; with problems it is not one."""

    # without what the schema does not have
    output: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    unknown: tuple[UnknownValue, ...] = ()
    # it is one JSON object with fields of the schema, be it right or wrong
    has_fields: bool = False


class _Unreadable(Exception):
    """A text is no JSON object."""


def check_answer(
    text: str, schema: Field, vocabularies: Mapping[str, Vocabulary], *, is_cut: bool = False
) -> CheckedAnswer:
    """Read and check an answer.

    Args:
        text: what the model wrote: the object, alone, in a fence or between words.
        schema: of the object.
        vocabularies: by name; all that the schema names.
        is_cut: the answer ended at the longest that a model may write.
    """
    try:
        found = _read_object(text)
    except _Unreadable as error:
        cut = "the answer was cut off because it is too long; write a shorter one: "
        return CheckedAnswer(problems=(f"{cut if is_cut else ''}{error}",))
    check = _Check(vocabularies)
    output = check.value(found, schema, "")
    has_fields = not schema.properties.keys().isdisjoint(found)
    if found and not has_fields and not check.problems:
        check.refuse("", f"the object has none of the fields {', '.join(schema.properties)}")
    problems, unknown = tuple(check.problems[:MAX_PROBLEMS]), tuple(check.unknown)
    return CheckedAnswer(None if problems else output, problems, unknown, has_fields)


def _read_object(text: str) -> dict[str, Any]:
    """Return the JSON object from the first `{` to the last `}` of a text."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise _Unreadable("there is no JSON object in the answer")
    if end - start > MAX_CHARS:
        raise _Unreadable(f"the JSON is longer than {MAX_CHARS:,} characters")
    written = text[start : end + 1]
    try:
        found, stop = DECODER.raw_decode(written)
    except _Unreadable:
        raise
    except RecursionError:
        raise _Unreadable("the JSON is nested too deep") from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
        raise _Unreadable(f"the answer is no JSON: {reason}") from None
    if stop < len(written):
        raise _Unreadable("there is more than one JSON object in the answer, or text in it")
    assert isinstance(found, dict), "it begins with a brace"
    return found


def _pairs(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            shown = without_surrogates(name[:MAX_SHOWN])
            raise _Unreadable(f"{shown} stands twice in one object")
        found[name] = value
    return found


def _refuse_constant(text: str) -> Any:
    raise _Unreadable(f"{text} is no JSON")


# made once: `json.loads` with these makes one each time
DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refuse_constant)
# stands for a value that is left out, or wrong
NOTHING: Any = object()


@dataclass(slots=True)
class _Check:
    vocabularies: Mapping[str, Vocabulary]
    problems: list[str] = field(default_factory=list)
    unknown: list[UnknownValue] = field(default_factory=list)

    def value(self, given: Any, schema: Field, path: str) -> Any:
        """Return a value as the schema has it; NOTHING where it is left out or wrong."""
        return CHECKS[schema.kind](self, given, schema, path)

    def refuse(self, path: str, text: str) -> Any:
        self.problems.append(f"{path}: {text}" if path else text)
        return NOTHING

    def other_kind(self, given: Any, schema: Field, path: str) -> Any:
        return self.refuse(path, f"must be {KINDS[schema.kind]}, not {_shown(given)}")

    def object(self, given: Any, schema: Field, path: str) -> Any:
        if not isinstance(given, dict):
            return self.other_kind(given, schema, path)
        out = {}
        for name, inner in schema.properties.items():
            place = f"{path}.{name}" if path else name
            value, before = given.get(name), len(self.problems)
            if value is not None:
                value = self.value(value, inner, place)
                if value is not NOTHING:
                    out[name] = value
                    continue
            if name in schema.required and len(self.problems) == before:
                self.refuse(place, "is missing")
        return out

    def list(self, given: Any, schema: Field, path: str) -> Any:
        if not isinstance(given, list):
            return self.other_kind(given, schema, path)
        assert schema.items is not None, "a list has items"
        values = [self.value(one, schema.items, f"{path}[{n}]") for n, one in enumerate(given)]
        kept = [one for one in values if one is not NOTHING]
        if schema.items.vocabulary is not None:
            # two texts may be the same value
            kept = list(dict.fromkeys(kept))
        fewest, most = schema.min_items or 0, schema.max_items
        if len(kept) < fewest:
            self.refuse(path, f"must have at least {fewest} items, not {len(kept)}")
        if most is not None and len(kept) > most:
            self.refuse(path, f"must have at most {most} items, not {len(kept)}")
        return kept

    def boolean(self, given: Any, schema: Field, path: str) -> Any:
        return given if isinstance(given, bool) else self.other_kind(given, schema, path)

    def number(self, given: Any, schema: Field, path: str) -> Any:
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        if not is_number:
            return self.other_kind(given, schema, path)
        is_large = isinstance(given, int) and abs(given) > MAX_INTEGER
        if is_large or not isfinite(given):
            return self.refuse(path, "is too large")
        if schema.kind == "integer":
            if given != int(given) or abs(given) > MAX_INTEGER:
                return self.other_kind(given, schema, path)
            given = int(given)
        if schema.enum and given not in schema.enum:
            return self.refuse(path, f"must be {_one_of(schema.enum)}, not {_shown(given)}")
        if schema.minimum is not None and given < schema.minimum:
            self.refuse(
                path, f"must be at least {number_text(schema.minimum)}, not {_shown(given)}"
            )
        if schema.maximum is not None and given > schema.maximum:
            self.refuse(path, f"must be at most {number_text(schema.maximum)}, not {_shown(given)}")
        return given

    def text(self, given: Any, schema: Field, path: str) -> Any:
        if not isinstance(given, str):
            return self.other_kind(given, schema, path)
        given = without_surrogates(given)
        if schema.enum:
            spelling = schema.spellings.get(fold(given))
            if spelling is None:
                return self.refuse(path, f"must be {_one_of(schema.enum)}, not {_shown(given)}")
            return spelling
        if schema.max_length is not None and len(given) > schema.max_length:
            number = f"must have at most {schema.max_length} characters, not {len(given)}"
            return self.refuse(path, number)
        if schema.pattern is not None and not schema.pattern.search(given):
            return self.refuse(path, f"must match {schema.pattern.pattern}, not {_shown(given)}")
        if schema.vocabulary is not None:
            return self.word(given, self.vocabularies[schema.vocabulary], path)
        return given

    def word(self, given: str, vocabulary: Vocabulary, path: str) -> Any:
        """Return the spelling of a text that a vocabulary has; else what is done with others."""
        if not given.strip():
            # as if it were absent
            return NOTHING
        if (spelling := vocabulary.find(given)) is not None:
            return spelling
        self.unknown.append(UnknownValue(vocabulary.name, given[:MAX_UNKNOWN]))
        match vocabulary.on_unknown:
            case "keep":
                return given
            case "drop":
                return NOTHING
            case "fail":
                text = f"{_shown(given)} is not in the vocabulary {vocabulary.name}"
                return self.refuse(path, text)


CHECKS: Mapping[str, Callable[[_Check, Any, Field, str], Any]] = {
    "object": _Check.object,
    "array": _Check.list,
    "boolean": _Check.boolean,
    "number": _Check.number,
    "integer": _Check.number,
    "string": _Check.text,
}


def _one_of(values: Sequence[Any]) -> str:
    return f"one of {', '.join(str(one) for one in values)}"


def _shown(value: Any) -> str:
    """Return a wrong value as JSON, shortened."""
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            text = without_surrogates(json.dumps(value, ensure_ascii=False))
            return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def texts_of(value: Any) -> Iterator[str]:
    """Yield a value of an output as texts for a prompt: each one of a list."""
    match value:
        case list():
            for one in value:
                yield from texts_of(one)
        case str():
            yield value
        case None:
            return
        case _:
            yield json.dumps(value)
