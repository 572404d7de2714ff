"""Secrets that stand in a crew's files: hidden where the files are shown, put back when written."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from crew.config.files.document import Document, YamlPath
from crew.config.files.environment import literal_secrets
from crew.config.files.sources import CONFIGURED, NOT_KEPT
from crew.config.files.yaml_reader import read
from crew.config.problems import Problem
from tools.text.secrets import MASK

# of all that is masked
SHOWN = MASK
STAND_INS = (SHOWN, NOT_KEPT)
# of YAML
LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
Mask = Callable[[str], str]
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", re.DOTALL)


def unchanged(text: str) -> str:
    """Return a text as it is."""
    return text


def hidden(name: str, text: str) -> str:
    """Return a file's text as it is shown, without the secrets in it."""
    document = _document(name, text)
    if document is None:
        return text
    secrets = literal_secrets(document, STAND_INS)
    shown = _replaced(text, dict.fromkeys(secrets, f'"{SHOWN}"'), document, secrets)
    # also where one is repeated, in a comment for instance
    for value in secrets.values():
        if value not in STAND_INS:
            shown = shown.replace(value, SHOWN)
    return shown


def put_back(
    name: str, text: str, present: str, mask: Mask = unchanged
) -> tuple[str, list[Problem]]:
    """Return a text with the secrets of a file that is there, where their stand-ins are.

    Args:
        name: of the file.
        text: to be written.
        present: the file's text now; "" if there is none.
        mask: what else was hidden when it was shown.

    Returns:
        The text, and the places that have a stand-in where the file has no secret.
    """
    document, other = _document(name, text), _document(name, present)
    problems: list[Problem] = []
    if document is not None:
        text, problems = _literals_put_back(text, document, present, other)
    text, left = _lines_put_back(text, mask(hidden(name, present)), present)
    taken = {problem.line for problem in problems}
    for line in left:
        if line not in taken:
            why = "*** stands for a secret here; leave the line as it was, or write ${NAME}"
            problems.append(Problem(name, line, 1, "unset-variable", why))
    return text, problems


def _literals_put_back(
    text: str, document: Document, present: str, other: Document | None
) -> tuple[str, list[Problem]]:
    """Put back the secrets that are values of their own, by their places."""
    wanted = literal_secrets(document, STAND_INS)
    wanted = {path: value for path, value in wanted.items() if value in STAND_INS}
    known = literal_secrets(other) if other is not None else {}
    problems = []
    found: dict[YamlPath, str] = {}
    for path in wanted:
        if other is None or path not in known or known[path] in STAND_INS:
            problem = "the secret of this place is not known; write ${NAME}, and set NAME"
            problems.append(document.problem(path, "unset-variable", problem))
        elif (span := _span(present, other, path, known[path])) is not None:
            found[path] = present[span[0] : span[1]]
    return _replaced(text, found, document, wanted), problems


def _document(name: str, text: str) -> Document | None:
    """Return a file that may have secrets; None: it has none, or cannot be read."""
    if Path(name).stem not in CONFIGURED or "/" in name or not text:
        return None
    document = read(name, text.encode())
    return document if isinstance(document.data, dict) else None


def _lines_put_back(text: str, shown: str, present: str) -> tuple[str, list[int]]:
    """Put back the lines that were not changed since they were shown: comments, for instance.

    Returns:
        The text, and the numbers of lines that still have a stand-in, from 1.
    """
    originals: dict[str, set[str]] = {}
    for one, other in zip(shown.splitlines(), present.splitlines(), strict=False):
        if SHOWN in one and one != other:
            originals.setdefault(one.strip(), set()).add(other.strip())
    # shown alike, lines may have different secrets
    known = {one: others.pop() for one, others in originals.items() if len(others) == 1}
    lines, left = text.splitlines(keepends=True), []
    for place, line in enumerate(lines):
        if line.strip() in known:
            lines[place] = line.replace(line.strip(), known[line.strip()], 1)
        elif SHOWN in line and originals and line.strip() not in present:
            left.append(place + 1)
    return "".join(lines), left


def _replaced(
    text: str,
    values: Mapping[YamlPath, str],
    document: Document,
    present: Mapping[YamlPath, str],
) -> str:
    """Return a text with other raw values at some paths."""
    spans = {}
    for path, value in values.items():
        if (span := _span(text, document, path, present[path])) is not None:
            # one that is used twice, by an alias, is written once
            spans[span] = value
    for (start, end), value in sorted(spans.items(), reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _span(text: str, document: Document, path: YamlPath, value: str) -> tuple[int, int] | None:
    """Return where a scalar stands in a text, with its quotes; None: not in one piece."""
    line, column = document.value_at(path)
    starts = [0, *(found.end() for found in LINE_BREAK.finditer(text))]
    start = starts[line - 1] + column - 1
    if (quoted := QUOTED.match(text, start)) is not None:
        return start, quoted.end()
    return (start, start + len(value)) if text.startswith(value, start) else None
