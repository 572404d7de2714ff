"""The command record."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from crew.config.files.sources import ENDINGS, read_sources
from crew.config.files.yaml_reader import MAX_BYTES
from crew.config.problems import has_failed
from crew.journal.store import RunStore
from crew.rehearsal.files.find import FOLDER
from crew.rehearsal.keeping.keeping import Keeper, KeptRun, rehearsals_of
from crew.rehearsal.playing.loaded import CrewLoader
from crew.rehearsal.replaying.comparison import Verdict
from crew.rehearsal.replaying.recording import NotKept, read_recording
from crew.rehearsal.replaying.replays import ReplayResult
from server.cli.exits import Exit, Folder, fail, print_problems
from server.cli.opening import guard_process, open_to_look
from server.cli.rehearsed.chosen import Choice
from server.cli.rehearsed.played import How, play_folder
from server.cli.replayed.chosen import WantedRuns
from tools.text.texts import visible
from tools.text.yaml_text import to_yaml

# what becomes of a run that is not the same any more
CHANGED: frozenset[Verdict] = frozenset({"other way", "other way, assumed", "assumed", "unknown"})


def record(
    folder: Folder,
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Ids, beginnings of ids, or last.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", metavar="FILE", help="Write it there.", show_default="the standard output"
        ),
    ] = None,
    as_rehearsal: Annotated[
        bool,
        typer.Option("--rehearsal", help="Write rehearsals for tests/, with what must hold."),
    ] = False,
    keep: Annotated[
        Literal["personal"] | None,
        typer.Option(help="Keep e-mail addresses and telephone numbers."),
    ] = None,
) -> None:
    """Keep stored runs as files: what models, tools and people have said.

    A cassette has one run, as JSON lines; a rehearsal names it with `cassette: FILE`. With
    `--rehearsal` a file of rehearsals is written instead, which needs no cassette; in the crew's
    tests/ it is played at once. Secrets, e-mail addresses, telephone numbers, and what
    `replay.redact` of crew.yaml fits, are replaced by placeholders.

    Example: [bold]crew record . last --rehearsal -o tests/slow.yaml[/]
    """
    guard_process()
    if len(runs) > 1 and not as_rehearsal:
        raise typer.BadParameter("a cassette has one run", param_hint="RUN")
    if output is not None and output.exists():
        fail(f"{output} is there already; remove it, or name another one")
    if output is not None and as_rehearsal and output.suffix not in ENDINGS:
        text = f"rehearsals are read of files that end with {' or '.join(sorted(ENDINGS))}"
        raise typer.BadParameter(text, param_hint="-o")
    store = open_to_look(folder)
    if store is None:
        fail("no run is kept")
    kept = asyncio.run(_keep(store, _keeper(folder, keeps_personal=keep is not None), runs))
    if as_rehearsal:
        text = to_yaml(rehearsals_of(kept))
        if len(text.encode()) > MAX_BYTES:
            fail(f"a file of rehearsals has {MAX_BYTES:,} bytes at most; keep fewer runs in it")
    else:
        text = "".join(f"{_json_of(one)}\n" for one in kept[0].cassette.documents())
    if output is None:
        print(visible(text), end="")
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        # another command was faster
        fail(f"{output} is there already; remove it, or name another one")
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}")
    print(f"Wrote {output}.")
    name = _name_in(folder, output)
    if as_rehearsal and name is not None:
        raise typer.Exit(play_folder(folder, How(Choice((name,)))))


def _keeper(folder: Path, *, keeps_personal: bool) -> Keeper:
    loaded = CrewLoader(read_sources(folder), uses_environment=True).load({}, {})
    if has_failed(loaded.checked.problems):
        print_problems(loaded.checked.problems, loaded.checked.files.texts)
        raise typer.Exit(Exit.FAILED)
    config = loaded.checked.files.crew
    assert config is not None, "of files without errors"
    tools = loaded.checked.tools.by_name.values()
    return Keeper.of(config, loaded.recipe.secrets, tools, keeps_personal=keeps_personal)


async def _keep(store: RunStore, keeper: Keeper, names: Sequence[str]) -> list[KeptRun]:
    try:
        rows = await WantedRuns(names).find(store)
        kept = []
        for row in rows:
            try:
                kept.append(keeper.keep(await read_recording(store, row)))
            except NotKept as error:
                fail(f"run {row.run_id}: {error}")
        return kept
    finally:
        await store.aclose()


def save_changed(folder: Path, into: Path, results: Sequence[ReplayResult]) -> None:
    """Write the runs that are not the same any more as rehearsals, a file each."""
    rows = [one.row for one in results if one.compared.verdict in CHANGED]
    store = open_to_look(folder) if rows else None
    if store is None:
        print("no run to save", file=sys.stderr)
        return
    keeper = _keeper(folder, keeps_personal=False)
    for kept in asyncio.run(_keep(store, keeper, [row.run_id for row in rows])):
        path = into / f"run-{kept.cassette.header.run[:16]}.yaml"
        if path.exists():
            print(f"{path} is there already.", file=sys.stderr)
            continue
        try:
            into.mkdir(parents=True, exist_ok=True)
            path.write_text(to_yaml(rehearsals_of([kept])), encoding="utf-8")
        except OSError as error:
            fail(f"{path} cannot be written: {error.strerror}")
        print(f"Wrote {path}.", file=sys.stderr)


def _name_in(folder: Path, output: Path) -> str | None:
    """Return the name of a file of rehearsals in a crew's folder; None: it is none."""
    if output.suffix not in ENDINGS:
        return None
    resolved, tests = output.resolve(), (folder / FOLDER).resolve()
    if not resolved.is_relative_to(tests):
        return None
    return resolved.relative_to(tests.parent).as_posix()


def _json_of(document: object) -> str:
    return json.dumps(document, ensure_ascii=False)
