"""Runs of a server: lists of them, and one with its events."""

import json

from rich.console import Console

from crew.journal.events import RunStatus
from crew.journal.wire import RunEvent
from server.cli.served.api import Api, fail_for, run_path
from server.cli.view.listed import print_listed, print_waiting
from server.cli.view.output import Output
from server.client.errors import ClientError
from tools.text.texts import visible_json

PAGE = 100


def list_served_runs(api: Api, status: RunStatus | None, *, as_document: bool) -> int:
    """Print the newest runs; returns how many there are."""
    runs = api.read("/runs", status=status)["runs"]
    for run in runs:
        print_listed(run, as_document=as_document)
    return len(runs)


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
                where = f"{api.client.url}/runs/{run['run_id']}"
                console.print(f"  answer it at {where}", soft_wrap=True)
                console.print()
        if (after := page["next"]) is None:
            return count
