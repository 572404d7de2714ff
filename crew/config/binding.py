"""Plain data of a file -> its shape, or a Problem at the place of each mistake.

And `${NAME}` from the environment.
"""

import re
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from crew.config.problems import Problem
from crew.config.yaml_reader import Document, Path
from tools.config import Shape

VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")
# of one file; nobody reads more, and a hostile one has tens of thousands
MAX_PROBLEMS = 1000
S = TypeVar("S", bound=Shape)


def shape(document: Document, kind: type[S]) -> tuple[S | None, list[Problem]]:
    """The document as a `kind`, or None and every reason why not."""
    if document.data is None:
        return None, []
    try:
        return kind.model_validate(document.data), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems = [_problem(document, kind, detail) for detail in details[:MAX_PROBLEMS]]
        if more := len(details) - len(problems):
            path = _path(document, details[MAX_PROBLEMS]["loc"])
            text = f"{more:,} more problems of this file are not told; mend these first"
            problems.append(document.problem(path, "too-many-problems", text, key=True))
        return None, problems


def fill_environment(
    document: Document, parts: tuple[Path, ...], environment: Mapping[str, str]
) -> list[Problem]:
    """Replace `${NAME}` and `${NAME:-default}` in the parts of a document at these paths.

    Tells those that are not set.
    """
    problems: list[Problem] = []

    def fill(value: Any, path: Path) -> Any:
        match value:
            case str():
                return type(value)(VARIABLE.sub(lambda found: put(found, path), value))
            case dict():
                return {key: fill(inner, (*path, key)) for key, inner in value.items()}
            case list():
                return [fill(inner, (*path, place)) for place, inner in enumerate(value)]
            case _:
                return value

    def put(found: re.Match[str], path: Path) -> str:
        if (value := environment.get(found[1])) is not None:
            return value
        if found[2] is None:
            text = f"the environment variable {found[1]} is not set; set it, or write ${{{found[1]}:-default}}"
            problems.append(document.problem(path, "unset-variable", text))
        return found[2] or ""

    def walk(data: Any, path: Path, at: int) -> Any:
        if at == len(path):
            return fill(data, path)
        if not isinstance(data, dict):
            return data
        return {
            key: walk(inner, path, at + 1) if key == path[at] else inner
            for key, inner in data.items()
        }

    for path in parts:
        document.data = walk(document.data, path, 0)
    return problems


def _problem(document: Document, kind: type[Shape], detail: ErrorDetails) -> Problem:
    path = _path(document, detail["loc"])
    match detail["type"]:
        case "extra_forbidden":
            fields, ignored = _fields(kind, path[:-1])
            near = document.near(str(path[-1]), fields) or document.near(str(path[-1]), ignored)
            inside = _belongs(kind, path)
            known = (
                f"; it belongs under {inside}"
                if inside
                else ""
                if near
                else f"; known here: {', '.join(fields)}"
            )
            near = None if inside else near
            return document.problem(
                path,
                "unknown-key",
                f"unknown key {str(path[-1])!r}{known}",
                key=True,
                suggestion=near,
            )
        case "missing":
            return document.problem(
                path[:-1], "missing-key", f"the key {str(detail['loc'][-1])!r} is missing", key=True
            )
        case "value_error":
            return document.problem(
                path, "bad-value", _lower(detail["msg"].removeprefix("Value error, "))
            )
        case "string_pattern_mismatch" if "{1,128}" in detail["msg"]:
            return document.problem(
                path, "bad-name", "a name is 1 to 128 letters, digits, '_' and '-'"
            )
        case "string_pattern_mismatch":
            return document.problem(path, "bad-name", "no header can have this name", key=True)
        case "literal_error":
            wanted = detail.get("ctx", {}).get("expected", "")
            given = detail["input"]
            near = (
                document.near(given, re.findall(r"'([^']+)'", wanted))
                if isinstance(given, str)
                else None
            )
            return document.problem(path, "bad-value", f"expected {wanted}", suggestion=near)
        case (
            "greater_than"
            | "greater_than_equal"
            | "less_than"
            | "less_than_equal"
            | "too_short"
            | "string_too_short"
            | "finite_number"
        ):
            return document.problem(path, "out-of-range", _lower(detail["msg"]))
        case _:
            return document.problem(path, "wrong-type", _expected(detail))


EXPECTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "a mapping (`key: value` lines)",
    "model_type": "a mapping (`key: value` lines)",
}


def _expected(detail: ErrorDetails) -> str:
    """What was expected, and what stands there."""
    given, kind = detail["input"], detail["type"]
    if kind not in EXPECTED:
        return _lower(detail["msg"])
    # the value itself may have come from the environment, and be a secret
    what = {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(given))
    text = f"expected {EXPECTED[kind]}" + (f"; found {what}" if what else "")
    return (
        f"{text}; put quotes around a text in [brackets]"
        if kind == "string_type" and isinstance(given, list)
        else text
    )


def _lower(text: str) -> str:
    return (text[:1].lower() + text[1:]).replace("input should be", "must be")


def _path(document: Document, loc: tuple[int | str, ...]) -> Path:
    """A place in the data: pydantic's own labels (of unions, of keys) are left out."""
    path: Path = ()
    data = document.data
    for part in loc:
        if (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        ):
            path = (*path, part)
            data = data[part]  # type: ignore[index] # part was looked up just above
    return (
        path
        if loc and ((path and path[-1] == loc[-1]) or loc[-1] == "[key]")
        else (*path, loc[-1])
        if loc
        else path
    )


def ignored_keys(document: Document, kind: type[Shape]) -> list[Problem]:
    """A warning for each key that is read and means nothing here."""

    def walk(data: Any, kind: Any, path: Path) -> Iterator[Problem]:
        model = model_of(kind)
        if isinstance(data, dict):
            for key, value in data.items():
                if model is not None and key in model.ignored:
                    yield document.problem(
                        (*path, key), "ignored-key", f"{key} has no effect here", key=True
                    )
                else:
                    yield from walk(value, inside(kind, key), (*path, key))
        elif isinstance(data, list):
            for place, value in enumerate(data):
                yield from walk(value, inside(kind, place), (*path, place))

    return list(walk(document.data, kind, ()))


def _fields(kind: Any, path: Path) -> tuple[list[str], frozenset[str]]:
    """The keys that the mapping at a path may have, and those that it may have without effect."""
    for part in path:
        kind = inside(kind, part)
    model = model_of(kind)
    return (list(model.model_fields), model.ignored) if model else ([], frozenset())


def _belongs(kind: Any, path: Path) -> str | None:
    """The key under which an unknown key would be a known one."""
    for part in path[:-1]:
        kind = inside(kind, part)
    model = model_of(kind)
    for name in model.model_fields if model else ():
        below = model_of(inside(kind, name))
        if below is not None and path[-1] in below.model_fields:
            return name
    return None


def inside(kind: Any, part: str | int) -> Any:
    """The type of what is in a value of a type."""
    model = model_of(kind)
    if model is not None:
        field = model.model_fields.get(str(part))
        return field.annotation if field else None
    for option in _options(kind):
        if typing.get_origin(option) in (dict, list):
            return typing.get_args(option)[-1]
    return None


def model_of(kind: Any) -> type[Shape] | None:
    """The shape among the options of a type."""
    return next(
        (
            option
            for option in _options(kind)
            if isinstance(option, type) and issubclass(option, Shape)
        ),
        None,
    )


def _options(kind: Any) -> tuple[Any, ...]:
    """A type without what pydantic is told about it; the parts of a union."""
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return _options(typing.get_args(kind)[0])
    return (
        tuple(option for part in typing.get_args(kind) for option in _options(part))
        if origin in (typing.Union, types.UnionType)
        else (kind,)
    )
