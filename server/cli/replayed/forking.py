"""The command fork."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import from_json

from agents.events import ToolStarted
from crew.backends.memory import MemoryStore
from crew.config.files.sources import Sources
from crew.crew import Crew
from crew.journal.events import RunResumed, StoredEvent
from crew.journal.query import Decision
from crew.journal.records.conversations import owner_of
from crew.journal.records.remembered.core import owner_in
from crew.journal.records.rows import PAGE, Record, RunRow, Write
from crew.journal.replay import read_event
from crew.journal.store import RunStore
from crew.rehearsal.replaying.before import SCOPES
from crew.rehearsal.replaying.trail import shown_arguments
from crew.runs.forks import ForkPoint
from crew.runs.runs import Runs
from server.cli.exits import Exit, fail
from server.cli.opening import guard_process, load, open_runs, open_to_look
from server.cli.playing.answers import answer_of, parse_call_decision
from server.cli.playing.local_runs import play_to_end
from server.cli.playing.play import CopiedRun
from server.cli.replayed.changed import WrongChange, changed_sources
from server.cli.replayed.versions import UnknownVersion, opened_version, revision_of
from server.cli.served.forking import event_line, fork_served, refuse_acting_again
from server.cli.served.options import GivenFolder, Profile, Server, place_arguments
from server.cli.stored import find_run
from tools.clock import rfc3339


def fork(
    folder: GivenFolder = None,
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run: its id, the beginning of it, or last.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at",
            metavar="N",
            min=1,
            help="The last of its events that is copied.",
            show_default="print them with their numbers",
        ),
    ] = None,
    say: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Event N is the answer of an agent; it says this."),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Event N is a pause, or its answer: the answer is this."),
    ] = None,
    decision: Annotated[
        Decision | None,
        typer.Option(help="The same, on tool calls; with done, --answer is the result."),
    ] = None,
    calls: Annotated[
        list[str] | None,
        typer.Option(
            "--call", metavar="CALL=DECISION[=TEXT]", help="The same, on one of several calls."
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Such as settings.max_rounds=3."),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="VERSION",
            help="A folder, a git reference, or a revision.",
            show_default="the run's own",
        ),
    ] = "",
    dry: Annotated[
        bool,
        typer.Option(
            "--dry", help="Call only tools that read; show what others would do. Keeps no run."
        ),
    ] = False,
    agrees: Annotated[
        bool, typer.Option("--yes", help="Go on where a call may act a second time.")
    ] = False,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print the events as JSON, one a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Begin a run as a copy of another one's first events, and go on another way.

    With another answer of a model (--say) or a person (--answer, --decision, --call), with other
    files (--on), or other values in them (--set). Calls in what is copied are not made again, and
    what a person has approved there needs approval again. Ends as `crew run` does.

    Example: [bold]crew fork examples/on-call last --at 12 --say "[DATABASE]" --dry[/]
    """
    decisions = tuple(parse_call_decision(text) for text in calls or ())
    is_answered = answer is not None or decision is not None or bool(decisions)
    if say is not None and is_answered:
        raise typer.BadParameter("an agent says it, or a person answers", param_hint="--say")
    person = answer_of(answer or "", decision, decisions) if is_answered else None
    target, folder, (run_id,) = place_arguments(server, profile, folder, run_id)
    if run_id is None:
        raise typer.BadParameter("say which run", param_hint="RUN")
    if target is not None:
        if dry or on or values:
            fail("--dry, --on and --set go with a folder; not with a server", Exit.USAGE)
        fork_served(target, run_id, ForkPoint(at or 0, say), person, agrees, as_lines=as_lines)
    if at is None:
        guard_process()
        asyncio.run(_print_events(_open(folder), run_id))
        return
    crew = load(folder, None, dry=dry)
    wanted = asyncio.run(_find(_open(folder), crew, folder, run_id, at, values or (), on))
    if not (dry or agrees):
        refuse_acting_again(at, wanted.once, "--yes, or --dry")
    point = ForkPoint(
        at - 1 if person is not None and wanted.is_answer else at,
        say,
        is_on_current=wanted.crew is not crew,
    )
    runs = Runs(wanted.crew, wanted.copy) if dry else open_runs(wanted.crew, folder)
    asked = CopiedRun(wanted.row.run_id, point, person)
    play_to_end(runs, asked, folder, as_lines=as_lines, is_kept=not dry)


