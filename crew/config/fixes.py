"""Fixes for mistakes that have one certain remedy; comments and layout stay."""

import codecs
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agents.config import AgentConfig
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document
from crew.config.files.sources import Sources
from crew.config.keys.crew_file import CrewConfig
from crew.config.loader import read_files
from crew.config.problems import Problem
from crew.config.shapes import places
from tools.text.secrets import Secrets

# the least likeness of a word of a key and the one it is taken for: difflib's ratio. `max` and
# `min`, or two units, are never so alike.
CERTAIN = 0.75
# What may appear when a mistake that hid it is fixed; anything else was not meant.
HIDDEN = frozenset({"unknown-key", "out-of-range", "unset-variable"})
KEY = re.compile(r"(['\"]?)([\w.-]+)\1(?=\s*:)")
# a signal in brackets that YAML takes for a list of one
SIGNAL = re.compile(r"(.*\bsignal:\s*)(\[[^\[\]{}\"',#&*!|>%@`\n]+\])\s*($|#|,|\})")
# a value that holds ': ', after its key
UNQUOTED = re.compile(r"^(\s*(?:- )*([\w.-]+):\s+)([^\s\"'\[\]{}|>&*!%@`#][^\"\\#]*?)(\s+#.*|\s*)$")
# keys whose value is a text of any kind; and what shows that a line break was lost in it
TEXTS = frozenset({"name", "role", "description", "backstory", "system_prompt", "organization"})
KEYS = frozenset(
    key
    for kind in (CrewConfig, AgentConfig)
    for _, model in places(kind, "")
    for key in model.fields_by_key()
)
WORD_AND_COLON = re.compile(r"(\w+):\s")
# characters of a line in which such a value is looked for
MAX_LINE = 1000
NOTHING = frozenset(
    {"none", "null", "nil", "nothing", "no", "empty", "off", "false", "true", "yes", "on", "all"}
)
# names of a list that were written without one
NAMES_ONLY = re.compile(r"^(\s*(?:tools|handoff_targets|agents):\s+)([\w-]+(?:\s*,\s*[\w-]+)*)\s*$")


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of one line, and what replaces it. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    old: str
    new: str
    # the mistake hides other mistakes
    hides: bool = False


def fix(sources: Sources) -> Sources:
    """Return the sources with all certain fixes; the same ones if there are none."""
    done: set[tuple[str, int, str]] = set()
    while edits := _new_edits(sources, done):
        for file in dict.fromkeys(edit.file for edit in edits):
            own = [edit for edit in edits if edit.file == file]
            sources = _apply_if_it_helps(sources, own)
        # a mistake that was hidden appears now; no place is fixed twice
        done |= {(edit.file, edit.line, text) for edit in edits for text in (edit.old, edit.new)}
    return sources


def certain_edits(sources: Sources) -> list[Edit]:
    """Return the fixes of the mistakes that are seen now; each may help or not by itself."""
    return [
        one for one in _new_edits(sources, set()) if _apply_if_it_helps(sources, [one]) != sources
    ]


def _new_edits(sources: Sources, done: set[tuple[str, int, str]]) -> list[Edit]:
    # an alias has the same mistake wherever it is used
    edits = dict.fromkeys(_edits(read_files(sources, {}, Secrets())))
    return [edit for edit in edits if (edit.file, edit.line, edit.old) not in done]


def _apply_if_it_helps(sources: Sources, edits: list[Edit]) -> Sources:
    """Return all edits of a file together; one by one where that does not help."""
    fixed = _apply(sources, edits)
    if _helps(sources, fixed, edits):
        return fixed
    helpful: list[Edit] = []
    for edit in edits:
        # to the text as it was, so that lines and columns stay right
        fixed = _apply(sources, [*helpful, edit])
        if _helps(_apply(sources, helpful), fixed, [edit]):
            helpful.append(edit)
    return _apply(sources, helpful)


def _helps(before: Sources, after: Sources, edits: Sequence[Edit]) -> bool:
    """Return whether nothing is wrong now but what was hidden."""
    file, lines = edits[0].file, {edit.line for edit in edits}
    was, now = _errors_of(before, file), _errors_of(after, file)
    hides = any(edit.hides for edit in edits)
    new = [code for code, line in now - was if code not in HIDDEN or (hides and line in lines)]
    broken = [code for code, line in now if code in ("syntax", "wrong-type") and line in lines]
    return not new and not broken


def _errors_of(sources: Sources, file: str) -> Counter[tuple[str, int]]:
    problems = read_files(sources, {}, Secrets()).problems
    return Counter((p.code, p.line) for p in problems if p.file == file and p.severity == "error")


def _apply(sources: Sources, edits: Sequence[Edit]) -> Sources:
    if not edits:
        return sources
    file = edits[0].file
    content = sources.files[file]
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    lines = content.decode("utf-8-sig").splitlines(keepends=True)
    # from the end, so that earlier columns stay right
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
        yield from _rename_enforce(document)


def _edit(problem: Problem, line: str) -> Iterator[Edit]:
    file, number, column = problem.file, problem.line, problem.column
    key = KEY.match(line[column - 1 :])
    if problem.code == "unknown-key" and problem.suggestion is not None:
        if key and _is_certain(key[2], problem.suggestion):
            yield Edit(file, number, column, key[0], f"{key[1]}{problem.suggestion}{key[1]}")
    elif problem.code == "wrong-type":
        signal, names = SIGNAL.match(line), NAMES_ONLY.match(line)
        if signal and len(signal[1]) == column - 1:
            yield Edit(file, number, column, signal[2], f'"{signal[2]}"')
        elif names and len(names[1]) == column - 1 and _are_names(names[2]):
            yield Edit(file, number, column, names[2], f"[{names[2]}]")
    elif problem.code == "syntax" and "mapping values are not allowed" in problem.message:
        value = UNQUOTED.match(line) if len(line) < MAX_LINE else None
        if value and value[2] in TEXTS and KEYS.isdisjoint(WORD_AND_COLON.findall(value[3])):
            at = len(value[1]) + 1
            yield Edit(file, number, at, value[3], f'"{value[3]}"', hides=True)


def _are_names(text: str) -> bool:
    """Return whether these are names, and not a word or a number for nothing or everything."""
    names = [name.strip().lower() for name in text.split(",")]
    return not any(name.isdigit() or name in NOTHING for name in names)


def _is_certain(written: str, meant: str) -> bool:
    """Return whether a key can be no other: as many words, each the same but for a slip."""
    words, others = written.lower().split("_"), meant.split("_")
    if len(words) != len(others):
        return False
    return all(_is_slip(*pair) for pair in zip(words, others, strict=True))


def _is_slip(word: str, other: str) -> bool:
    if word == other:
        return True
    likeness = difflib.SequenceMatcher(None, word, other).ratio()
    return word[:1] == other[:1] and likeness >= CERTAIN


def _rename_enforce(document: Document) -> Iterator[Edit]:
    """Yield the edit of go-agentic's word for `block_on_cost_exceed`."""
    limits = document.data.get("cost_limits") if isinstance(document.data, dict) else None
    if not isinstance(limits, dict) or "enforce" not in limits or "block_on_cost_exceed" in limits:
        return
    line, column = document.keys["cost_limits", "enforce"]
    key = KEY.match(document.text.splitlines()[line - 1][column - 1 :])
    if key is not None:
        new = f"{key[1]}block_on_cost_exceed{key[1]}"
        yield Edit(document.file, line, column, key[0], new)
