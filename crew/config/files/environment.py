"""`${NAME}` and `${NAME:-default}`, read from the environment in some parts of a document.

What is read so is a secret, and so is what the environment has under names such as `API_KEY`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import NOT_KEPT, Sources
from crew.config.problems import Problem
from tools.text.secrets import MIN_CHARS, SECRET_HEADER, Secrets

# shorter ones are words such as "none", for servers that need no key
MIN_SECRET_CHARS = 12
# of variables
SECRET_NAME = re.compile(r"(?:key|token|secret|password|passwd|credential)s?$", re.IGNORECASE)
# what is read under these keys is an address
ADDRESSES = frozenset({"base_url", "provider_url"})
# what is a secret under these keys, besides headers and variables with such names
SECRET_KEYS = {
    "providers": ("api_key",),
    "tools": ("api_key",),
    "notify": ("secret", "token", "password"),
}
# of an address: a long part of its path or its query
TOKEN, DIGIT, LETTER = re.compile(r"[/=]([\w-]{16,})"), re.compile(r"\d"), re.compile(r"[A-Za-z]")
VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^{}]*))?\}")
# masked wherever it stands, such a secret spoils answers
WORD = re.compile(r"[a-z]+")
# at the beginning of a value
FIRST = re.compile(r"""(?:[:-] +|[,\[] *)["']?\$\{(\w+)\}""")
# passes the checks of addresses, keys and names; and what does so within one
STAND_IN, PART = "http://unset.invalid", "1"
# what shells and other programs read as one, and this one does not
UNREAD = re.compile(r"\$[A-Za-z_{]")
# of a tool, what is sent as it stands; a dollar sign elsewhere may be of a pattern or a program
SENT = ADDRESSES | {"api_key", "url", "headers", "env"}


@dataclass(frozen=True, slots=True)
class ReadSecret:
    """A secret that a file reads from the environment."""

    document: Document
    path: YamlPath
    # of the variable
    name: str
    value: str


def weak_secrets(found: Iterable[ReadSecret], texts: Collection[str]) -> Iterator[Problem]:
    """Find secrets that are masked where only their word is meant.

    Args:
        found: what was read.
        texts: of the crew's files.
    """
    for one in found:
        if len(one.value) < MIN_CHARS:
            # shorter ones are not masked
            continue
        is_word = WORD.fullmatch(one.value) is not None
        if is_word or any(one.value in text for text in texts):
            why = "is one lower-case word" if is_word else "stands in the crew's files"
            text = f"the secret in {one.name} {why}, so texts with it are masked; use a longer one"
            yield one.document.problem(one.path, "weak-secret", text)


def find_secrets(environment: Mapping[str, str], secrets: Secrets) -> None:
    """Add what is secret in an environment, also what no file names: a tool may read it."""
    for name, value in environment.items():
        if SECRET_NAME.search(name):
            secrets.add(value)
        elif "://" in value:
            secrets.add_address(value)


def with_stand_ins(environment: Mapping[str, str], sources: Sources) -> dict[str, str]:
    """Return an environment in which no variable of a crew's files is unset.

    For who only looks at what the crew has done: with these no model, tool or channel is used.
    """
    found = dict(environment)
    for content in sources.files.values():
        text = content.decode(errors="replace")
        first = set(FIRST.findall(text))
        for name, default in VARIABLE.findall(text):
            if not default:
                found.setdefault(name, STAND_IN if name in first else PART)
    return found


def fill_environment(
    document: Document,
    parts: tuple[YamlPath, ...],
    environment: Mapping[str, str],
    secrets: Secrets,
    found: "list[ReadSecret] | None" = None,
) -> list[Problem]:
    """Replace variables in the parts of a document at these paths; problems: those not read.

    Args:
        document: of a crew.
        parts: of it.
        environment: has the variables.
        secrets: gets the values.
        found: gets what was read and is secret, with its place.
    """
    problems: list[Problem] = []

    def replace(variable: re.Match[str], path: YamlPath) -> str:
        name, default = variable[1], variable[2]
        if (value := environment.get(name)) is not None:
            if _is_secret(document, path):
                secrets.add(value)
                if found is not None:
                    found.append(ReadSecret(document, path, name, value))
            else:
                secrets.add_address(value)
            return value
        if default is None:
            text = f"the environment variable {name} is not set; set it, or write"
            text = f"{text} ${{{name}:-default}}"
            problems.append(document.problem(path, "unset-variable", text))
        return default or ""

    def fill(value: Any, path: YamlPath) -> Any:
        match value:
            case str():
                if _is_sent(path) and UNREAD.search(VARIABLE.sub("", value)):
                    text = "a $ here names no variable, and stays as written; write ${NAME}"
                    problems.append(document.problem(path, "unread-variable", text))
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


def _is_secret(document: Document, path: YamlPath) -> bool:
    """Return whether what a variable gives is a secret there, and not an address or a name."""
    if path[-1] in ADDRESSES:
        return False
    if path[0] != "notify":
        return True
    # the address of a chat is enough to post there
    data = document.data.get("notify", {}).get(path[1])
    is_chat = isinstance(data, dict) and data.get("kind") == "slack" and path[-1] == "url"
    return is_chat or path[-1] in SECRET_KEYS["notify"] or "headers" in path


def _is_sent(path: YamlPath) -> bool:
    """Return whether a text goes to a server, a channel or a program as it stands."""
    return path[0] != "tools" or path[-1] in SENT or (len(path) > 2 and path[2] in SENT)


def literal_secrets(
    document: Document, stand_ins: Collection[str] = (NOT_KEPT,)
) -> dict[YamlPath, str]:
    """Return the keys of providers, tools and channels in the file itself, by their paths.

    `stand_ins`: what may stand where a secret was; as short as they are, they are found, too.
    """
    found: dict[YamlPath, str] = {}
    for section, name, entry in _entries(document):
        given: dict[YamlPath, Any] = {(key,): entry.get(key) for key in SECRET_KEYS[section]}
        url = entry.get("url")
        is_known = url in stand_ins or _has_token(url)
        if section == "notify" and (entry.get("kind") == "slack" or is_known):
            # who knows the address may post
            given["url",] = url
        for key, pattern in (("headers", SECRET_HEADER), ("env", SECRET_NAME)):
            mapping = entry.get(key)
            for one, value in (mapping if isinstance(mapping, dict) else {}).items():
                if pattern.search(str(one)):
                    given[key, one] = value
        for path, value in given.items():
            if not isinstance(value, str) or VARIABLE.search(value):
                continue
            if len(value) >= MIN_SECRET_CHARS or value in stand_ins:
                found[section, name, *path] = value
    return found


def _has_token(url: Any) -> bool:
    """Return whether an address has a part like a token, as a webhook has one."""
    parts = TOKEN.findall(url) if isinstance(url, str) else []
    return any(DIGIT.search(one) and LETTER.search(one) for one in parts)


def _entries(document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the providers, tools and channels of a file: section, name, entry."""
    for section in SECRET_KEYS:
        entries = document.data.get(section) if isinstance(document.data, dict) else None
        for name, entry in (entries if isinstance(entries, dict) else {}).items():
            if isinstance(entry, dict):
                yield section, name, entry


def warn_of_literals(document: Document, literals: Mapping[YamlPath, str]) -> list[Problem]:
    """Return a warning for each of them."""
    return [
        document.problem(
            path,
            "literal-secret",
            f"{path[-1]} has its secret in the file; write ${{NAME}}, and set NAME",
        )
        for path in literals
    ]


def restore_literals(document: Document, literals: Mapping[YamlPath, str]) -> list[Problem]:
    """Put secrets back into a file that was kept without them.

    Args:
        document: the file.
        literals: of the file as it is today.

    Returns:
        What is in that file no more.
    """
    problems: list[Problem] = []
    for path, kept in literal_secrets(document).items():
        if kept != NOT_KEPT:
            continue
        if (value := literals.get(path)) is None:
            text = "its secret stood in the file, and is not kept with runs; write ${NAME}"
            problems.append(document.problem(path, "unset-variable", text))
        else:
            document.data = _change_at(document.data, path, 0, partial(_replace, value))
    return problems


def _replace(value: str, *_: Any) -> str:
    return value


def _change_at(data: Any, path: YamlPath, depth: int, change: Any) -> Any:
    """Return a copy of the data with the value at a path changed."""
    if depth == len(path):
        return change(data, path)
    if not isinstance(data, dict) or path[depth] not in data:
        return data
    key = path[depth]
    return {**data, key: _change_at(data[key], path, depth + 1, change)}
