"""The commands about runs: run, runs, retry, cancel."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import typer

from crew.journal.events import RunStatus
from crew.journal.query import (
    DEFAULT_PRIORITY,
    MAX_PRIORITY,
    Decision,
    Query,
)
from server.cli.exits import HERE, Exit, say_none
from server.cli.matching import (
    Agent,
    CostOver,
    OfUser,
    Owner,
    Since,
    StartedBy,
    Text,
    Tool,
    Until,
    WaitsFor,
    wanted_of,
)
from server.cli.options import Provider, User, checked_id
from server.cli.playing.answers import answer_of, parse_call_decision
from server.cli.playing.asking import read_query
from server.cli.served.api import has_runs, opened_api, run_path
from server.cli.served.following import answer_served, retry_served, run_served
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target, place_arguments
from server.cli.served.runs import act_on_matching, list_served_runs, show_served_run

# characters of stdin that go to a server, which knows its own limit
MAX_QUERY = 1_000_000
# runs of a list, unless another number is given
LISTED = 50
NO_RUN = "no run yet; crew run DIR QUESTION starts one"


def _local() -> ModuleType:
    """Import what plays runs: commands that go to a server do without."""
    return importlib.import_module("server.cli.playing.local_runs")


def run(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="The crew's folder, with crew.yaml in it; left out where a server is meant.",
            show_default=False,
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY", help="What to ask the crew; - reads it from stdin.", show_default=False
        ),
    ] = None,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print the events as JSON, one a line.")
    ] = False,
    provider: Provider = None,
    answer: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="QUERY is the answer to this paused run: id, or last."),
    ] = None,
    decision: Annotated[
        Decision | None,
        typer.Option(help="What --answer decides on tool calls; with done, QUERY is the result."),
    ] = None,
    calls: Annotated[
        list[str] | None,
        typer.Option(
            "--call",
            metavar="CALL=DECISION[=TEXT]",
            help="What --answer decides on one of several calls; TEXT: with approve other "
            "arguments as JSON, with done its result, else why. In place of approve: run (the "
            "tool, for the rest of the run), always (the call, in all runs).",
        ),
    ] = None,
    priority: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MAX_PRIORITY,
            help="Where runs wait, higher ones go first.",
            show_default=str(DEFAULT_PRIORITY),
        ),
    ] = None,
    conversation_id: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="Go on with it; a new id begins one.",
            callback=checked_id,
        ),
    ] = None,
    user_id: User = "",
    dry: Annotated[
        bool,
        typer.Option(
            "--dry", help="Call only tools that read; show what others would do. Keeps no run."
        ),
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="With a server: print the run's id, and leave it.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Run a crew in the terminal and show its events as they come; asks you at a pause.

    Ends with 0 when the run is completed, 1 when it failed, 3 when it is paused, 4 when a limit
    or a request ended it, 130 at Ctrl-C, which cancels it.

    Example: [bold]crew run examples/it-support "Kiểm tra máy này"[/]
    """
    decisions = tuple(parse_call_decision(text) for text in calls or ())
    target, home, (query,) = place_arguments(server, profile, folder, query)
    if target is None and folder is None:
        raise typer.BadParameter("say which crew, or which --server", param_hint="DIR")
    _check_options(query, answer, bool(decision or decisions))
    if priority is not None and answer is not None:
        raise typer.BadParameter("the run has its own", param_hint="--priority")
    if dry and (answer is not None or target is not None):
        raise typer.BadParameter("a dry run is one of its own, and local", param_hint="--dry")
    if conversation_id is not None and answer is not None:
        raise typer.BadParameter("the run has its own", param_hint="--conversation")
    if target is not None:
        if provider is not None:
            raise typer.BadParameter("the server has its own", param_hint="--provider")
        if query == "-":
            query = read_query(MAX_QUERY)
        if answer is not None:
            said = answer_of(query or "", decision, decisions)
            answer_served(target, answer, said, as_lines=as_lines)
        body = {
            "query": query,
            "priority": priority,
            "user": user_id,
            "conversation": conversation_id,
        }
        given = {name: value for name, value in body.items() if value not in (None, "")}
        run_served(target, given, as_lines=as_lines, detach=detach)
    if detach:
        raise typer.BadParameter("it is for runs of a server", param_hint="--detach")
    rank = DEFAULT_PRIORITY if priority is None else priority
    asked = Query(
        query or "", priority=rank, user_id=user_id, conversation_id=conversation_id or ""
    )
    to_run = None if answer is None else (answer, decision, decisions)
    _local().run_here(home, asked, to_run, provider, dry=dry, as_lines=as_lines)


