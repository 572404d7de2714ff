"""`crew backup`: a copy of the database, also while a server writes; and the way back."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crew.assembly.recipe import Recipe
from crew.backends.postgres.shown import without_secrets
from crew.backends.sqlite.backup import Backup
from crew.backends.sqlite.restoring import restore_backup
from crew.config.errors import ConfigurationError
from crew.config.files.sources import read_sources
from crew.crew import load_from
from crew.database import is_shared, open_store, sqlite_path
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import HeldWork
from crew.journal.store import RunStore
from server.backups import backup_name, forget_backups, make_backup
from server.cli.exits import Exit, Folder, fail
from server.cli.hints import quoted, shell_quoted
from server.cli.opening import guard_process, load_kept, opened_database
from server.settings import ServerSettings
from tools.clock import SYSTEM_CLOCK, rfc3339
from tools.text.texts import visible


class Held(StrEnum):
    """What becomes of runs that were at work when a backup was taken."""

    ASK = "ask"
    GO = "go"
    END = "end"


def backup(
    folder: Folder,
    given: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The file to make; or a folder (FOLDER/), for one in it."
        ),
    ],
    keep: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With a folder: delete all but so many of the newest backups in it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Copy the database of a crew's runs to a file, also while a server writes, and check it.

    Ends with 1 where the copy cannot be made or is bad; then no file is left.

    Example: [bold]crew backup examples/it-support /tmp/crew.db[/]
    """
    url, target = os.environ.get("CREW_DATABASE_URL"), Path(given)
    if is_shared(url):
        address = shell_quoted(without_secrets(str(url)))
        program = f"pg_dump -Fc --file={shell_quoted(str(target))} {address}"
        text = f"a PostgreSQL database is backed up by its own program, while it is used: {program}"
        more = (
            "user and password are in PGUSER and ~/.pgpass. What is written behind a copy is kept"
        )
        text = f"{text}\n{more} where the server archives its WAL (archive_command)"
        fail(text, Exit.USAGE)
    source = sqlite_path(url, folder)
    if source is None:
        fail("memory: keeps nothing, so there is nothing to back up", Exit.USAGE)
    if given.endswith("/") and target.parent.is_dir() and not os.path.lexists(target):
        target.mkdir(mode=0o700)
    if keep is not None and not target.is_dir():
        raise typer.BadParameter("it goes with a folder", param_hint="--keep")
    now = SYSTEM_CLOCK.now()
    kept = target / backup_name(now) if target.is_dir() else target
    _print(make_backup(source, kept, now))
    if keep is not None:
        for one in forget_backups(target, keep, now):
            print(f"deleted {visible(str(one))}")


def _print(made: Backup) -> None:
    print(
        f"{visible(str(made.path))}: {made.runs} runs, {made.events} events, "
        f"{made.size_bytes} bytes, checked\nsha256 {made.sha256}"
    )


def restore(
    folder: Folder,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The backup; left out after pg_restore, which has brought a database back itself.",
            show_default=False,
        ),
    ] = None,
    held: Annotated[
        Held,
        typer.Option(
            help="What becomes of runs that were at work: a person is asked, they go on, or end.",
        ),
    ] = Held.ASK,
) -> None:
    """Put a backup in the place of a crew's database, which is kept under another name.

    An old state must not act a second time: runs that were at work wait for a person (crew inbox),
    pauses lose their deadlines, notices that were due are dropped, and schedules count from now.
    Ends with 1 where a process has the database, or the file is no whole backup of this crew; then
    nothing has changed.

    Example: [bold]crew restore examples/it-support /tmp/crew.db[/]
    """
    url = os.environ.get("CREW_DATABASE_URL")
    if is_shared(url):
        if source is not None:
            text = "a PostgreSQL database is brought back by its own program: pg_restore --clean"
            path = shell_quoted(str(source))
            fail(f"{text} -d DATABASE {path}; then: crew restore {quoted(folder)}", Exit.USAGE)
        asyncio.run(_hold_shared(folder, held))
        return
    target = sqlite_path(url, folder)
    if target is None:
        fail("memory: keeps nothing, so there is nothing to restore", Exit.USAGE)
    if source is None:
        raise typer.BadParameter("say which backup", param_hint="FILE")
    now, crew = SYSTEM_CLOCK.now(), _name_of(folder)
    done = restore_backup(source, target, now, crew=crew, runs=held is not Held.GO)
    if held is Held.END:
        asyncio.run(_end_all(url, folder))
    print(f"{visible(str(target))} is as it was at {done.taken_at}: {done.runs} runs")
    if done.before is not None:
        print(f"the database of before is {visible(str(done.before))}")
    for line in _lines(done.held, done.taken_at, folder, held):
        print(visible(line))


async def _hold_shared(folder: Path, held: Held) -> None:
    """Do what follows from a PostgreSQL database that pg_restore has brought back."""
    crew = await load_kept(folder)
    settings = ServerSettings.read(os.environ, "127.0.0.1", 0)
    database = await opened_database(crew, settings, folder)
    store = database.store
    try:
        async with database.queue or nullcontext() as queue:
            workers = (await queue.counts())[0] if queue is not None else 0
        if workers:
            fail("workers are at work on this database: stop `crew worker` and `crew serve` first")
        newest = await store.rows(limit=1)
        taken_at = newest[0].started_at if newest else rfc3339(store.now())
        done = await store.hold(taken_at, runs=held is not Held.GO)
        if held is Held.END:
            await _request_ends(store)
    finally:
        await store.aclose()
    for line in _lines(done, taken_at, folder, held):
        print(visible(line))


async def _end_all(url: str | None, folder: Path) -> None:
    """Ask whichever process serves next to end each run that was at work."""
    store = await open_store(url, folder)
    try:
        await _request_ends(store)
    finally:
        await store.aclose()


async def _request_ends(store: RunStore) -> None:
    after = None
    while rows := await store.rows(RunFilter("running"), after=after):
        for row in rows:
            await store.request_cancellation(row.run_id, "cancelled")
        after = rows[-1].run_id


def _lines(done: HeldWork, taken_at: str, folder: Path, held: Held) -> Iterator[str]:
    """Yield what was done so that nothing acts a second time."""
    if held is Held.GO:
        yield "runs that were at work go on by themselves, once a process serves the crew"
    elif done.runs:
        what = f"{done.runs} runs were at work"
        ends = held is Held.END
        later = "they end" if ends else f"they wait for a person: crew inbox {quoted(folder)}"
        yield f"{what}: once a process serves the crew, {later}"
    if done.pauses:
        yield f"{done.pauses} pauses wait without the deadline that they had"
    if done.notices:
        yield f"{done.notices} notices that were due are dropped"
    if done.schedules:
        yield f"{done.schedules} schedules count from now"
    yield f"budgets and costs know nothing of what was spent after {taken_at}"


def _name_of(folder: Path) -> str | None:
    """Return a crew's name; None where its files are broken: they may be mended later."""
    try:
        recipe = Recipe(asks=False, looks=True, secrets=guard_process())
        return load_from(recipe, read_sources(folder)).name
    except ConfigurationError:
        return None
