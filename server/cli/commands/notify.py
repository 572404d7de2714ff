"""Whether channels can be reached: `crew notify`."""

import asyncio
import os
from typing import Annotated

import typer

from crew.config.keys.notify import ChannelConfig
from crew.crew import Crew
from server.cli.exits import HERE, Exit, Folder, fail
from server.cli.opening import load
from server.notices.delivery import NotDelivered, delivery
from server.notices.messages import place_of, test_notice
from server.settings import public_url
from server.variables import PUBLIC_URL
from tools.text.texts import visible


def notify(
    folder: Folder = HERE,
    channel: Annotated[
        str | None, typer.Option(help="Tell this one alone; all of them unless given.")
    ] = None,
) -> None:
    """Send a test message to the channels of `notify`; ends with 1 if one cannot be told.

    Example: [bold]crew notify examples/on-call[/]
    """
    link = public_url(os.environ)
    crew = load(folder, None, asks=False)
    channels = crew.config.notify
    if channel is not None and channel not in channels:
        known = ", ".join(channels) or "none"
        fail(f"there is no channel {channel!r} in crew.yaml; it has: {known}", Exit.USAGE)
    if not channels:
        fail("crew.yaml has no channels (notify:), so nobody is told", Exit.USAGE)
    if link is None:
        print(f"without {PUBLIC_URL}, messages have no link to the run's page")
    wanted = {name: one for name, one in channels.items() if channel in (None, name)}
    results = asyncio.run(_tell(crew, wanted, link))
    for name, error in results.items():
        place = visible(place_of(wanted[name]))
        print(f"{name} ({place}): {'told' if error is None else f'not told: {error}'}")
    if any(results.values()):
        raise typer.Exit(Exit.FAILED)


async def _tell(
    crew: Crew, channels: dict[str, ChannelConfig], link: str | None
) -> dict[str, NotDelivered | None]:
    """Return why each was not reached; None where it was."""
    now = crew.clock.now()

    async with delivery(crew.clock, link) as telling:

        async def tell(name: str) -> NotDelivered | None:
            try:
                await telling.deliver(channels[name], test_notice(crew.name, name, now))
            except NotDelivered as error:
                return error
            return None

        return dict(zip(channels, await asyncio.gather(*map(tell, channels)), strict=True))
