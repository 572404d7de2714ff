"""What rehearsals expect is written anew, as what has happened."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import typer

from crew.rehearsal.playing.suite import Result
from crew.rehearsal.playing.updates import Update, rewritten_text
from server.cli.exits import fail
from tools.text.texts import visible


def update_files(folder: Path, results: Sequence[Result], *, agrees: bool) -> None:
    """Write paths and answers that differ into the files, each as a person agrees."""
    found: defaultdict[str, dict[tuple[int, int], Update]] = defaultdict(dict)
    several: set[tuple[str, int, int]] = set()
    for one in (update for result in results for update in result.updates):
        place = one.place
        at = place.line, place.column
        if found[place.file].setdefault(at, one).now != one.now:
            several.add((place.file, *at))
    for file, updates in found.items():
        chosen: dict[tuple[int, int], str] = {}
        for at, one in updates.items():
            if (file, *at) in several:
                typer.echo(f"{one.place}: the cases of it come to different ones; write each.")
                continue
            typer.echo(visible(f"{one.place}: {one.key}\n  - {one.then}\n  + {one.now}"))
            if agrees or typer.confirm("Write it?"):
                chosen[at] = one.now
        if chosen:
            _write(folder / file, chosen)
            typer.echo(f"Wrote {folder / file}.")
    if not found:
        typer.echo("No path and no answer can be written anew.")


def _write(path: Path, chosen: dict[tuple[int, int], str]) -> None:
    try:
        text = path.read_text(encoding="utf-8")
        path.write_text(rewritten_text(text, chosen), encoding="utf-8")
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")
