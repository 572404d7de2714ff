"""Mistakes that have one certain remedy, mended in the text: comments and layout stay.

Everything else is the operator's.
"""

import codecs
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crew.config.loader import CrewFiles, read_files
from crew.config.problems import Problem
from crew.config.sources import Sources
from crew.config.yaml_reader import Document

# So alike must a word of a key and the one it is taken for be; difflib's ratio. `max` and `min`, or
# two units, never are.
CERTAIN = 0.75
# What may show when a mistake is mended that hid it; anything else was not meant.
HIDDEN = frozenset({"unknown-key", "out-of-range", "unset-variable"})
KEY = re.compile(r"(['\"]?)([\w.-]+)\1(?=\s*:)")
# a signal in brackets that YAML takes for a list of one
SIGNAL = re.compile(r"(.*\bsignal:\s*)(\[[^\[\]{}\"',#&*!|>%@`\n]+\])\s*($|#|,|\})")
# a value that holds ': ', behind its key
UNQUOTED = re.compile(r"^(\s*(?:- )*[\w.-]+:\s+)([^\s\"'\[\]{}|>&*!%@`#][^\"\\#]*?)(\s+#.*|\s*)$")


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of one line, and what it is to be. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    old: str
    new: str
    # the mistake hides what is wrong behind it
    hides: bool = False


def repaired(sources: Sources) -> Sources:
    """The sources with all that is certain mended; the same ones if there is nothing."""
    done: set[tuple[str, int, str]] = set()
    while edits := [
        edit
        for edit in _edits(read_files(sources, {}))
        if (edit.file, edit.line, edit.old) not in done
    ]:
        for file in dict.fromkeys(edit.file for edit in edits):
            own = [edit for edit in edits if edit.file == file]
            # all of a file at once; one by one where that does not help
            for some in (own, *([edit] for edit in own)):
                mended = _applied(sources, some)
                if _helps(sources, mended, some):
                    sources = mended
                    if some is own:
                        break
        # what one mistake hides shows when it is mended; no place is mended twice
        done |= {(edit.file, edit.line, text) for edit in edits for text in (edit.old, edit.new)}
    return sources


def _helps(before: Sources, after: Sources, edits: Sequence[Edit]) -> bool:
    """Whether nothing but what was hidden is wrong now.

    No mended line says something that does not fit.
    """
    file, lines = edits[0].file, {edit.line for edit in edits}
    was, now = (
        Counter(
            (p.code, p.line)
            for p in read_files(one, {}).problems
            if p.file == file and p.severity == "error"
        )
        for one in (before, after)
    )
    hides = any(edit.hides for edit in edits)
    shown = [
        (code, line) for code, line in now - was if code not in HIDDEN or (hides and line in lines)
    ]
    return not shown and not any(
        code in ("syntax", "wrong-type") and line in lines for code, line in now
    )


def _applied(sources: Sources, edits: Sequence[Edit]) -> Sources:
    file = edits[0].file
    content = sources.files[file]
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    lines = content.decode("utf-8-sig").splitlines(keepends=True)
    # from the end, so that the columns of those before stay right
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column), reverse=True):
        line, at = lines[edit.line - 1], edit.column - 1
        lines[edit.line - 1] = line[:at] + edit.new + line[at + len(edit.old) :]
    return replace(sources, files={**sources.files, file: mark + "".join(lines).encode()})


def _edits(files: CrewFiles) -> Iterator[Edit]:
    documents = {document.file: document for document in files.documents.values()}
    lines = {file: document.text.splitlines() for file, document in documents.items()}
    for problem in files.problems:
        if problem.line <= len(lines.get(problem.file, ())):
            yield from _edit(problem, lines[problem.file][problem.line - 1])
    for document in files.agent_files.values():
        yield from _enforce(document)


def _edit(problem: Problem, line: str) -> Iterator[Edit]:
    key = KEY.match(line[problem.column - 1 :])
    if (
        problem.code == "unknown-key"
        and problem.suggestion is not None
        and key
        and _certain(key[2], problem.suggestion)
    ):
        yield Edit(
            problem.file,
            problem.line,
            problem.column,
            key[0],
            f"{key[1]}{problem.suggestion}{key[1]}",
        )
    elif (
        problem.code == "wrong-type"
        and (text := SIGNAL.match(line))
        and len(text[1]) == problem.column - 1
    ):
        yield Edit(problem.file, problem.line, problem.column, text[2], f'"{text[2]}"')
    elif (
        problem.code == "syntax"
        and "mapping values are not allowed" in problem.message
        and (value := UNQUOTED.match(line))
    ):
        yield Edit(
            problem.file, problem.line, len(value[1]) + 1, value[2], f'"{value[2]}"', hides=True
        )


def _certain(written: str, meant: str) -> bool:
    """Whether a key can be no other: as many words, each the same but for a slip."""
    words, others = written.lower().split("_"), meant.split("_")
    return len(words) == len(others) and all(
        word == other
        or (word[:1] == other[:1] and difflib.SequenceMatcher(None, word, other).ratio() >= CERTAIN)
        for word, other in zip(words, others, strict=True)
    )


def _enforce(document: Document) -> Iterator[Edit]:
    """go-agentic's word for `block_on_cost_exceed`."""
    limits = document.data.get("cost_limits") if isinstance(document.data, dict) else None
    if isinstance(limits, dict) and "enforce" in limits and "block_on_cost_exceed" not in limits:
        line, column = document.keys["cost_limits", "enforce"]
        key = KEY.match(document.text.splitlines()[line - 1][column - 1 :])
        if key is not None:
            new = f"{key[1]}block_on_cost_exceed{key[1]}"
            yield Edit(document.file, line, column, key[0], new)
