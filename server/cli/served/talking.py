"""A conversation with the crew of a server."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from server.cli.playing.asking import typed_lines
from server.cli.served.api import fail_for, remote_client
from server.cli.served.following import (
    end_as,
    follow_served,
    shows_deltas,
    where_option,
)
from server.cli.view.output import Output
from server.client.errors import ClientError
from server.client.targets import Target
from tools.text.texts import visible


def talk_served(target: Target, conversation_id: str, user_id: str, *, as_lines: bool) -> NoReturn:
    """Ask a server line by line, in one conversation; end the command as the last run has ended.

    Args:
        target: the server.
        conversation_id: the conversation.
        user_id: the person; "": the one of the token.
        as_lines: print the events as JSON, one a line.
    """
    run = asyncio.run(_talk(target, conversation_id, user_id, Output(as_lines=as_lines)))
    if run is not None and not as_lines:
        more = f" --user {user_id}" if user_id else ""
        print("To go on:", file=sys.stderr)
        line = f"  crew talk {where_option(target)} --conversation {conversation_id}{more}"
        print(visible(line), file=sys.stderr)
    end_as(run)


async def _talk(
    target: Target, conversation_id: str, user_id: str, output: Output
) -> Mapping[str, Any] | None:
    """Ask line by line; returns the last run, as it then is."""
    run: Mapping[str, Any] | None = None
    async with remote_client(target) as client:
        async for text in typed_lines(output):
            output.view.query = text
            try:
                run_id = await client.start(
                    text,
                    conversation=conversation_id,
                    user=user_id or None,
                    deltas=shows_deltas(output),
                )
            except ClientError as error:
                if run is None:
                    fail_for(client.url, error)
                print(visible(f"crew: {error.detail}"), file=sys.stderr)
                continue
            # the line may have answered what the run before has asked; behind a pause comes its end
            is_same = run is not None and run["run_id"] == run_id and run["pause"] is not None
            after = run["pause"] + 1 if run is not None and is_same else 0
            run = await follow_served(client, target, run_id, after, output)
    return run
