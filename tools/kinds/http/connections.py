"""The connections of a crew's HTTP tools."""

import importlib
from typing import Any

from tools.kinds.http.addresses import Allowance
from tools.loops import PerLoop


class Connections:
    """Pools of connections, one for each allowance.

    A connection that was made under one must never serve another.
    """

    def __init__(self) -> None:
        self._sessions: PerLoop[dict[Allowance, Any]] = PerLoop(dict)

    def session(self, allowance: Allowance) -> Any:
        """Return the pool of an allowance, an aiohttp.ClientSession."""
        sessions = self._sessions.get()
        session = sessions.get(allowance)
        if session is None:
            # takes its time to import, which crews without HTTP tools should not wait for
            client = importlib.import_module("tools.kinds.http.client")
            session = sessions[allowance] = client.make_session(allowance)
        return session

    async def close(self) -> None:
        """Close all connections."""
        for session in (self._sessions.take() or {}).values():
            await session.close()
