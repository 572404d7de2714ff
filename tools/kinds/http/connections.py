"""The connections of a crew's HTTP tools."""

import importlib
from typing import Any

from tools.kinds.http.addresses import Allowance


class Connections:
    """Pools of connections, one for each allowance.

    A connection that was made under one must never serve another.
    """

    def __init__(self) -> None:
        self._sessions: dict[Allowance, Any] = {}

    def session(self, allowance: Allowance) -> Any:
        """The pool of an allowance, an aiohttp.ClientSession."""
        session = self._sessions.get(allowance)
        if session is None:
            # takes its time to import, which crews without HTTP tools should not wait for
            client = importlib.import_module("tools.kinds.http.client")
            session = self._sessions[allowance] = client.make_session(allowance)
        return session

    async def close(self) -> None:
        """Close all connections."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()
