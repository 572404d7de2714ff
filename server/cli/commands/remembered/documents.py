"""Documents of a crew: `crew documents DIR add|list|search|remove`."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import to_json
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from crew.config.files.sources import leads_outside
from crew.errors import CrewError
from crew.journal.records.remembered.documents import WAITING, StoredDocument
from crew.runs.chores.chores import Chores
from crew.runs.chores.documents import DOCUMENTS_LANE
from crew.runs.errors import DocumentRefused
from crew.runs.runs import Runs
from server.cli.commands.audit import record_action, user_name
from server.cli.exits import HERE, Exit, Folder, fail, say_none
from server.cli.opening import load, open_runs
from server.cli.options import User, checked_id
from server.http.responses import describe_document, describe_passage
from tools.text.texts import visible, visible_json

ACTIONS = ("add", "list", "search", "remove")
MAX_LISTED, MAX_FOUND = 10_000, 10
# where another process reads them
LOOK_SECONDS, WAIT_SECONDS = 0.2, 600.0
Place = tuple[str, str, str]


def documents(
    folder: Folder = HERE,
    action: Annotated[
        str, typer.Argument(metavar="add|list|search|remove", help="What to do.")
    ] = "list",
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Files and folders to add; words to search; names to remove."),
    ] = None,
    collection: Annotated[
        str,
        typer.Option(
            "--collection",
            "-c",
            metavar="NAME",
            help="Of crew.yaml's documents.",
            show_default="the only one that takes uploads",
        ),
    ] = "",
    user_id: User = "",
    conversation_id: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="Where the collection belongs to one.",
            show_default="none",
            callback=checked_id,
        ),
    ] = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one document or passage a line.")
    ] = False,
) -> None:
    """Add documents to a crew, list, search or remove them.

    Ends with 1 where one cannot be read.

    Example: [bold]crew documents examples/assistant add notes/ --user ann[/]
    """
    if action not in ACTIONS:
        raise typer.BadParameter(f"is one of {', '.join(ACTIONS)}", param_hint="action")
    if action != "list" and not names:
        raise typer.BadParameter(f"{action} needs what to {action}", param_hint="names")
    crew = load(folder, None, asks=False)
    chosen = collection or _only_collection([*crew.documents.collections.values()], action)
    place = (chosen, user_id, conversation_id or "")
    runs = open_runs(crew, folder)
    given = names or []
    try:
        is_good = asyncio.run(_do(runs, action, given, place, as_document=as_document))
    except CrewError as error:
        fail(str(error), Exit.USAGE)
    if not is_good:
        raise typer.Exit(Exit.FAILED)


def _only_collection(rules: Sequence[Any], action: str) -> str:
    """Return the collection that is meant where none is named; raises BadParameter."""
    found = [one.name for one in rules if not one.files]
    if action in ("list", "search") and not found:
        found = [one.name for one in rules]
    if len(found) == 1:
        return str(found[0])
    known = ", ".join(one.name for one in rules) or "none: describe documents in crew.yaml"
    raise typer.BadParameter(f"name one with --collection; known: {known}", param_hint="collection")


async def _do(
    runs: Runs, action: str, names: Sequence[str], place: Place, *, as_document: bool
) -> bool:
    async with runs:
        await runs.documents.sync()
        if action == "add":
            return await _add(runs, names, place, as_document=as_document)
        if action == "remove":
            for name in names:
                await runs.documents.delete(place[0], name, *place[1:])
                detail = f"deleted {place[0]}, {name}"
                await record_action(runs.store, "document", None, detail, place[1])
            await _read(runs, [])
            return True
        collection, user_id, conversation_id = place
        if action == "search":
            words = " ".join(names)
            passages = await runs.documents.searched(
                collection, user_id, conversation_id, words, MAX_FOUND
            )
            for passage in passages:
                where = f", {passage.place}" if passage.place else ""
                text = f"{passage.document.name}{where}: {' '.join(passage.text.split())}"
                _print(describe_passage(passage), text, as_document=as_document)
            if not passages:
                say_none("no passage has these words", as_document=as_document)
            return True
        listed = await runs.documents.listed(collection, user_id, conversation_id, MAX_LISTED)
        for one in listed:
            _print(describe_document(one), _line(one), as_document=as_document)
        if not listed:
            say_none(f"{collection} has no documents", as_document=as_document)
        return True


async def _add(runs: Runs, names: Sequence[str], place: Place, *, as_document: bool) -> bool:
    """Add files, and wait until they are read."""
    collection, user_id, conversation_id = place
    sent: list[StoredDocument] = []
    is_good, will_describe = True, False
    for path, name in _files(names):
        if path.exists() and not path.is_file():
            # a FIFO would keep the command waiting
            print(f"crew: {visible(name)} is no file", file=sys.stderr)
            is_good = False
            continue
        try:
            content = await asyncio.to_thread(path.read_bytes)
            document, _ = await runs.documents.upload(
                collection, name, content, user_name(), user_id, conversation_id
            )
            sent.append(document)
            detail = f"{collection}, {document.name}"
            await record_action(runs.store, "document", None, detail, user_id)
        except OSError as error:
            print(f"crew: {visible(name)} cannot be read: {error.strerror}", file=sys.stderr)
            is_good = False
        except DocumentRefused as error:
            print(f"crew: {visible(str(error))}", file=sys.stderr)
            is_good = False
    await _read(runs, sent)
    for one in sent:
        found = await runs.store.documents.get(one.owner, one.document_id) or one
        is_good = is_good and found.status != "failed"
        _print(describe_document(found), _line(found), as_document=as_document)
        will_describe = will_describe or found.status == "summarizing"
    if will_describe:
        text = "crew: summaries are written by `crew serve` or `crew worker`, or with the next run"
        print(text, file=sys.stderr)
    return is_good


def _files(names: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Yield files with the names that they will have: in a folder, their paths below it."""
    for name in names:
        path = Path(name)
        if not path.is_dir():
            yield path, path.name
            continue
        for found in sorted(path.rglob("*")):
            below = found.relative_to(path)
            if leads_outside(found, path):
                print(f"crew: {visible(below.as_posix())} leads out of the folder", file=sys.stderr)
            elif found.is_file() and not any(part.startswith(".") for part in below.parts):
                yield found, below.as_posix()