def retry(
    run_id: Annotated[
        str, typer.Argument(metavar="RUN", help="The run: its id, the beginning of it, or last.")
    ],
    folder: GivenFolder = None,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print the events as JSON, one a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Go on with a failed run at the step that failed; ends as `crew run` does.

    Example: [bold]crew retry last examples/it-support[/]
    """
    target = chosen_target(server, profile, folder)
    if target is not None:
        retry_served(target, run_id, as_lines=as_lines)
    _local().retry_here(folder or HERE, run_id, as_lines=as_lines)


def runs(
    folder: GivenFolder = None,
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Show this run with its events: its id, the beginning of it, or last.",
            show_default="list the newest",
        ),
    ] = None,
    status: Annotated[RunStatus | None, typer.Option(help="List only those with it.")] = None,
    agent: Agent = None,
    text: Text = None,
    since: Since = None,
    until: Until = None,
    source: StartedBy = None,
    owner: Owner = None,
    user: OfUser = None,
    tool: Tool = None,
    cost_over: CostOver = None,
    waiting: WaitsFor = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="So many at most.")] = LISTED,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and print runs as they change.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """List the runs of a crew, or show one.

    Example: [bold]crew runs examples/it-support --status failed --since 1d[/]
    """
    wanted = wanted_of(
        status=status,
        agent_id=agent,
        text=text,
        since=since,
        until=until,
        source=source,
        owner=owner,
        user_id=user,
        tool=tool,
        cost_over=cost_over,
        waiting=waiting,
    )
    if run_id is not None and (wanted or watch):
        raise typer.BadParameter("it is of the list; give no RUN with it", param_hint="--status")
    target, home, (run_id,) = place_arguments(server, profile, folder, run_id)
    most = limit if limit != LISTED else None
    is_plain = wanted.keys() <= {"status"} and most is None
    if watch and (target is not None or not is_plain):
        why = "it goes with --status alone, of runs on this machine"
        raise typer.BadParameter(why, param_hint="--watch")
    if target is None and (is_plain or not has_runs(home)):
        count = _local().list_here(home, run_id, status, watch=watch, as_document=as_document)
    else:
        with opened_api(target, home) as api:
            if run_id is not None:
                show_served_run(api, run_id, as_document=as_document)
                return
            count = list_served_runs(api, wanted, most, as_document=as_document)
    if not count:
        plain = f"no run is {status}" if target is None and status is not None else NO_RUN
        say_none("no run matches" if wanted.keys() - {"status"} else plain, as_document=as_document)


def cancel(
    run_id: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run to end.", show_default="those that match"),
    ] = None,
    folder: GivenFolder = None,
    status: Annotated[
        Literal["running", "paused"] | None,
        typer.Option(help="All with it, that have not ended.", show_default=False),
    ] = None,
    agent: Agent = None,
    text: Text = None,
    since: Since = None,
    until: Until = None,
    source: StartedBy = None,
    owner: Owner = None,
    user: OfUser = None,
    tool: Tool = None,
    cost_over: CostOver = None,
    waiting: WaitsFor = None,
    dry: Annotated[bool, typer.Option("--dry", help="Only say how many match.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """End a run, whether or not a server is at work: it ends as cancelled, and is not resumed.

    Or all runs of a server that match, and have not ended.

    Ends with 0 when the run has ended, 1 when there is no such run or it had ended before, and 3
    when the process that plays it has been asked, but has not ended it within 10 s.

    Example: [bold]crew cancel 019a8b6d40f2c0ffee examples/it-support[/]
    """
    wanted = wanted_of(
        status=status,
        agent_id=agent,
        text=text,
        since=since,
        until=until,
        source=source,
        owner=owner,
        user_id=user,
        tool=tool,
        cost_over=cost_over,
        waiting=waiting,
    )
    if (run_id is None) == (not wanted):
        raise typer.BadParameter("name a run, or say which ones, as by --agent", param_hint="RUN")
    target = chosen_target(server, profile, folder)
    if target is None and wanted:
        why = "all that match are ended at a server; in a folder name one run"
        raise typer.BadParameter(why, param_hint="RUN")
    if target is not None:
        with opened_api(target, HERE) as api:
            if run_id is None:
                act_on_matching(api, "cancel", wanted, dry=dry, yes=yes)
                return
            found = api.find_run(run_id)
            api.send("POST", f"{run_path(found)}/cancel")
        print(f"Cancelled {found}.")
        return
    assert run_id is not None, "else it is of a server"
    if not _local().cancel_here(folder or HERE, run_id):
        print(f"crew: run {run_id}: its process has been asked to end it", file=sys.stderr)
        raise typer.Exit(Exit.PAUSED)
    print(f"Cancelled {run_id}.")


def _check_options(query: str | None, answer: str | None, decides: bool) -> None:
    """Refuse what does not go together."""
    if decides and answer is None:
        text = "it decides on the calls of a paused run: give its id with --answer"
        raise typer.BadParameter(text, param_hint="--decision")
    if query is None and not decides:
        text = "say what to ask the crew"
        if answer is not None:
            text = "give the answer in words, or a --decision"
        raise typer.BadParameter(text, param_hint="QUERY")
