"""What a server does beside its requests goes on, whatever one part of it meets."""

import asyncio

import pytest

from server.background import AGAIN_SECONDS, background_work
from tests.support.tool_calls import moving_clock


async def test_what_fails_begins_again(caplog: pytest.LogCaptureFixture):
    """It is in the log, and what else is done goes on; at the end all is ended."""
    begun: list[float] = []
    again, others, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    async with moving_clock() as clock:

        async def fails() -> None:
            begun.append(clock.monotonic())
            if len(begun) == 1:
                raise OSError("no folder")
            again.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def ends() -> None:
            others.set()

        async with background_work({"backups": fails, "the rest": ends}, clock):
            await others.wait()
            await again.wait()
        assert ended.is_set()
    assert [round(one - begun[0]) for one in begun] == [0, AGAIN_SECONDS]
    assert "backups has failed; it begins again" in caplog.text


async def test_what_fails_while_it_ends_does_not_begin_again():
    """A server that stops waits for nothing else."""
    begun = 0
    async with moving_clock() as clock:

        async def fails_at_its_end() -> None:
            nonlocal begun
            begun += 1
            try:
                await asyncio.Event().wait()
            finally:
                raise RuntimeError("while it ends")

        async with background_work({"chores": fails_at_its_end}, clock):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    assert begun == 1
