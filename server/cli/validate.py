"""What `crew validate` prints: the problems of crews as text, JSON or SARIF; and its fixes."""

import difflib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from crew.assembly.recipe import Recipe
from crew.config.files.redaction import redact_lines
from crew.config.files.sources import Sources, read_sources
from crew.config.fixes import fix
from crew.config.problems import Problem, has_failed
from crew.config.report import problems_document, render_problem
from server.cli.sarif import sarif_document
from tools.text.secrets import Secrets
from tools.text.texts import visible, visible_json

HIDDEN = "(a line that may hold a secret)"


def print_check(
    folders: Sequence[Path], form: str, secrets: Secrets, *, strict: bool, imports: bool
) -> bool:
    """Check crews and print their problems; whether all are good.

    Args:
        folders: the crews' folders.
        form: text, json or sarif.
        secrets: of the process; gets the crews' secrets.
        strict: a crew with warnings is not good either.
        imports: import Python tools, which runs their files.
    """
    found: list[tuple[Path, tuple[Problem, ...]]] = []
    for folder in folders:
        checked = Recipe(secrets=secrets).check(read_sources(folder), imports=imports)
        found.append((folder, checked.problems))
        if form == "text":
            _print_text(folder, checked.problems, checked.files.texts)
    if form == "json":
        _print_json(_document(found))
    elif form == "sarif":
        _print_json(sarif_document(found))
    return not any(has_failed(problems, strict=strict) for _, problems in found)


def offer_fixes(folder: Path, *, without_asking: bool) -> None:
    """Show the certain fixes of a crew's files as a diff, ask, and write them.

    Args:
        folder: a crew's folder.
        without_asking: write without asking; else off a terminal nothing is written.

    Raises:
        OSError: a file cannot be written.
    """
    before = read_sources(folder)
    after = fix(before)
    changed = [name for name in before.files if before.files[name] != after.files[name]]
    if not changed:
        return
    for name in changed:
        print("\n".join(_diff(before, after, name)))
    if not without_asking and not sys.stdin.isatty():
        print("Nothing was written: give --yes to write it without being asked.", file=sys.stderr)
    elif without_asking or _confirm():
        _write(before, after, changed)


def _diff(before: Sources, after: Sources, name: str) -> Iterator[str]:
    """Yield the diff of a file, without lines that may hold a secret: others may read it too."""
    path = str(before.folder / name)
    old, new = (_shown(one.files[name]) for one in (before, after))
    return difflib.unified_diff(old, new, path, f"{path} (fixed)", lineterm="")


def _shown(content: bytes) -> list[str]:
    lines = redact_lines(content.decode("utf-8-sig"))
    return [HIDDEN if line is None else line for line in lines]


def _confirm() -> bool:
    try:
        return input("Write this? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def _write(before: Sources, after: Sources, changed: Sequence[str]) -> None:
    """Write the changed files, each whole or not at all."""
    now = read_sources(before.folder)
    for name in changed:
        path = (before.folder / name).resolve()
        if now.files.get(name) != before.files[name]:
            print(f"{path} has changed meanwhile and is left as it is.", file=sys.stderr)
            continue
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_bytes(after.files[name])
        shutil.copymode(path, temporary)
        temporary.replace(path)


def _document(found: Sequence[tuple[Path, Sequence[Problem]]]) -> object:
    """Return one folder is one document, as programs expect it; several are a list."""
    if len(found) == 1:
        return problems_document(found[0][1])
    return [{"folder": str(folder), **problems_document(problems)} for folder, problems in found]


def _print_text(folder: Path, problems: Sequence[Problem], texts: dict[str, str]) -> None:
    prefix = "" if folder == Path() else f"{folder}/"
    for problem in problems:
        print(visible(render_problem(problem, texts, prefix)))
    errors = sum(problem.severity == "error" for problem in problems)
    print(
        visible(f"{folder}: {_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}")
    )


def _print_json(document: object) -> None:
    print(visible_json(json.dumps(document, ensure_ascii=False, indent=2)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
