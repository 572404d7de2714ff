"""What `crew validate` does: tells what is wrong with crews, as text, JSON or SARIF.

And mends what is certain.
"""

import difflib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from crew.config.fixes import repaired
from crew.config.problems import Problem, as_json, as_text, failed
from crew.config.redaction import shown_lines
from crew.config.sources import Sources, gather
from crew.crew import Recipe
from server.cli.sarif import as_sarif

HIDDEN = "(a line that may hold a secret)"


def told(folders: Sequence[Path], form: str, *, strict: bool, imports: bool) -> bool:
    """Print the problems of crews; whether all are good.

    Args:
        folders: the crews' folders.
        form: text, json or sarif.
        strict: a crew with warnings is not good either.
        imports: import Python tools, which runs their files.
    """
    found: list[tuple[Path, tuple[Problem, ...]]] = []
    for folder in folders:
        checked = Recipe().check(gather(folder), imports=imports)
        found.append((folder, checked.problems))
        if form == "text":
            _print_text(folder, checked.problems, checked.files.texts)
    match form:
        case "json":
            # one folder is one document, as programs expect it
            documents = [{"folder": str(folder), **as_json(problems)} for folder, problems in found]
            _print_json(as_json(found[0][1]) if len(found) == 1 else documents)
        case "sarif":
            _print_json(as_sarif(found))
    return not any(failed(problems, strict=strict) for _, problems in found)


def mend(folder: Path, *, unasked: bool) -> None:
    """Show as a diff what is certain to be meant, ask, and write it.

    Args:
        folder: a crew's folder.
        unasked: write without asking; else off a terminal nothing is written.

    Raises:
        OSError: a file cannot be written.
    """
    before = gather(folder)
    after = repaired(before)
    changed = [name for name in before.files if before.files[name] != after.files[name]]
    if not changed:
        return
    for name in changed:
        # as they may be shown: a diff may be read by others, too
        old, new = (
            [line or HIDDEN for line in shown_lines(one.files[name].decode("utf-8-sig"))]
            for one in (before, after)
        )
        for line in difflib.unified_diff(
            old, new, f"{folder / name}", f"{folder / name} (mended)", lineterm=""
        ):
            print(line)
    if not unasked and not sys.stdin.isatty():
        print("Nothing was written: give --yes to write it without being asked.", file=sys.stderr)
        return
    if unasked or _asked():
        _write(before, after, changed)


def _asked() -> bool:
    try:
        return input("Write this? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def _write(before: Sources, after: Sources, changed: Sequence[str]) -> None:
    """All of them, each whole or not at all."""
    now = gather(before.folder)
    for name in changed:
        path = (before.folder / name).resolve()
        if now.files.get(name) != before.files[name]:
            print(f"{path} has changed meanwhile and is left as it is.", file=sys.stderr)
            continue
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(after.files[name])
        shutil.copymode(path, beside)
        beside.replace(path)


def _print_text(folder: Path, problems: Sequence[Problem], texts: dict[str, str]) -> None:
    prefix = "" if folder == Path() else f"{folder}/"
    for problem in problems:
        print(as_text(problem, texts, prefix))
    errors = sum(problem.severity == "error" for problem in problems)
    print(f"{folder}: {_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}")


def _print_json(document: object) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
