"""A run of a server in the terminal, from the query to the answer."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NoReturn

import typer

from crew.journal.query import Answer
from crew.journal.wire import RunEvent
from server.cli.exits import Exit, exit_code_of, fail
from server.cli.hints import answer_commands, command_there, say_how_to_answer, shell_quoted
from server.cli.playing.asking import ask_for_answer, with_decisions
from server.cli.served.api import fail_for, find_served_run, remote_client, run_path
from server.cli.view.output import Output
from server.client.client import API, CrewClient
from server.client.errors import ClientError
from server.client.targets import Target
from tools.text.texts import visible


def run_served(
    target: Target, body: Mapping[str, Any], *, as_lines: bool, detach: bool
) -> NoReturn:
    """Start a run at a server, show its events, and end the command as `crew run` does.

    Args:
        target: the server.
        body: of the request.
        as_lines: print JSON, one event a line.
        detach: print the id, and leave it.
    """
    end_as(asyncio.run(_run(target, dict(body), as_lines=as_lines, detach=detach)))


def retry_served(target: Target, run_id: str, *, as_lines: bool) -> NoReturn:
    """Go on with a failed run at a server, and show what follows."""
    end_as(asyncio.run(_retry(target, run_id, as_lines=as_lines)))


def answer_served(target: Target, run_id: str, answer: Answer, *, as_lines: bool) -> NoReturn:
    """Answer a paused run at a server, and show what follows."""
    end_as(asyncio.run(_answer(target, run_id, answer, as_lines=as_lines)))


def answer_body(answer: Answer) -> dict[str, Any]:
    """Return an answer as a request has it."""
    body: dict[str, Any] = {"query": answer.text} if answer.text else {}
    if answer.decision is not None:
        body["decision"] = answer.decision
    if answer.result:
        body["result"] = answer.result
    if answer.decisions:
        body["decisions"] = [
            {key: value for key, value in asdict(one).items() if value not in (None, "")}
            for one in answer.decisions
        ]
    return body


def end_as(run: Mapping[str, Any] | None) -> NoReturn:
    """End the command as a run has ended; None: it was left."""
    raise typer.Exit(0 if run is None else exit_code_of(run["status"], run["reason"]))


async def _run(
    target: Target, body: dict[str, Any], *, as_lines: bool, detach: bool
) -> Mapping[str, Any] | None:
    output = Output(as_lines=as_lines)
    output.view.query = str(body.get("query", ""))
    async with remote_client(target) as client:
        try:
            query = body.pop("query")
            run_id = await client.start(query, **body, deltas=shows_deltas(output))
        except ClientError as error:
            fail_for(client.url, error)
        if detach:
            print(run_id)
            return None
        return await follow_served(client, target, run_id, 0, output)


async def _retry(target: Target, run_id: str, *, as_lines: bool) -> Mapping[str, Any] | None:
    async with remote_client(target) as client:
        try:
            run_id = await find_served_run(client, run_id)
            last = await _last_seq(client, run_id)
            await client.send("POST", f"{API}{run_path(run_id)}/retry")
        except ClientError as error:
            fail_for(client.url, error)
        return await follow_served(client, target, run_id, last, Output(as_lines=as_lines))


async def _answer(
    target: Target, run_id: str, answer: Answer, *, as_lines: bool
) -> Mapping[str, Any] | None:
    async with remote_client(target) as client:
        try:
            run_id = await find_served_run(client, run_id)
            events = [event async for event in client.events(run_id)]
            last = max((event.seq or 0 for event in events), default=0)
            if answer.decision is None and not answer.decisions:
                answer = await with_decisions(_each(events), answer)
            await client.send("POST", f"{API}{run_path(run_id)}/resume", answer_body(answer))
        except ClientError as error:
            fail_for(client.url, error, takes_words=True)
        except ValueError as error:
            fail(str(error), Exit.USAGE)
        return await follow_served(client, target, run_id, last, Output(as_lines=as_lines))


async def _each(events: Sequence[RunEvent]) -> AsyncIterator[RunEvent]:
    for event in events:
        yield event


async def _last_seq(client: CrewClient, run_id: str) -> int:
    last = 0
    async for event in client.events(run_id):
        last = event.seq or last
    return last


def shows_deltas(output: Output) -> bool:
    """Return whether texts are shown as they are written."""
    return not output.as_lines and sys.stdin.isatty() and output.console.is_terminal


async def follow_served(
    client: CrewClient, target: Target, run_id: str, after: int, output: Output
) -> Mapping[str, Any] | None:
    """Show a run to its end, asking at pauses on a terminal; None: the person has left it."""
    interactive = sys.stdin.isatty() and not output.as_lines
    try:
        while True:
            with output.live():
                async for event in client.events(run_id, after, deltas=shows_deltas(output)):
                    output.show(event)
                    after = event.seq or after
            run = await client.run(run_id)
            if run["status"] != "paused":
                return run
            answer = await ask_for_answer(output) if interactive else None
            if answer is None:
                if not output.as_lines:
                    view, command = output.view, command_there(where_option(target), run_id)
                    say_how_to_answer(answer_commands(command, view.question, view.calls))
                return run
            await client.send("POST", f"{API}{run_path(run_id)}/resume", answer_body(answer))
    except ClientError as error:
        fail_for(client.url, error)
    except asyncio.CancelledError:
        # Ctrl-C leaves the run: it belongs to the server
        _say_how_to_return(target, run_id)
        raise


def where_option(target: Target) -> str:
    """Return the option by which a command goes to a server."""
    return f"--profile {target.name}" if target.name else f"--server {shell_quoted(target.url)}"


def _say_how_to_return(target: Target, run_id: str) -> None:
    where = where_option(target)
    lines = (
        f"Run {run_id} goes on. To return to it:",
        f"  crew show {run_id} {where}",
        "To end it:",
        f"  crew cancel {run_id} {where}",
    )
    for line in lines:
        print(visible(line), file=sys.stderr)
