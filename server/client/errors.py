"""What goes wrong between a client and a server."""

from collections.abc import Mapping
from typing import Any

from crew.errors import CrewError
from server.errors import SettingsError


class ClientError(CrewError):
    """A server has refused something, or does not answer."""

    def __init__(
        self,
        detail: str,
        status: int | None = None,
        *,
        request_id: str = "",
        document: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what is wrong.

        Args:
            detail: in words.
            status: of the answer; None: there was none.
            request_id: by which the server's log has it.
            document: the whole answer, where it is JSON.
        """
        super().__init__(detail)
        self.status, self.detail, self.request_id = status, detail, request_id
        self.document = dict(document or {})

    @property
    def code(self) -> str:
        """The code of the problem, where it has one."""
        return str(self.document.get("code") or "")


class TargetError(SettingsError):
    """It is not clear which server is meant, or it must not be called so; the text says why."""
