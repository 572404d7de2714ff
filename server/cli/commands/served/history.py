"""The commands that look at stored runs: show, search, compare, export, delete."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape

from server.cli.exits import HERE, fail, say_none
from server.cli.matching import (
    Agent,
    CostOver,
    OfUser,
    Owner,
    StartedBy,
    Text,
    Tool,
    time_of,
    wanted_of,
)
from server.cli.served.api import opened_api, run_path
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.cli.served.runs import act_on_matching, show_served_run
from tools.text.texts import visible, visible_json

GivenRun = Annotated[
    str, typer.Argument(metavar="RUN", help="The run: its id, the beginning of it, or last.")
]


def show(
    run_id: GivenRun,
    folder: GivenFolder = None,
    server: Server = None,
    profile: Profile = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print the events as JSON, one a line.")
    ] = False,
) -> None:
    """Show a run with its events; one that goes on is followed to its end.

    Example: [bold]crew show last examples/it-support[/]
    """
    with opened_api(chosen_target(server, profile, folder), folder or HERE) as api:
        show_served_run(api, run_id, as_document=as_document)


def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="In whatever case.")],
    folder: GivenFolder = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="So many places at most.")] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on behind this run.", show_default=False)
    ] = None,
    server: Server = None,
    profile: Profile = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """Find where words were said: by people, agents and tools, the newest runs first.

    Example: [bold]crew search "disk full" examples/it-support[/]
    """
    with opened_api(chosen_target(server, profile, folder), folder or HERE) as api:
        found = api.read("/search", q=words, limit=limit, after=after)
    console = Console(highlight=False, soft_wrap=True)
    for hit in found["hits"]:
        if as_document:
            print(visible_json(json.dumps(hit, ensure_ascii=False)))
        else:
            _print_hit(console, hit)
    if not found["hits"]:
        say_none(f"{words!r} is nowhere, in what was looked at", as_document=as_document)
    if found["next"] is not None and not as_document:
        text = f"looked back to {found['reached']}; go on with --after {found['next']}"
        print(visible(text), file=sys.stderr)


def _print_hit(console: Console, hit: dict[str, Any]) -> None:
    place = "" if hit["seq"] is None else f"#{hit['seq']}"
    text, start, end = hit["text"], hit["start"], hit["end"]
    before, found, behind = (
        escape(visible(" ".join(part.splitlines())))
        for part in (text[:start], text[start:end], text[end:])
    )
    who = escape(visible(" ".join((hit["kind"], hit["who"])).strip()))
    console.print(f"[dim]{hit['run_id']}{place}  {hit['at']}  {who}[/]")
    console.print(f"  {before}[bold reverse]{found}[/]{behind}")


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A run.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another run.")],
    folder: GivenFolder = None,
    server: Server = None,
    profile: Profile = None,
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put two runs side by side, step by step, and say where they part.

    Example: [bold]crew compare 01a2 last examples/it-support[/]
    """
    with opened_api(chosen_target(server, profile, folder), folder or HERE) as api:
        found = api.read("/compare", a=api.find_run(first), b=api.find_run(second))
    if as_document:
        print(visible_json(json.dumps(found, ensure_ascii=False)))
        return
    for number, pair in enumerate(found["steps"], 1):
        for line in _pair_lines(number, pair):
            print(visible(line))
    apart = found["apart"]
    print(
        f"apart: {apart['tokens']:+,} tokens, {apart['cost_usd']:+.6f} USD, "
        f"{apart['duration_seconds']:+.3f} s"
    )
    if not found["same_revision"]:
        revisions = [one["revision"] for one in found["runs"]]
        print(visible(f"of two revisions: {revisions[0]}, {revisions[1]}"))


def _pair_lines(number: int, pair: dict[str, Any]) -> list[str]:
    if pair["same"]:
        lines = [f"  {number:>3} {pair['a']['what']}"]
        return [*lines, *(f"        {line}" for line in pair.get("diff", "").splitlines()[2:])]
    lines = []
    for mark, one in (("-", pair["a"]), ("+", pair["b"])):
        if one is not None:
            source = f"   {one['source']}" if one["source"] else ""
            lines.append(f"{mark} {number:>3} {one['what']}{source}")
    return lines


def export(
    run_id: GivenRun,
    folder: GivenFolder = None,
    form: Annotated[
        Literal["json", "md", "html"], typer.Option("--format", help="Of the document.")
    ] = "json",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write it there.", show_default="stdout"
        ),
    ] = None,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Print a run with all that is kept of it: events, decisions, costs, and who did what.

    Example: [bold]crew export last examples/it-support --format md[/]
    """
    with opened_api(chosen_target(server, profile, folder), folder or HERE) as api:
        found = api.read(f"{run_path(api.find_run(run_id))}/export", format=form)
    text = json.dumps(found, ensure_ascii=False, indent=2) if form == "json" else str(found)
    if output is not None:
        output.write_text(f"{text.rstrip()}\n", encoding="utf-8")
        return
    print(visible_json(text) if form == "json" else visible(text))


def delete(
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="The runs; the last one may be DIR."),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="All that were started before.", show_default=False),
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Only those with it.", show_default=False)
    ] = None,
    agent: Agent = None,
    text: Text = None,
    source: StartedBy = None,
    owner: Owner = None,
    user: OfUser = None,
    tool: Tool = None,
    cost_over: CostOver = None,
    dry: Annotated[bool, typer.Option("--dry", help="Only say how many there are.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Delete runs that have ended, with their events; their bytes are overwritten.

    The audit keeps who and when. One of a conversation goes with its conversation.

    Example: [bold]crew delete examples/it-support --before 2026-01-01 --status failed[/]
    """
    words = list(given or ())
    folder = Path(words.pop()) if words and Path(words[-1]).is_dir() else None
    wanted = wanted_of(
        until=None if before is None else time_of(before, "--before"),
        status=status,
        agent_id=agent,
        text=text,
        source=source,
        owner=owner,
        user_id=user,
        tool=tool,
        cost_over=cost_over,
    )
    if bool(words) == bool(wanted):
        hint = "name runs, or say which ones, as by --before and --status"
        raise typer.BadParameter(hint, param_hint="RUN")
    with opened_api(chosen_target(server, profile, folder), folder or HERE) as api:
        if wanted:
            act_on_matching(api, "delete", wanted, dry=dry, yes=yes)
            return
        for run_id in dict.fromkeys(api.find_run(one) for one in words):
            if not dry:
                api.send("DELETE", run_path(run_id))
            elif (status := api.read(run_path(run_id))["status"]) in ("running", "paused"):
                fail(f"run {run_id} is {status}: cancel it first")
            print(f"{'would delete' if dry else 'deleted'} {run_id}")
