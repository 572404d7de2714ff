"""Plain data of a file -> its shape: a Problem for each mistake, and as much as is right.

What is wrong is left out, and only that, so that every other check still runs.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agents.config import ALIASES
from crew.config.files.document import Document, YamlPath
from crew.config.problems import Problem
from crew.config.shapes import (
    expectation,
    explain_name,
    fields_at,
    find_shape,
    inside,
    lowered,
    placed_elsewhere,
)
from tools.schemas.yaml_shape import BAD_PATTERN, BETWEEN_KEYS, Shape

# of one file; more are not read, and a hostile one has tens of thousands
MAX_PROBLEMS = 1000
# leaving one thing out may make what holds it wrong: as often as shapes are nested
MAX_PASSES = 8
OUT_OF_RANGE = frozenset(
    {
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
        "too_short",
        "string_too_short",
        "finite_number",
    }
)
# see tools.schemas.yaml_shape.form_of
FORMS = {"mapping": "a mapping (`key: value` lines)", "list": "a list", "scalar": "one value"}
EMPTY = {"too_short": "at least one is needed", "string_too_short": "a text is needed"}
S = TypeVar("S", bound=Shape)


@dataclass(slots=True)
class BoundDocument(Generic[S]):
    """A document as a shape."""

    # None where nothing can be used
    value: S | None = None
    problems: list[Problem] = field(default_factory=list)
    # the paths, as written, of what was left out or filled in
    changed: set[YamlPath] = field(default_factory=set)


def bind(document: Document, kind: type[S], placeholders: Mapping[str, Any]) -> BoundDocument[S]:
    """Bind the document as a `kind`, as far as it is right.

    Args:
        document: what was read.
        kind: the shape of the file.
        placeholders: values for required keys at the top that are missing or wrong, so that the
            rest can be checked.
    """
    bound = BoundDocument[S]()
    data = document.data
    if data is None:
        return bound
    for first in (True, *([False] * MAX_PASSES)):
        try:
            bound.value = kind.model_validate(data)
            return bound
        except ValidationError as error:
            details = error.errors(include_url=False)
        wrapped = _wrapped(document, kind) if first else None
        if wrapped is not None:
            # all else follows from it
            bound.problems = [wrapped]
            bound.changed.add(())
        elif first:
            bound.problems = _problems(document, kind, details)
        data = _leave_out(document, data, details, placeholders, bound.changed)
        if data is None:
            return bound
    return bound


def _wrapped(document: Document, kind: type[Shape]) -> Problem | None:
    """Return the error of a file with all its keys below one that is none; None: it is not so."""
    data = document.data
    if not isinstance(data, dict) or len(data) != 1:
        return None
    ((name, inner),) = data.items()
    known = kind.fields_by_key()
    if name in known or not isinstance(inner, dict) or not inner.keys() & known.keys():
        return None
    text = f"unknown key {name!r}: take it away, and begin the lines below it at the line's start"
    return document.problem((name,), "unknown-key", text, key=True)


def _problems(document: Document, kind: type[Shape], details: list[ErrorDetails]) -> list[Problem]:
    shown = details[:MAX_PROBLEMS]
    found = [(detail, _problem(document, kind, detail)) for detail in shown]
    # a key that must be there, and is written in another way, is one mistake
    meant = {
        (*detail["loc"][:-1], one.suggestion) for detail, one in found if one.code == "unknown-key"
    }
    problems = [
        one for detail, one in found if detail["type"] != "missing" or detail["loc"] not in meant
    ]
    if more := len(details[MAX_PROBLEMS:]):
        path = _path(document.data, details[MAX_PROBLEMS]["loc"])
        text = f"{more:,} more problems of this file are not shown; fix these first"
        problems.append(document.problem(path, "too-many-problems", text, key=True))
    return problems


def _leave_out(
    document: Document,
    data: Any,
    details: list[ErrorDetails],
    placeholders: Mapping[str, Any],
    changed: set[YamlPath],
) -> Any:
    """Return the data without what is wrong; None where nothing is left."""
    wrong: set[YamlPath] = set()
    filled: dict[str, Any] = {}
    for detail in details:
        path = _path_of(data, detail)
        if detail["type"] == "missing":
            key = detail["loc"][-1]
            if len(path) == 1 and key in placeholders:
                filled[str(key)] = placeholders[str(key)]
                changed.add(path)
                continue
            path = path[:-1]
        if not path:
            return None
        wrong.add(path)
    changed |= {document.as_written(path) for path in wrong}
    return {**_without(document, data, wrong, (), ()), **filled}


def _without(
    document: Document, value: Any, wrong: set[YamlPath], path: YamlPath, written: YamlPath
) -> Any:
    """Return a copy of a value without what is wrong; remembers where kept items were written."""
    if isinstance(value, dict):
        return {
            key: _without(document, inner, wrong, (*path, key), (*written, key))
            for key, inner in value.items()
            if (*path, key) not in wrong
        }
    if not isinstance(value, list):
        return value
    places = document.kept_items.get(written, list(range(len(value))))
    kept = [place for place in range(len(value)) if (*path, place) not in wrong]
    if len(kept) < len(value):
        document.kept_items[written] = [places[place] for place in kept]
    return [
        _without(document, value[place], wrong, (*path, place), (*written, places[place]))
        for place in kept
    ]


def _problem(document: Document, kind: type[Shape], detail: ErrorDetails) -> Problem:
    path = _path_of(document.data, detail)
    message, given, is_key = detail["msg"], detail["input"], detail["loc"][-1:] == ("[key]",)
    match detail["type"]:
        case "extra_forbidden":
            return _unknown_key(document, kind, path)
        case "missing":
            name = str(detail["loc"][-1])
            if path in document.keys:
                return document.problem(path, "missing-key", f"the key {name!r} is empty", key=True)
            text = f"the key {name!r} is missing"
            return document.problem(path[:-1], "missing-key", text, key=True)
        case "value_error":
            text = lowered(message.removeprefix("Value error, "))
            return document.problem(path, "bad-value", text)
        case type_ if type_ == BAD_PATTERN:
            return document.problem(path, "bad-pattern", message)
        case type_ if type_ == BETWEEN_KEYS:
            return document.problem(path, "bad-value", message)
        case "string_pattern_mismatch" if "{1,128}" in message:
            return document.problem(path, "bad-name", explain_name(given), key=is_key)
        case "string_pattern_mismatch" if is_key:
            what = "variable" if "env" in path else "header"
            return document.problem(path, "bad-name", f"no {what} can have this name", key=True)
        case "string_pattern_mismatch":
            text = f"the text is not of the form {detail['ctx']['pattern']}"
            return document.problem(path, "bad-value", text)
        case "union_tag_not_found":
            return document.problem(path, "missing-key", "the key 'kind' is missing", key=True)
        case "union_tag_invalid" if not isinstance(given, dict) or "kind" not in given:
            # of a field that takes several forms
            forms = re.findall(r"'([^']+)'", detail.get("ctx", {}).get("expected_tags", ""))
            text = f"expected {' or '.join(FORMS[form] for form in forms)}"
            return document.problem(path, "wrong-type", text)
        case "union_tag_invalid":
            wanted = detail.get("ctx", {}).get("expected_tags", "")
            known, given = re.findall(r"'([^']+)'", wanted), given["kind"]
            near = document.near(given, known) if isinstance(given, str) else None
            text = f"expected {wanted}"
            return document.problem((*path, "kind"), "bad-value", text, suggestion=near)
        case "literal_error":
            wanted = detail.get("ctx", {}).get("expected", "")
            known = re.findall(r"'([^']+)'", wanted)
            near = document.near(given, known) if isinstance(given, str) else None
            return document.problem(path, "bad-value", f"expected {wanted}", suggestion=near)
        case type_ if type_ in OUT_OF_RANGE:
            text = EMPTY.get(type_) or lowered(message)
            return document.problem(path, "out-of-range", text)
        case _:
            return document.problem(path, "wrong-type", expectation(detail, path))


def _unknown_key(document: Document, kind: type[Shape], path: YamlPath) -> Problem:
    """Return what an unknown key was meant to be.

    Of this level, of another one, of another framework.
    """
    key = str(path[-1])
    fields, ignored, synonyms = fields_at(kind, path[:-1], document.data)
    text = f"unknown key {key!r}"
    near, place = None, placed_elsewhere(kind, path, document.data)
    same = next((one for one in fields if _bare(one) == _bare(key)), None)
    # further below it is the same key, and not another form of one of here
    above = ".".join(map(str, path[:-1]))
    is_below = bool(above) and place is not None and place.startswith(f"under {above}.")
    # what such an entry would hold stands there as mappings below other names
    is_below = is_below and not _holds_mappings(document, path)
    if key in synonyms:
        text, near = f"{text}; here it is {synonyms[key]!r}", synonyms[key]
    elif same is not None and not is_below:
        near = same
    elif place is not None:
        text = f"{text}; it belongs {place}"
    elif (near := document.near(key, fields)) is not None:
        pass
    elif alike := document.near(key, ignored):
        text = f"{text}; go-agentic's {alike} has no effect here; remove it"
    elif _is_end_of_text(document, path):
        text = f"{text}: in {{ … }} a comma ends a text; put quotes around the text before it"
    else:
        text = f"{text}; known here: {', '.join(fields)}"
    return document.problem(path, "unknown-key", text, key=True, suggestion=near)


def _holds_mappings(document: Document, path: YamlPath) -> bool:
    """Return whether the value at a path is a mapping of lists or mappings."""
    found: Any = document.data
    for part in path:
        found = found[part]
    values = found.values() if isinstance(found, dict) else ()
    return bool(values) and all(isinstance(one, list | dict) for one in values)


def _bare(key: str) -> str:
    """Return a key without what is often written in another way: case, `_` or `-`, a plural."""
    return re.sub("[_-]", "", key.casefold()).removesuffix("s")


def _is_end_of_text(document: Document, path: YamlPath) -> bool:
    """Return whether a key without a colon is what follows a comma in an unquoted text."""
    line, column = document.key_at(document.as_written(path))
    written = document.text.splitlines()[line - 1 : line]
    rest = written[0][column - 1 + len(str(path[-1])) :].lstrip() if written else ""
    return rest.startswith((",", "}"))


def _path_of(data: Any, detail: ErrorDetails) -> YamlPath:
    """Return the place in the data that an error is about."""
    further = detail["ctx"]["path"] if detail["type"] == BETWEEN_KEYS else ()
    return _path(data, (*detail["loc"], *further))


def _path(data: Any, loc: tuple[int | str, ...]) -> YamlPath:
    """Return a place in the data: pydantic's own labels (of unions, of keys) are left out."""
    path: YamlPath = ()
    labelled: Any = None
    for part in loc:
        if isinstance(data, dict) and data is not labelled and part == data.get("kind"):
            # of the union of kinds; a key may have the same name
            labelled = data
            continue
        in_mapping = isinstance(data, dict) and part in data
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_mapping or in_list:
            path = (*path, part)
            data = data[part]
    if not loc or loc[-1] == "[key]" or (path and path[-1] == loc[-1]):
        return path
    last = loc[-1]
    for written, name in ALIASES.items():
        if name == last and isinstance(data, dict) and written in data:
            last = written
    return (*path, last)


def ignored_keys(document: Document, kind: type[Shape]) -> list[Problem]:
    """Return a warning for each key that is read and has no effect."""
    return list(_ignored(document, document.data, kind, ()))


def _ignored(document: Document, data: Any, kind: Any, path: YamlPath) -> Iterator[Problem]:
    model = find_shape(kind, data)
    if isinstance(data, dict):
        for key, value in data.items():
            if model is not None and key in model.ignored:
                text = f"{key} has no effect here"
                yield document.problem((*path, key), "ignored-key", text, key=True)
            else:
                yield from _ignored(document, value, inside(kind, key, data), (*path, key))
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from _ignored(document, value, inside(kind, place, data), (*path, place))
