"""One try to send a notice, by HTTP or SMTP."""

import asyncio
import errno
import smtplib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from email.message import EmailMessage
from http import HTTPStatus

import aiohttp

from crew.config.keys.notify import ChannelConfig, EmailChannel
from crew.journal.records.rows import Notice
from server.notices.messages import Post, email_of, link_of, post_of
from tools.clock import Clock

TRY_SECONDS = 15.0
REASONS = {
    errno.ECONNREFUSED: "the connection is refused",
    errno.ECONNRESET: "it closes the connection",
    errno.EHOSTUNREACH: "there is no way to its host",
    errno.ENETUNREACH: "there is no way to its network",
    errno.ETIMEDOUT: "its host does not answer",
}


class NotDelivered(Exception):
    """A notice was not sent; says why, without the channel's address."""


class Delivery:
    """Sends notices; see `delivery`."""

    def __init__(
        self, session: aiohttp.ClientSession, clock: Clock, public_url: str | None
    ) -> None:
        self._session, self._clock, self._public_url = session, clock, public_url

    async def deliver(self, channel: ChannelConfig, notice: Notice) -> None:
        """Send a notice; raises NotDelivered, after TRY_SECONDS at the latest."""
        link = link_of(self._public_url, notice)
        if isinstance(channel, EmailChannel):
            message = email_of(channel, notice, link)
            # its own limits end the thread, of each step
            await _within(asyncio.to_thread(_send_email, channel, message))
        else:
            post = post_of(channel, notice, link, self._clock.now().timestamp())
            await _within(self._post(post))

    async def _post(self, post: Post) -> None:
        # a redirect would take the text and the secrets to another host
        sending = self._session.post(
            post.url, headers=post.headers, data=post.body, allow_redirects=False
        )
        try:
            async with sending as response:
                status = response.status
        except aiohttp.ClientError as error:
            # its text has the address
            raise NotDelivered(f"it cannot be reached: {_why(error)}") from error
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            raise NotDelivered(f"it answers with {status}")


def _why(error: Exception) -> str:
    """Return why there is no connection; the error's own text has the address."""
    code = getattr(error, "errno", None)
    match error:
        case aiohttp.ClientConnectorDNSError() | socket.gaierror():
            return "there is no such host"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return "its certificate is not trusted, or it speaks no TLS there"
        case aiohttp.ServerDisconnectedError() | smtplib.SMTPServerDisconnected():
            return "it closes the connection"
        case _ if code in REASONS:
            return REASONS[code]
        case _:
            return type(error).__name__


@asynccontextmanager
async def delivery(clock: Clock, public_url: str | None) -> AsyncIterator[Delivery]:
    """Yield a Delivery for the block.

    Args:
        clock: of the times in signatures.
        public_url: of the server; without one, messages have no link.
    """
    # the proxies of the environment are for what leaves the machine; answers are not read
    timeout = aiohttp.ClientTimeout(total=TRY_SECONDS)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(trust_env=True, timeout=timeout, cookie_jar=jar) as session:
        yield Delivery(session, clock, public_url)


async def _within(trying: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(TRY_SECONDS):
            await trying
    except TimeoutError:
        raise NotDelivered(f"it has not answered within {TRY_SECONDS:g} seconds") from None


def _send_email(channel: EmailChannel, message: EmailMessage) -> None:
    try:
        if channel.encryption == "tls":
            context = ssl.create_default_context()
            connected: smtplib.SMTP = smtplib.SMTP_SSL(
                channel.host, channel.port, timeout=TRY_SECONDS, context=context
            )
        else:
            connected = smtplib.SMTP(channel.host, channel.port, timeout=TRY_SECONDS)
        with connected as server:
            if channel.encryption == "starttls":
                server.starttls(context=ssl.create_default_context())
            if channel.username is not None and channel.password is not None:
                server.login(channel.username, channel.password.get_secret_value())
            refused = server.send_message(message)
    except smtplib.SMTPResponseException as error:
        raise NotDelivered(f"it answers with {error.smtp_code}") from error
    except (smtplib.SMTPException, OSError) as error:
        raise NotDelivered(f"it cannot be reached: {_why(error)}") from error
    if refused:
        raise NotDelivered(f"it refuses {len(refused)} of {len(channel.to)} addresses")
