"""Runs of a server: lists of them, and one with its events."""

import json
import sys
from collections.abc import Mapping
from typing import Any, Literal

from rich.console import Console

from crew.journal.wire import RunEvent
from server.cli.exits import Exit, fail
from server.cli.served.api import Api, fail_for, run_path
from server.cli.view.listed import print_listed, print_viewers, print_waiting
from server.cli.view.output import Output
from server.client.errors import ClientError
from tools.text.texts import visible_json

PAGE = 100


def list_served_runs(
    api: Api, wanted: Mapping[str, Any], limit: int | None, *, as_document: bool
) -> int:
    """Print the newest runs that match; returns how many there are.

    Args:
        api: of the server.
        wanted: what they are, by the names of the API.
        limit: so many at most; None: as many as the server gives.
        as_document: print JSON.
    """
    runs = api.read("/runs", limit=limit, **wanted)["runs"]
    for run in runs:
        print_listed(run, as_document=as_document)
    return len(runs)


def act_on_matching(
    api: Api, act: Literal["cancel", "delete"], wanted: Mapping[str, Any], *, dry: bool, yes: bool
) -> None:
    """Do something to all runs that match, if there are as many as a person has agreed to."""
    path = f"/runs/{act}"
    count = api.send("POST", path, {"filter": wanted, "dry": True})["count"]
    if dry or not count:
        print(f"{count} runs match")
        return
    if not yes:
        if not sys.stdin.isatty():
            fail(f"{count} runs match; nothing was done: give --yes", Exit.USAGE)
        if input(f"{act.capitalize()} {count} runs? [y/N] ").strip().lower() not in ("y", "yes"):
            return
    done = api.send("POST", path, {"filter": wanted, "expect": count})
    for what in ("cancelled", "deleted"):
        if what in done:
            print(f"{what} {done[what]} runs")


def show_served_run(api: Api, text: str, *, as_document: bool) -> None:
    """Print a run with its events; a running one is followed to its end.

    `text`: its id, the beginning of it, or `last`.
    """
    run_id = api.find_run(text)
    output = Output(as_lines=as_document)
    output.view.query = api.read(run_path(run_id))["query"]

    async def show() -> None:
        async for event in api.client.events(run_id):
            output.show(event)

    try:
        api.portal.call(show)
    except ClientError as error:
        fail_for(api.client.url, error)


def show_served_inbox(api: Api, *, as_document: bool) -> int:
    """Print the runs that wait for a person, oldest first; returns how many there are."""
    console, count, after = Console(highlight=False), 0, None
    while True:
        page = api.read("/inbox", limit=PAGE, after=after)
        for run in page["runs"]:
            count += 1
            if as_document:
                print(visible_json(json.dumps(run, ensure_ascii=False)))
            elif (waiting := run["waiting"]) is not None:
                facts = {key: value for key, value in waiting.items() if key != "agent"}
                pause = RunEvent("pause", None, waiting["agent"], "", waiting["since"], facts, "")
                print_waiting(console, run["run_id"], run["query"], run["answer"], pause)
                # an older server does not say it
                print_viewers(console, [one["name"] for one in run.get("viewers", ())])
                where = f"{api.client.url}/runs/{run['run_id']}"
                console.print(f"  answer it at {where}", soft_wrap=True)
                console.print()
        if (after := page["next"]) is None:
            return count
