"""A copy of a run of a server that goes on another way."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from uuid import uuid4

from crew.journal.query import Answer
from crew.journal.wire import RunEvent
from crew.rehearsal.replaying.trail import shown_arguments
from crew.runs.forks import ForkPoint
from server.cli.exits import Exit, fail
from server.cli.served.api import fail_for, find_served_run, remote_client, run_path
from server.cli.served.following import answer_body, end_as, follow_served
from server.cli.view.output import Output
from server.client.client import API, CrewClient
from server.client.errors import ClientError
from server.client.targets import Target
from tools.text.texts import visible

# characters of an event that are printed
MAX_SHOWN = 100


def event_line(seq: int, kind: str, content: str, metadata: Mapping[str, Any]) -> str:
    """Return an event as a line, with the number that --at takes."""
    text = " ".join(content.split())[:MAX_SHOWN]
    who = metadata.get("agent_id") or ""
    return visible(f"{seq:>4}  {kind:<15} {who:<12} {text}".rstrip())


def refuse_acting_again(at: int, once: Sequence[str], remedy: str) -> None:
    """End the command where the copy may call what acts once a second time.

    Args:
        at: the number of the last event that is copied.
        once: the calls behind it that act once, in words.
        remedy: options by which it goes on all the same.
    """
    if once:
        shown = "".join(f"\n  {visible(one)}" for one in once)
        text = f"behind event {at} the run has called what acts once, and may call it again:{shown}"
        fail(f"{text}\ngive {remedy}", Exit.USAGE)


def fork_served(
    target: Target,
    run_id: str,
    point: ForkPoint,
    answer: Answer | None,
    agrees: bool,
    *,
    as_lines: bool,
) -> NoReturn:
    """Begin a run at a server as a copy of another one's first events, and show what follows.

    Args:
        target: the server.
        run_id: the run, as a person names it.
        point: where the copy leaves it; 0: print the events with their numbers.
        answer: to the pause that it begins with.
        agrees: it goes on where a call may act a second time.
        as_lines: print JSON, one event a line.
    """
    end_as(asyncio.run(_fork(target, run_id, point, answer, agrees, as_lines=as_lines)))


async def _fork(
    target: Target,
    name: str,
    point: ForkPoint,
    answer: Answer | None,
    agrees: bool,
    *,
    as_lines: bool,
) -> Mapping[str, Any] | None:
    at, output = point.after, Output(as_lines=as_lines)
    async with remote_client(target) as client:
        try:
            run_id = await find_served_run(client, name)
            events = [one async for one in client.events(run_id) if one.seq is not None]
            if not at:
                for one in events:
                    print(event_line(one.seq or 0, one.type, one.content, one.metadata))
                return None
            if not agrees:
                refuse_acting_again(at, await _once_behind(client, events, at), "--yes")
            # the answer itself is not copied where it is another one
            is_answer = any(one.seq == at and one.metadata.get("resumed") for one in events)
            after = at - 1 if answer is not None and is_answer else at
            body = {"after": after} | ({"says": point.says} if point.says is not None else {})
            path = f"{API}{run_path(run_id)}/fork"
            made = await client.send("POST", path, body, key=uuid4().hex)
            copy = str(made["run_id"])
            if answer is not None:
                after = await _pause(client, copy, after)
                await client.send("POST", f"{API}{run_path(copy)}/resume", answer_body(answer))
        except ClientError as error:
            fail_for(client.url, error)
        return await follow_served(client, target, copy, after, output)


async def _pause(client: CrewClient, run_id: str, after: int) -> int:
    """Wait until a run asks; returns the number of its newest event."""
    async for event in client.events(run_id, after):
        after = event.seq or after
    return after


async def _once_behind(client: CrewClient, events: Sequence[RunEvent], at: int) -> list[str]:
    """Return the calls behind an event of tools that may act once, in words.

    Of a tool that the crew has no more it is not known.
    """
    behind = [one for one in events if one.type == "tool_start" and (one.seq or 0) > at]
    if not behind:
        return []
    tools = (await client.read(f"{API}/tools"))["tools"]
    known = {one["tool"] for one in tools if one["effect"] != "once"}
    made = [one.metadata for one in behind if one.metadata["tool"] not in known]
    shown = (f"{one['tool']}({shown_arguments(one['arguments'])})" for one in made)
    return list(dict.fromkeys(shown))
