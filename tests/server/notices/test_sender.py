"""Notices leave the outbox when they are sent, or when nobody has taken them for a day."""

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.backends.conformance.samples import sample_records, sample_row
from crew.journal.records.rows import Notice, Write
from server.notices.delivery import TRY_SECONDS, NotDelivered, delivery
from server.notices.sender import LEASE_SECONDS, NoticeSender
from tests.server.notices.receivers import receiver, smtp_server
from tests.server.notices.test_messages import MAIL, NOTICE, channel
from tests.support.certificates import make_certificate
from tests.support.crews import write_crew
from tests.support.raw_server import RawServer, answer, raw_server
from tools.clock import SYSTEM_CLOCK, rfc3339
from tools.virtual_clock import VirtualClock


def notice_of(clock: VirtualClock, to: str, age: timedelta = timedelta(0)) -> Notice:
    at = rfc3339(clock.now() - age)
    return Notice(f"r1:1:{to}", to, "done", at, "c", "r1", 1, "completed", "end", "a", "q", "t")


@asynccontextmanager
async def sending(
    folder: Path, clock: VirtualClock, notices: list[Notice], **channels: Any
) -> AsyncIterator[tuple[Runs, Counter[str]]]:
    """A sender at work, with these notices in its outbox; what came of its tries is counted."""
    write_crew(folder, {"a": {"is_terminal": True}}, notify=channels)
    counts: Counter[str] = Counter()
    store = MemoryStore(clock)
    await store.append(Write("r1", sample_records(1, 1), sample_row("r1"), notices=notices))
    async with Runs(load_crew(folder, clock=clock), store) as runs:
        sender = NoticeSender(
            runs, None, lambda name, outcome: counts.update([f"{name} {outcome}"])
        )
        task = asyncio.create_task(sender.run())
        try:
            yield runs, counts
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def move_until(clock: VirtualClock, has_come: Any) -> None:
    """Let the time go on, a second at each look: far less than a lease while a try is under way."""
    async with asyncio.timeout(60):
        while not await has_come():
            clock.advance()
            await asyncio.sleep(0.02)


async def left(runs: Runs, name: str) -> list[Notice]:
    """What is still to be sent, sooner or later; it is due again at once."""
    store, ages = runs.store, timedelta(days=9)
    now, later = rfc3339(store.now()), rfc3339(store.now() + ages)
    return [notice for notice, _ in await store.outbox.take(name, later, now, 9)]


async def test_one_that_fails_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """With the same key and body, until it is taken; a redirect is no success, nor followed."""
    clock = VirtualClock()
    with receiver(0, 500, 302) as told:
        url = f"http://127.0.0.1:{told.port}/in"
        hook = {"kind": "webhook", "url": url}
        async with sending(tmp_path, clock, [notice_of(clock, "hook")], hook=hook) as (
            runs,
            counts,
        ):

            async def is_sent() -> bool:
                return counts["hook sent"] > 0

            await move_until(clock, is_sent)
            assert counts == {"hook failed": 2, "hook sent": 1}
            assert len({(one.headers["idempotency-key"], one.body) for one in told.told}) == 1
            assert [one.path for one in told.told] == ["/in"] * 3

            async def is_forgotten() -> bool:
                return not await left(runs, "hook")

            await move_until(clock, is_forgotten)
    warnings = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert [one.getMessage() for one in warnings] == [
        f"notify hook (127.0.0.1:{told.port}) is not told of run r1 yet: it answers with 500"
    ]


