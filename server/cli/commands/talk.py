"""A conversation in the terminal: `crew talk`."""

import asyncio
import sys
from typing import Annotated
from uuid import uuid4

import typer

from crew.errors import CrewError
from crew.journal.query import Query
from crew.journal.records.rows import RunRow
from crew.runs.chores.chores import Chores
from crew.runs.errors import NoConversations
from crew.runs.run import new_run_id
from crew.runs.runs import Runs
from server.cli.exits import HERE, Exit, exit_code_of, fail
from server.cli.opening import load, open_runs
from server.cli.options import Provider, User, checked_id
from server.cli.playing.asking import typed_lines
from server.cli.playing.play import play_in
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.cli.served.talking import talk_served
from server.cli.view.output import Output
from tools.text.texts import visible


def talk(
    folder: GivenFolder = None,
    conversation_id: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="Go on with it.",
            show_default="a new one",
            callback=checked_id,
        ),
    ] = None,
    user_id: User = "",
    provider: Provider = None,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print the events as JSON, one a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Talk with a crew: each line is a query of one conversation, which it knows.

    Ends at Ctrl-D, or with the last line of stdin; then as `crew run` does.

    Example: [bold]crew talk examples/conversation --user ann[/]
    """
    if (target := chosen_target(server, profile, folder)) is not None:
        if provider is not None:
            fail("--provider: the server has its own", Exit.USAGE)
        talk_served(target, conversation_id or uuid4().hex, user_id, as_lines=as_lines)
    folder = folder or HERE
    crew = load(folder, provider)
    if crew.config.conversations is None:
        fail(str(NoConversations()), Exit.USAGE)
    runs = open_runs(crew, folder)
    chosen = conversation_id or new_run_id(runs.store.now())
    row = asyncio.run(_talk(runs, chosen, user_id, Output(as_lines=as_lines)))
    if row is not None and not as_lines:
        more = f" --user {user_id}" if user_id else ""
        print("To go on:", file=sys.stderr)
        print(f"  crew talk {visible(str(folder))} --conversation {chosen}{more}", file=sys.stderr)
    raise typer.Exit(exit_code_of(row.status, row.reason) if row is not None else Exit.GOOD)


async def _talk(runs: Runs, conversation_id: str, user_id: str, output: Output) -> RunRow | None:
    """Ask line by line; the last run, as it then is."""
    row: RunRow | None = None
    chores, doing = Chores(runs), None
    async with runs:
        await runs.documents.sync()
        if runs.queue is None and (runs.crew.documents or runs.crew.embeddings):
            doing = asyncio.create_task(chores.drain())
        async for text in typed_lines(output):
            query = Query(text, user_id=user_id, conversation_id=conversation_id)
            try:
                row = await play_in(runs, query, output)
            except CrewError as error:
                print(f"crew: {visible(str(error))}", file=sys.stderr)
            if runs.queue is None and (doing is None or doing.done()):
                # while the person reads
                doing = asyncio.create_task(chores.drain())
        if doing is not None:
            await doing
            await chores.drain()
    return row
