"""The JSON schema of a typed answer: what of JSON Schema it may say, and what it means."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tools.text.folding import fold
from tools.text.suggest import nearest

Kind = Literal["string", "number", "integer", "boolean", "array", "object"]
# in words, as messages have them
KINDS: Mapping[Kind, str] = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
# which keywords each kind may have, beside `type` and `description`
KEYWORDS: Mapping[Kind, tuple[str, ...]] = {
    "string": ("enum", "vocabulary", "pattern", "maxLength"),
    "number": ("enum", "minimum", "maximum"),
    "integer": ("enum", "minimum", "maximum"),
    "boolean": (),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required"),
}
ALL_KEYWORDS = (
    "type",
    "description",
    *dict.fromkeys(k for each in KEYWORDS.values() for k in each),
)
NUMBERS: tuple[Kind, ...] = ("number", "integer")
# says more of what an enum says already
BESIDE_ENUM = ("vocabulary", "pattern", "maxLength", "minimum", "maximum")
# of items, and of characters
MAX_COUNT = 1_000_000
COUNTS = ("minItems", "maxItems", "maxLength")
# objects and lists within each other
MAX_LEVELS = 4
MAX_PROPERTIES = 100
# what others write, and what to do instead
INSTEAD = {
    "additionalProperties": "unknown properties are left out of answers; remove it",
    "nullable": "what is not in `required` may be absent, or null; remove it",
    "const": "write an enum of one value",
    "oneOf": "a property has one type",
    "anyOf": "a property has one type",
    "allOf": "a property has one type",
    "$ref": "write the schema where it belongs",
    "minLength": "a text that may be absent is left out of `required`",
    "default": "what is absent stays absent; remove it",
}
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """What is wrong with a schema, and where."""

    # from the schema
    path: Path
    text: str
    suggestion: str | None = None
    # the key itself is wrong, not its value
    key: bool = False


class SchemaError(Exception):
    """A schema is wrong."""

    def __init__(self, problems: Sequence[SchemaProblem]) -> None:
        super().__init__("; ".join(one.text for one in problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Field:
    """What one value of a typed answer may be."""

    kind: Kind
    description: str = ""
    # as declared; () for any
    enum: tuple[Any, ...] = ()
    # the declared spelling of each text of the enum, by its folded form
    spellings: Mapping[str, str] = field(default_factory=dict)
    vocabulary: str | None = None
    pattern: re.Pattern[str] | None = None
    max_length: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_items: int | None = None
    max_items: int | None = None
    items: "Field | None" = None
    properties: Mapping[str, "Field"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()

    @property
    def is_free_text(self) -> bool:
        """Whether a model may write any text here."""
        if self.kind == "array":
            return self.items is None or self.items.is_free_text
        if self.kind == "object":
            return True
        return self.kind == "string" and not self.enum and self.vocabulary is None

    @property
    def vocabularies(self) -> frozenset[str]:
        """The names of all vocabularies in it."""
        inner = [*self.properties.values(), *([self.items] if self.items is not None else [])]
        names = {self.vocabulary} if self.vocabulary is not None else set()
        return frozenset(names.union(*(one.vocabularies for one in inner)))


def parse_schema(data: Mapping[str, Any]) -> Field:
    """Parse the schema of a typed answer.

    Raises:
        SchemaError: with all that is wrong in it.
    """
    parser = _Parser()
    found = parser.field(data, (), 1)
    if found is not None and found.kind != "object":
        text = f"an answer is an object, with properties; this is {KINDS[found.kind]}"
        parser.refuse(("type",), text)
    if parser.properties > MAX_PROPERTIES:
        text = f"{parser.properties} properties; at most {MAX_PROPERTIES}"
        parser.refuse(("properties",), text, key=True)
    if found is None or parser.problems:
        raise SchemaError(parser.problems)
    return found


class _Parser:
    def __init__(self) -> None:
        self.problems: list[SchemaProblem] = []
        self.properties = 0

    def refuse(
        self, path: Path, text: str, suggestion: str | None = None, *, key: bool = False
    ) -> None:
        self.problems.append(SchemaProblem(path, text, suggestion, key))

    def field(self, data: Any, path: Path, level: int) -> Field | None:
        """Return what a schema describes; None where that cannot be known."""
        if not isinstance(data, dict):
            self.refuse(path, "expected a schema: a mapping such as {type: string}")
            return None
        kind = self._kind(data, path)
        if kind is None:
            return None
        if kind in ("array", "object") and level > MAX_LEVELS:
            self.refuse(path, f"nested more than {MAX_LEVELS} levels deep; write it flatter")
            return None
        for name, value in data.items():
            if value is None and " " in str(name):
                text = "in { … } a comma ends a text; put quotes around the text before it"
                self.refuse((*path, name), text, key=True)
            else:
                self._check_keyword(name, kind, path)
        enum = self._enum(data, kind, path)
        vocabulary = self._text(data, "vocabulary", path)
        for other in BESIDE_ENUM if enum else ():
            if data.get(other) is not None:
                text = f"the enum says all that may stand here; remove {other}, or the enum"
                self.refuse((*path, other), text, key=True)
        low, high = (self._number(data, name, path) for name in ("minimum", "maximum"))
        fewest, most, longest = (self._count(data, name, path) for name in COUNTS)
        self._check_order(low, high, (*path, "maximum"), "minimum")
        self._check_order(fewest, most, (*path, "maxItems"), "minItems")
        return Field(
            kind,
            self._text(data, "description", path) or "",
            enum,
            {fold(one): one for one in enum if isinstance(one, str)},
            vocabulary,
            self._pattern(data, path),
            longest,
            low,
            high,
            fewest,
            most,
            self._items(data, path, level) if kind == "array" else None,
            self._properties(data, path, level) if kind == "object" else {},
            frozenset(self._required(data, path)) if kind == "object" else frozenset(),
        )

    def _kind(self, data: Mapping[str, Any], path: Path) -> Kind | None:
        """Return the type; where it is not given, what other keywords say."""
        given = data.get("type")
        if given is None:
            if "properties" in data:
                return "object"
            if "items" in data:
                return "array"
            if "vocabulary" in data or "pattern" in data:
                return "string"
            if isinstance(enum := data.get("enum"), list) and enum:
                return _kind_of_enum(enum)
            text = f"type is missing: one of {', '.join(KINDS)}"
            meant = next((one for one in data if nearest("type", [str(one)])), None)
            if meant is None:
                self.refuse(path, text, key=True)
            else:
                self.refuse((*path, meant), text, "type", key=True)
            return None
        for kind in KINDS:
            if given == kind:
                return kind
        if isinstance(given, list) and ("null" in given or None in given):
            text = "one type; what is not in `required` may be null"
            self.refuse((*path, "type"), text)
            return None
        near = nearest(given, KINDS) if isinstance(given, str) else None
        self.refuse((*path, "type"), f"expected one of {', '.join(KINDS)}", near)
        return None

    def _check_keyword(self, name: Any, kind: Kind, path: Path) -> None:
        known = ("type", "description", *KEYWORDS[kind])
        if name in known or str(name).startswith("x-"):
            return
        where, text = (*path, str(name)), f"{name} cannot stand in the schema of an output"
        if name in INSTEAD:
            self.refuse(where, f"{text}: {INSTEAD[str(name)]}", key=True)
        elif name in ALL_KEYWORDS:
            self.refuse(where, f"{name} is not for {KINDS[kind]}; remove it", key=True)
        else:
            near = nearest(str(name), known)
            listed = "" if near else f"; for {KINDS[kind]}: {', '.join(known)}"
            self.refuse(where, f"{text}{listed}", near, key=True)

    def _enum(self, data: Mapping[str, Any], kind: Kind, path: Path) -> tuple[Any, ...]:
        if "enum" not in data or "enum" not in KEYWORDS[kind]:
            return ()
        given, where = data["enum"], (*path, "enum")
        if not isinstance(given, list) or not given:
            self.refuse(where, "expected a list of values, such as [low, high]")
            return ()
        seen: set[Any] = set()
        for place, one in enumerate(given):
            if not _is_of(one, kind):
                hint = "; put quotes around it" if kind == "string" and one is not None else ""
                hint = "; for true and false write type: boolean" if isinstance(one, bool) else hint
                self.refuse((*where, place), f"expected {KINDS[kind]}{hint}")
                continue
            same = fold(one) if isinstance(one, str) else one
            if same in seen:
                self.refuse((*where, place), f"{one} stands in this enum already")
            seen.add(same)
        return tuple(str(one) if isinstance(one, str) else one for one in given)

    def _text(self, data: Mapping[str, Any], name: str, path: Path) -> str | None:
        given = data.get(name)
        if given is None:
            return None
        if not isinstance(given, str) or not given.strip():
            self.refuse((*path, name), "expected a text")
            return None
        return str(given)

    def _number(self, data: Mapping[str, Any], name: str, path: Path) -> float | None:
        given = data.get(name)
        if given is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int | float):
            self.refuse((*path, name), "expected a number")
            return None
        return given

    def _count(self, data: Mapping[str, Any], name: str, path: Path) -> int | None:
        given = data.get(name)
        if given is None:
            return None
        if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= MAX_COUNT:
            return given
        self.refuse((*path, name), f"expected a whole number, 0 to {MAX_COUNT:,}")
        return None

    def _check_order(self, low: float | None, high: float | None, path: Path, other: str) -> None:
        if low is not None and high is not None and low > high:
            self.refuse(path, f"below {other} ({number_text(low)}), so no answer is right")

    def _pattern(self, data: Mapping[str, Any], path: Path) -> re.Pattern[str] | None:
        text = self._text(data, "pattern", path)
        if text is None:
            return None
        try:
            return re.compile(text)
        except re.error as error:
            self.refuse((*path, "pattern"), f"{text!r} is no regular expression: {error}")
            return None

    def _items(self, data: Mapping[str, Any], path: Path, level: int) -> Field | None:
        if "items" not in data:
            self.refuse(path, "items is missing: what the list holds", key=True)
            return None
        return self.field(data["items"], (*path, "items"), level + 1)

    def _properties(self, data: Mapping[str, Any], path: Path, level: int) -> dict[str, Field]:
        given = data.get("properties")
        if not isinstance(given, dict) or not given:
            where = (*path, "properties") if "properties" in data else path
            self.refuse(where, "expected properties: a mapping of names to schemas")
            return {}
        self.properties += len(given)
        found = {
            str(name): self.field(inner, (*path, "properties", name), level + 1)
            for name, inner in given.items()
        }
        return {name: one for name, one in found.items() if one is not None}

    def _required(self, data: Mapping[str, Any], path: Path) -> Iterator[str]:
        given, where = data.get("required"), (*path, "required")
        if given is None:
            return
        if not isinstance(given, list):
            self.refuse(where, "expected a list of the names of properties")
            return
        known = data.get("properties")
        names: Collection[str] = known if isinstance(known, dict) else ()
        for place, name in enumerate(given):
            if str(name) in names:
                yield str(name)
            else:
                near = nearest(str(name), names)
                self.refuse((*where, place), f"there is no property {name!r}", near)


def number_text(value: float) -> str:
    """Return a number as it is written in YAML: a whole one without a point."""
    return str(int(value)) if value == int(value) else str(value)


def _kind_of_enum(values: Sequence[Any]) -> Kind:
    if any(isinstance(one, str) for one in values):
        return "string"
    return "integer" if all(_is_of(one, "integer") for one in values) else "number"


def _is_of(value: Any, kind: Kind) -> bool:
    match kind:
        case "string":
            return isinstance(value, str) and bool(value.strip())
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)
