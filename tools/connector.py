"""Connections that are kept open, and used again only while nothing has come on them."""

import asyncio
import select
from typing import Any

import aiohttp

# servers close an idle connection after 5 s and more; a request must not meet that
KEEP_SECONDS = 4.0


class QuietConnector(aiohttp.TCPConnector):
    """Gives out no connection on which something came that was not requested.

    aiohttp looks only whether it is still open; what came late after one answer would be taken for
    the next one, of another tool perhaps. So would a connection that the server has closed while
    the event loop was busy be taken for an open one.
    """

    async def _get(self, key: Any, traces: Any) -> Any:
        while (connection := await super()._get(key, traces)) is not None:
            protocol = connection.protocol
            assert protocol is not None, "it is open"
            transport = protocol.transport
            assert transport is not None, "it is open"
            if not protocol.should_close and not _is_readable(transport):
                return connection
            connection.close()
        return None


def _is_readable(transport: asyncio.Transport) -> bool:
    """Return whether bytes, or the end, have come that the event loop has not looked at."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))
