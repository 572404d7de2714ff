"""`${NAME}` and `${NAME:-default}`, read from the environment in some parts of a document."""

import re
from collections.abc import Mapping
from typing import Any

from crew.config.document import Document, YamlPath
from crew.config.problems import Problem

# shorter ones are words such as "none", for servers that need no key
MIN_SECRET_CHARS = 12
SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
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


def find_literal_secrets(document: Document) -> list[Problem]:
    """A warning for each key of a provider that stands in the file itself."""
    providers = document.data.get("providers") if isinstance(document.data, dict) else None
    problems: list[Problem] = []
    for name, provider in (providers if isinstance(providers, dict) else {}).items():
        if not isinstance(provider, dict):
            continue
        headers = provider.get("headers")
        given: dict[YamlPath, Any] = {("api_key",): provider.get("api_key")}
        for header, value in (headers if isinstance(headers, dict) else {}).items():
            if SECRET_HEADER.search(str(header)):
                given["headers", header] = value
        for path, value in given.items():
            if not isinstance(value, str) or VARIABLE.search(value):
                continue
            if len(value) >= MIN_SECRET_CHARS:
                text = f"{path[-1]} has its secret in the file; write ${{NAME}}, and set NAME"
                where = ("providers", name, *path)
                problems.append(document.problem(where, "literal-secret", text))
    return problems


def _change_at(data: Any, path: YamlPath, depth: int, change: Any) -> Any:
    """A copy of the data with the value at a path changed."""
    if depth == len(path):
        return change(data, path)
    if not isinstance(data, dict) or path[depth] not in data:
        return data
    key = path[depth]
    return {**data, key: _change_at(data[key], path, depth + 1, change)}
