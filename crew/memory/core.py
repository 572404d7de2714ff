"""Blocks of core memory: what each may hold, how it is shown, and how it is changed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agents.outputs.answers import check_answer, texts_of
from agents.outputs.schema import KINDS, Field
from agents.tokenizing.tokens import ESTIMATE
from crew.journal.query import text_error
from crew.journal.records.remembered.core import (
    ChangedBy,
    CoreValue,
    CoreVersion,
    Scope,
    taint_after,
)

# of one call
MAX_EDITS = 20
# of the name of a field, in messages
MAX_NAME = 60
# of a field without a value
ABSENT = "null"


class CoreError(Exception):
    """A change that a block does not take."""


@dataclass(frozen=True, slots=True)
class FillRule:
    """The field of a typed answer that fills a block, at the end of an exchange."""

    agent_id: str
    field: str
    # texts that are kept
    most: int


def has_free_text(schema: Field | None) -> bool:
    """Return whether any words may stand in a block; its fields may have values of their own."""
    return schema is None or any(one.is_free_text for one in schema.properties.values())


@dataclass(frozen=True, slots=True)
class CoreRule:
    """A block, as the configuration says."""

    name: str
    scope: Scope
    description: str
    max_tokens: int
    # before the first change
    start: CoreValue
    # of its fields; None: it is a text
    schema: Field | None
    # who may change it
    writers: frozenset[ChangedBy]
    fill: FillRule | None = None

    def origin(self, run_id: str, quote: str) -> tuple[str, str]:
        """Return the run and the words that a change names; none of a block that all users see."""
        return ("", "") if self.scope == "crew" else (run_id, quote)

    def taint(self, known: CoreVersion | None, more: Sequence[str]) -> tuple[str, ...]:
        """Return what taints the block after a change in a run that `more` taints.

        Fields have values of their own, and no text of others can stand in them.
        """
        return taint_after(known, more) if has_free_text(self.schema) else ()

    @property
    def heading(self) -> str:
        """What it holds, with what each of its fields may have."""
        if self.schema is None:
            return self.description
        fields = [_described(name, one) for name, one in self.schema.properties.items()]
        return f"{self.description} ({'; '.join(fields)})"


def _described(name: str, field: Field) -> str:
    inner = field.items or field
    known = ", ".join(str(one) for one in inner.enum)
    words = [one for one in (known or KINDS[field.kind], field.description) if one]
    return f"{name}: {', '.join(words)}"


def value_of(rule: CoreRule, version: CoreVersion | None) -> tuple[CoreValue, list[str]]:
    """Return what a block holds, and what is wrong with the rest, which is not shown.

    A schema may have changed since a value was kept.
    """
    value = rule.start if version is None else version.value
    if rule.schema is None:
        if isinstance(value, str):
            return value, []
        return "", ["it has fields, and the block is a text now"]
    if isinstance(value, str):
        return {}, ["it is a text, and the block has fields now"] if value else []
    right: dict[str, Any] = {}
    problems: list[str] = []
    for name, one in value.items():
        found, wrong = _checked(rule.schema, {name: one})
        right |= found
        problems += wrong
    return right, problems


def block_text(rule: CoreRule, value: CoreValue) -> str:
    """Return a block as agents are shown it: the text, or a line for each field."""
    if rule.schema is None or isinstance(value, str):
        return value if isinstance(value, str) else ""
    fields = rule.schema.properties.items()
    return "\n".join(f"{name}: {_shown(field, value.get(name))}" for name, field in fields)


def _shown(field: Field, value: Any) -> str:
    """Return a value in its line: a text as it stands, unless it would be read as another one."""
    is_plain = isinstance(value, str) and value.isprintable() and value == value.strip()
    is_plain = is_plain and _value(field, value) == value
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def edited(rule: CoreRule, value: CoreValue, edits: Sequence[tuple[str, str]]) -> CoreValue:
    """Return a block after edits, all of which are made at once, in the text that agents see.

    Args:
        rule: of the block.
        value: as it is.
        edits: what stands there, and what is to stand there instead.

    Raises:
        CoreError: an edit does not fit, or the result may not stand there.
    """
    text = block_text(rule, value)
    if not 0 < len(edits) <= MAX_EDITS:
        raise CoreError(f"edits has 1 to {MAX_EDITS} entries")
    places: list[tuple[int, int, str]] = []
    for old, new in edits:
        at = _only_place(text, old)
        places.append((at, at + len(old), new))
    places.sort()
    if not text and len(edits) > 1:
        raise CoreError("the block is empty: make one edit")
    for (_, end, _), (begin, _, _) in pairwise(places):
        if begin < end:
            raise CoreError("two edits replace the same words; make one of them")
    for begin, end, new in reversed(places):
        text = f"{text[:begin]}{new}{text[end:]}"
    return checked(rule, text if rule.schema is None else _fields(rule.schema, text))


def _only_place(text: str, old: str) -> int:
    if not old:
        if text:
            raise CoreError("old is empty: it names the words that are replaced")
        return 0
    at = text.find(old)
    if at < 0:
        raise CoreError(f"{old!r} does not stand there. It is now:\n{text}")
    if text.find(old, at + 1) >= 0:
        raise CoreError(f"{old!r} stands there more than once; name more of the words around it")
    return at


def _fields(schema: Field, text: str) -> dict[str, Any]:
    """Return the fields that lines name."""
    found: dict[str, Any] = {}
    for line in filter(str.strip, text.split("\n")):
        name, colon, given = line.partition(":")
        name, given = name.strip(), given.strip()
        if not colon or name in found:
            raise CoreError(f"each field stands on one line, as `name: value`; this is {line!r}")
        found[name] = _value(schema.properties.get(name), given)
    return {name: one for name, one in found.items() if one is not None}


def _value(field: Field | None, given: str) -> Any:
    """Return the value that a line has: a text as it stands, other values as JSON."""
    if given in ("", ABSENT):
        return None
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return given
    is_text = field is not None and field.kind == "string"
    return given if is_text and not isinstance(value, str) else value


def checked(rule: CoreRule, value: object) -> CoreValue:
    """Return a value as the block keeps it; raises CoreError if it may not stand there."""
    if rule.schema is None:
        if not isinstance(value, str):
            raise CoreError("the block is a text")
        kept: CoreValue = value.strip()
    else:
        if not isinstance(value, Mapping):
            names = ", ".join(rule.schema.properties)
            raise CoreError(f"the block is an object with the fields {names}")
        kept, problems = _checked(rule.schema, dict(value))
        if problems:
            raise CoreError("; ".join(problems))
    values = [kept] if isinstance(kept, str) else kept.values()
    for one in (text for value in values for text in texts_of(value)):
        if (error := text_error(one)) is not None:
            raise CoreError(f"it {error}")
    text = block_text(rule, kept)
    tokens = ESTIMATE.count(text)
    if tokens > rule.max_tokens:
        more = tokens - rule.max_tokens
        raise CoreError(
            f"it would have {tokens} tokens, and max_tokens is {rule.max_tokens}: cut {more}. "
            f"It would be:\n{text}"
        )
    return kept


def _checked(schema: Field, value: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that are right, all or none, and what is wrong."""
    given = {name: one for name, one in value.items() if one is not None}
    names = ", ".join(schema.properties)
    others = given.keys() - schema.properties.keys()
    unknown = [f"there is no field {name[:MAX_NAME]}; known: {names}" for name in others]
    if unknown or not given:
        return {}, sorted(unknown)
    found = check_answer(json.dumps(given), schema, {})
    if found.output is None:
        return {}, list(found.problems)
    return {name: one for name, one in found.output.items() if one is not None}, []
