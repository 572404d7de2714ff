"""Why a run went where it went: `crew why`."""

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from server.cli.exits import HERE
from server.cli.served.api import opened_api, run_path
from server.cli.served.options import GivenFolder, Profile, Server, place_arguments
from server.cli.view.amounts import usd_text
from tools.text.texts import visible, visible_json

# of what took longest, or cost most
MOST = 10
# of a fact, on a terminal
MAX_FACT = 300


def why(
    folder: GivenFolder = None,
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run: its id, the beginning of it, or last; the last one that failed or met "
            "a limit unless given.",
            show_default=False,
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Argument(metavar="N", help="The event; all unless given.", show_default=False),
    ] = None,
    missed: Annotated[
        str | None,
        typer.Option("--not", metavar="AGENT", help="Why it did not go there, the last time."),
    ] = None,
    by_time: Annotated[bool, typer.Option("--time", help="What took longest.")] = False,
    by_cost: Annotated[bool, typer.Option("--cost", help="What cost most.")] = False,
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Say why a run went where it went: each rule, the words that decided, and their lines.

    By the files that it was started with, never by those of today.

    Example: [bold]crew why examples/it-support last[/]
    """
    if sum((missed is not None, by_time, by_cost)) > 1:
        raise typer.BadParameter("give one of --not, --time and --cost", param_hint="--not")
    target, home, (run_id, event) = place_arguments(server, profile, folder, run_id, event)
    if event is not None and not (event.isascii() and event.isdecimal() and int(event)):
        raise typer.BadParameter("is the number of an event, from 1 on", param_hint="N")
    number = None if event is None else int(event)
    if target is not None:
        if missed is not None or run_id is None:
            raise typer.BadParameter("with a server, name the run, without --not", param_hint="RUN")
        with opened_api(target, HERE) as api:
            path = run_path(api.find_run(run_id))
            run, found = api.read(path), api.read(f"{path}/why", event=number)
        _print(run, _ordered(found["steps"], by_time, by_cost), as_document, number is not None)
        return
    local = importlib.import_module("server.cli.local.why")
    run, steps = local.explained_here(home, run_id, number, missed)
    _print(run, _ordered(steps, by_time, by_cost), as_document, number is not None)


def _ordered(
    steps: Sequence[Mapping[str, Any]], by_time: bool, by_cost: bool
) -> Sequence[Mapping[str, Any]]:
    if by_time:
        return sorted(steps, key=lambda one: -one["time"])[:MOST]
    if by_cost:
        return sorted(steps, key=lambda one: -(one["cost"] or 0.0))[:MOST]
    return steps


def _print(
    run: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], as_document: bool, in_full: bool
) -> None:
    if as_document:
        document = {"run_id": run["run_id"], "steps": list(steps)}
        print(visible_json(json.dumps(document, ensure_ascii=False)))
        return
    print(visible(f"{run['run_id']}  {run['status']} ({run['reason'] or '-'})"))
    for one in steps:
        for line in _lines(one, in_full=in_full):
            print(visible(line))


def _lines(step: Mapping[str, Any], *, in_full: bool) -> Iterator[str]:
    cost = "?" if step["cost"] is None else usd_text(step["cost"])
    costs = f"   {cost}" if step["cost"] != 0 else ""
    yield f"{step['event']:>4} {step['step']}   {step['time']:.1f} s{costs}"
    rulings = [*step["decided"], *step["limits"]]
    width = max((len(one["rule"]) for one in rulings), default=0)
    for one in rulings:
        applied = "applies   " if one["applied"] else ""
        source = f"   {one['source']}" if one["source"] else ""
        yield f"       {one['rule']:<{width}}   {applied}{one['because']}{source}"
    if in_full:
        for name, value in step["facts"].items():
            yield f"       {name}: {json.dumps(value, ensure_ascii=False)[:MAX_FACT]}"