async def test_after_a_day_it_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """And the log says of which run nobody was told."""
    clock = VirtualClock()
    old = notice_of(clock, "hook", timedelta(hours=24, seconds=-12))
    hook = {"kind": "webhook", "url": "http://127.0.0.1:9/in"}
    async with sending(tmp_path, clock, [old], hook=hook) as (runs, counts):

        async def is_over() -> bool:
            return counts["hook given_up"] > 0

        await move_until(clock, is_over)
        assert counts == {"hook failed": 1, "hook given_up": 1}

        async def is_forgotten() -> bool:
            return not await left(runs, "hook")

        await move_until(clock, is_forgotten)
    (error,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert error.getMessage() == (
        "notify hook (127.0.0.1:9) is not told of run r1, given up after 24 hours: "
        "it cannot be reached: the connection is refused"
    )


async def test_one_that_hangs_is_in_nobodys_way(tmp_path: Path):
    """Nor in that of a run."""
    clock, hangs = VirtualClock(), asyncio.Event()

    async def hang(writer: asyncio.StreamWriter, request: bytes) -> None:
        await hangs.wait()

    async with raw_server(hang) as stuck:
        with receiver() as told:
            made = [notice_of(clock, "stuck"), notice_of(clock, "good")]
            channels = {
                "stuck": {"kind": "webhook", "url": f"{stuck.url}/in"},
                "good": {"kind": "slack", "url": f"http://127.0.0.1:{told.port}/in"},
            }
            async with sending(tmp_path, clock, made, **channels) as (runs, counts):

                async def is_told() -> bool:
                    return counts["good sent"] > 0 and bool(stuck.requests)

                await move_until(clock, is_told)
                run = await runs.start(Query("q"))
                outcome = asyncio.create_task(run.outcome())

                async def has_ended() -> bool:
                    return outcome.done()

                await move_until(clock, has_ended)
                assert (await outcome).status == "completed"
                assert counts["good sent"] == 1
                hangs.set()


@asynccontextmanager
async def answering(data: bytes) -> AsyncIterator[RawServer]:
    async with raw_server(data) as server:
        yield server


async def deliver(config: Any) -> None:
    async with delivery(SYSTEM_CLOCK, None) as channels:
        await channels.deliver(config, NOTICE)


async def test_a_lease_outlasts_a_try():
    """Or two processes would send the same."""
    assert LEASE_SECONDS > 2 * TRY_SECONDS
    async with answering(answer(status="204 No Content")) as server:
        await deliver(channel(kind="webhook", url=server.url))
    async with answering(b"nonsense\r\n\r\n") as server:
        with pytest.raises(NotDelivered, match="cannot be reached"):
            await deliver(channel(kind="webhook", url=server.url))


def mail(port: int, **keys: Any) -> Any:
    return channel(**{**MAIL, "host": "localhost", "port": port, "encryption": "none", **keys})


async def test_an_email_is_sent():
    """To all of its addresses."""
    async with smtp_server() as box:
        await deliver(mail(box.port, to=["a@x.example", "b@x.example"]))
    ((sender, to, text),) = box.emails
    assert (sender, to) == ("crew@x.example", ["a@x.example", "b@x.example"])
    assert "Subject: shop waits for an answer\r\n" in text
    assert "May I restart it?" in text


async def test_a_password_is_sent_by_tls_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: tuple[Path, Path]
):
    """To a server whose certificate is known; a wrong one is refused, and so is none."""
    key, chain = certificate
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain, key)
    user = {"username": "u", "password": "p"}
    async with smtp_server("u", "p", ssl=context) as box:
        with pytest.raises(NotDelivered, match="its certificate is not trusted"):
            await deliver(mail(box.port, encryption="tls", **user))
        monkeypatch.setenv("SSL_CERT_FILE", str(chain))
        await deliver(mail(box.port, encryption="tls", **user))
        assert len(box.emails) == 1
        with pytest.raises(NotDelivered, match="answers with 535"):
            await deliver(mail(box.port, encryption="tls", **{**user, "password": "q"}))
    async with smtp_server() as box:
        with pytest.raises(NotDelivered, match="SMTPNotSupportedError"):
            await deliver(mail(box.port, encryption="starttls"))
        assert box.emails == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key, and a certificate of localhost."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (channel(kind="webhook", url="http://127.0.0.1:9/x"), "the connection is refused"),
        (channel(kind="webhook", url="http://nobody.invalid/x"), "there is no such host"),
        (mail(9), "the connection is refused"),
    ],
    ids=["refused", "no host", "email"],
)
async def test_why_there_is_no_connection(config: Any, why: str):
    """In words, without the address."""
    with pytest.raises(NotDelivered) as failed:
        await deliver(config)
    assert str(failed.value) == f"it cannot be reached: {why}"


async def test_a_server_that_speaks_no_tls():
    with receiver() as heard, pytest.raises(NotDelivered, match="speaks no TLS there"):
        await deliver(channel(kind="webhook", url=f"https://127.0.0.1:{heard.port}/x"))
