"""What a parser of YAML stops at, in its words, and what usually helps; pure."""

import re
from collections.abc import Sequence

import yaml

from crew.config.files.spacing import (
    Found,
    deeper_key,
    missing_dash_space,
    missing_space,
    odd_space,
)

# what the parser notices only behind the mistake
KEY_MISTAKES = ("mapping values are not allowed", "could not find expected ':'")
FOUND_LATER = ("unexpected end of stream", "could not find expected ':'")
GIT_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")
# a value that YAML takes for a mapping, a list, an alias or a quoted text, and that goes on
STARTS_BADLY = re.compile(r":\s+([{\[*&'\"])")
# of brackets: what stands before a value that should be another entry
FOLLOWS_VALUE = re.compile(r"[\"'\]}\w][ \t]+$")
# a key that YAML takes for the end of the value before it
KEY_IN_VALUE = re.compile(r"[^\s,{\[][ \t]+([\w-]+)$")
PLAIN_VALUE = re.compile(r"\$\{\w+\}[^\s,}\]]*")
# a text in single quotes that ends too early
QUOTE_WITHIN = re.compile(r":\s+'[^']*'$")
# what programs that write texts put in the place of quotes
QUOTES = re.compile("[\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb]")
MAX_SHOWN = 60
# of brackets: what is open where the other one closes
CLOSES = {"]": "}", "}": "]"}
# what usually helps, by words of the parser
REMEDIES = {
    "mapping values are not allowed": "put quotes around a text that holds ': '",
    "found undefined alias": "put quotes around a text that begins with *",
    "unknown escape character": "write \\\\ for a \\ in double quotes, or use single ones",
    "block sequence entries are not allowed": "begin a list on a line of its own, below its key",
    "could not find expected ':'": (
        "a ':' is missing behind a key, or a line is indented less than the text that it is part of"
    ),
}


def explain_syntax(error: yaml.MarkedYAMLError, text: str) -> Found:
    """Return where a mistake of a text is, and what is wrong there."""
    lines = text.splitlines()
    if (found := _find_conflict(lines)) is not None:
        return found
    if (found := _find_spacing(error, lines)) is not None:
        return found
    mark = error.problem_mark or error.context_mark
    # found where it begins: a quote or bracket that is never closed, a key without ':'
    is_later = error.problem is not None and any(words in error.problem for words in FOUND_LATER)
    if is_later or _is_unclosed(error):
        mark = error.context_mark or mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return line, column, _words(error, lines, line, column)


def _find_conflict(lines: Sequence[str]) -> Found | None:
    """Find where a merge of git has left both versions: whatever the parser stops at."""
    marks: dict[str, list[int]] = {sign: [] for sign in GIT_CONFLICT}
    for number, written in enumerate(lines, 1):
        for sign, found in marks.items():
            if written.startswith(sign):
                found.append(number)
    first, last = marks[GIT_CONFLICT[0]], marks[GIT_CONFLICT[-1]]
    if not (first and last):
        return None
    text = "a merge of git has left both versions here: keep what is right, and remove the lines"
    return first[0], 1, f"{text} that begin with <<<<<<<, ======= and >>>>>>>"


def _find_spacing(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> Found | None:
    """Find a space that is missing, or none to YAML, where that is why the parser stops."""
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else len(lines)
    if (found := odd_space(lines, line)) is not None:
        return found
    reason = error.problem or ""
    if not any(words in reason for words in KEY_MISTAKES) or mark is None:
        return None
    begun = error.context_mark.line + 1 if error.context_mark is not None else line
    return (
        missing_space(lines, line)
        or missing_dash_space(lines, begun)
        or deeper_key(lines, line, mark.column + 1)
    )


def _is_unclosed(error: yaml.MarkedYAMLError) -> bool:
    """Return whether a bracket is open still at the line where the mistake is noticed."""
    begin, end = error.context_mark, error.problem_mark
    is_flow = (error.context or "").startswith("while parsing a flow")
    return is_flow and begin is not None and end is not None and begin.line < end.line


def _at_mark(
    error: yaml.MarkedYAMLError, lines: Sequence[str], line: int, column: int
) -> str | None:
    """Return what to write where the parser stands; None where its place says nothing."""
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    before, context = written[: column - 1], error.context or ""
    if "alias" in context and (at := before.rfind("*")) >= 0:
        return f"put quotes around a text that begins with *: {_quoted(written[at:])}"
    if "quoted scalar" in context and "hexdecimal" in (error.problem or ""):
        return "write \\\\ for a \\ in double quotes, or use single ones"
    if QUOTE_WITHIN.search(before) and written[column - 1 : column].isalpha():
        return "write '' for a ' in single quotes, or use double ones"
    if context.startswith("while parsing a flow node") and line > len(lines):
        return "a [ or { that opens above is never closed"
    if not context.startswith("while parsing a flow"):
        return None
    if (quote := QUOTES.search(written)) is not None:
        return f'{quote[0]} (U+{ord(quote[0]):04X}) is no quote to YAML: write "'
    if before.endswith("$") and written[column - 1 : column] == "{":
        value = PLAIN_VALUE.match(written, len(before) - 1)
        return f'put quotes around it: "{value[0] if value else "${NAME}"}"'
    if (sign := written[column - 1 : column]) in CLOSES:
        return f"a {CLOSES[sign]} is missing before this {sign}"
    if sign == ":" and (key := KEY_IN_VALUE.search(before)) is not None:
        return f"a comma is missing before {key[1]}"
    if FOLLOWS_VALUE.search(before):
        return "a comma is missing before it"
    return None


def _quoted(rest: str) -> str:
    """Return a text up to the comma or bracket behind it, in quotes."""
    value = re.split(r",\s|\s?[}\]]\s*$", rest, maxsplit=1)[0].strip()
    return f'"{value[:MAX_SHOWN]}"'


def _words(error: yaml.MarkedYAMLError, lines: Sequence[str], line: int, column: int) -> str:
    """Return the parser's words, and what usually helps."""
    reason = ": ".join(part for part in (error.context, error.problem) if part)
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    indent = written[: len(written) - len(written.lstrip())]
    if "\t" in indent or "'\\t'" in reason:
        return f"{reason}; indent with spaces, not tabs"
    if "unexpected end of stream" in reason and "quoted" in reason:
        return "the quote that opens here is never closed"
    if _is_unclosed(error):
        bracket, rest = written[column - 1 : column], written[column:]
        opened = f"the {bracket} that opens here is never closed, or lacks a comma"
        comment = "; what stands behind a # is a comment, unless it is in quotes"
        return opened + comment if " #" in rest else opened
    if "did not find expected" in reason and error.context_mark is not None:
        first = error.context_mark.line + 1
        if (remedy := _at_mark(error, lines, line, column)) is not None:
            return f"{reason}; {remedy}"
        if value := STARTS_BADLY.search(written):
            return f"{reason}; put quotes around a text that begins with {value[1]}"
        if first == line:
            return reason
        return (
            f"{reason}; a line between {first} and {line} has another indentation than the "
            "lines beside it, or lacks the space after '-'"
        )
    if "cannot start any token" in reason:
        character = written[column - 1 : column]
        return f"{reason}; put quotes around a text that begins with {character}"
    remedies = (remedy for words, remedy in REMEDIES.items() if words in reason)
    return "; ".join([reason, *remedies])