async def _print_events(store: RunStore, name: str) -> None:
    """Print the events of a run, a line each, with the numbers that --at takes."""
    try:
        row = await store.row(await find_run(store, name))
        assert row is not None, "it was found"
        records = await _all_records(store, row)
    finally:
        await store.aclose()
    for record in records:
        event = from_json(record.public)
        print(event_line(record.seq, event["type"], event["content"], event["metadata"]))


def _open(folder: Path) -> RunStore:
    store = open_to_look(folder)
    if store is None:
        fail("no run is kept")
    return store


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A run that is to be copied."""

    row: RunRow
    # with which the copy goes on: the one given, where that is the run's own
    crew: Crew
    # a store with the run alone
    copy: MemoryStore
    # event N is the answer to a pause
    is_answer: bool
    # calls behind event N of tools that act once
    once: Sequence[str]


async def _find(
    store: RunStore,
    crew: Crew,
    folder: Path,
    name: str,
    at: int,
    values: Sequence[str],
    on: str,
) -> _Wanted:
    try:
        row = await store.row(await find_run(store, name))
        assert row is not None, "it was found"
        records = await _all_records(store, row)
        other = await _other_crew(crew, store, folder, row, values, on)
        copy = await _copied(store, row, records, crew)
    finally:
        await store.aclose()
    events = [read_event(one, row.run_id)[0] for one in records]
    is_answer = at <= len(events) and isinstance(events[at - 1], RunResumed)
    return _Wanted(row, other, copy, is_answer, _once_behind(events[at:], other))


async def _all_records(store: RunStore, row: RunRow) -> list[Record]:
    found: list[Record] = []
    while page := await store.records(row.run_id, len(found), PAGE):
        if page[0].seq != len(found) + 1:
            fail(f"the events of run {row.run_id} are no longer kept")
        found += page
    return found


async def _copied(
    store: RunStore, row: RunRow, records: Sequence[Record], crew: Crew
) -> MemoryStore:
    """Return a store that has this run alone."""
    copy = MemoryStore(crew.clock)
    files = await store.revisions.files(row.revision) if row.revision else None
    if files is not None:
        await copy.revisions.keep(row.revision, files, rfc3339(copy.now()))
    await copy.append(Write(row.run_id, records, row))
    await _copy_what_models_see(store, row, copy)
    return copy


async def _copy_what_models_see(store: RunStore, row: RunRow, copy: MemoryStore) -> None:
    """Copy the conversation of a run before it, and the core memory of its user."""
    owners = [owner_in(scope, row.user_id, row.conversation_id) for scope in SCOPES]
    for version in await store.core.newest([one for one in owners if one is not None]):
        await copy.core.add(replace(version, version=1))
    if not row.conversation_id:
        return
    place = owner_of(row.user_id), row.conversation_id
    known = await store.conversations.get(*place)
    if known is None:
        fail(f"the conversation {row.conversation_id} is no longer kept")
    exchanges = await store.conversations.exchanges(*place, 0, row.exchange)
    shown = sum(one.position is not None for one in exchanges if one.number < row.exchange)
    summary = await store.conversations.summary(*place, shown)
    copy.conversations.restore(replace(known, busy=None), exchanges, summary)


async def _other_crew(
    crew: Crew, store: RunStore, folder: Path, row: RunRow, values: Sequence[str], on: str
) -> Crew:
    """Return the crew of other files, or the given one where they are the run's own."""
    if not (values or on):
        return crew
    try:
        sources = await revision_of(on or row.revision, folder, store)
        if sources is None:
            with opened_version(on or str(folder), folder) as found:
                # the crew's folder has the Python tools
                sources = Sources(crew.sources.folder, found.files, found.problems)
        sources = changed_sources(sources, values)
    except (UnknownVersion, WrongChange) as error:
        fail(str(error), Exit.USAGE)
    return await asyncio.to_thread(crew.load_other, sources, row.provider)


def _once_behind(events: Sequence[StoredEvent], crew: Crew) -> list[str]:
    """Return the calls of tools that act once, in words."""
    tools = (tool for agent in crew.agents.values() for tool in agent.tools.values())
    once = {one.name for one in tools if one.effect == "once"}
    calls = [one.call for one in events if isinstance(one, ToolStarted)]
    made = (f"{one.tool}({shown_arguments(one.arguments)})" for one in calls if one.tool in once)
    return list(dict.fromkeys(made))
