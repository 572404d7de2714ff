"""`${NAME}` and `${NAME:-default}`, read from the environment in some parts of a document."""

import re
from collections.abc import Mapping
from typing import Any

from crew.config.document import Document, YamlPath
from crew.config.problems import Problem

VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^{}]*))?\}")


def fill_environment(
    document: Document, parts: tuple[YamlPath, ...], environment: Mapping[str, str]
) -> list[Problem]:
    """Replace variables in the parts of a document at these paths; problems: those not set."""
    problems: list[Problem] = []

    def replace(found: re.Match[str], path: YamlPath) -> str:
        name, default = found[1], found[2]
        if (value := environment.get(name)) is not None:
            return value
        if default is None:
            text = f"the environment variable {name} is not set; set it, or write"
            text = f"{text} ${{{name}:-default}}"
            problems.append(document.problem(path, "unset-variable", text))
        return default or ""

    def fill(value: Any, path: YamlPath) -> Any:
        match value:
            case str():
                return type(value)(VARIABLE.sub(lambda found: replace(found, path), value))
            case dict():
                return {key: fill(inner, (*path, key)) for key, inner in value.items()}
            case list():
                return [fill(inner, (*path, place)) for place, inner in enumerate(value)]
            case _:
                return value

    for path in parts:
        document.data = _change_at(document.data, path, 0, fill)
    return problems


def _change_at(data: Any, path: YamlPath, depth: int, change: Any) -> Any:
    """A copy of the data with the value at a path changed."""
    if depth == len(path):
        return change(data, path)
    if not isinstance(data, dict) or path[depth] not in data:
        return data
    key = path[depth]
    return {**data, key: _change_at(data[key], path, depth + 1, change)}