async def _read(runs: Runs, sent: Sequence[StoredDocument]) -> None:
    """Have documents read here, or wait until the process that is at work has done so."""
    chores = Chores(runs)
    bar = Progress(
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty() or len(sent) < 2,
    )
    clock = runs.crew.clock
    ends_at = clock.monotonic() + WAIT_SECONDS
    waiting = list(sent)
    with bar:
        task = bar.add_task("read", total=len(sent))
        reading = asyncio.create_task(_work(runs, chores))
        while waiting and clock.monotonic() < ends_at:
            found = [await runs.store.documents.get(one.owner, one.document_id) for one in waiting]
            waiting = [one for one in found if one is not None and one.status in WAITING]
            bar.update(task, completed=len(sent) - len(waiting))
            if waiting:
                await clock.sleep(LOOK_SECONDS)
                if reading.done() and runs.queue is None:
                    reading = asyncio.create_task(_work(runs, chores))
        await reading


async def _work(runs: Runs, chores: Chores) -> None:
    """Do the chores of documents, unless workers do them."""
    if runs.queue is None:
        await chores.drain(DOCUMENTS_LANE)


def _line(one: StoredDocument) -> str:
    about = f": it {one.reason}" if one.reason else f"  {' '.join(one.summary.split())}"
    size = f"{one.chars} characters" if one.chars else f"{one.size} bytes"
    return f"{one.name}  {one.status}  {size}{about}".rstrip()


def _print(document: dict[str, Any], text: str, *, as_document: bool) -> None:
    print(visible_json(to_json(document).decode()) if as_document else visible(text))
