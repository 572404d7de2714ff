"""What an MCP server says of its tools; pure."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from tools.definition import Effect

MAX_TOOLS = 1000
MAX_PAGES = 100


class SessionEndedError(ConnectionError):
    """The server does not know the connection any more; nothing was done."""


@dataclass(frozen=True)
class Definition:
    """A tool, as its server describes it."""

    # the server's own
    name: str
    description: str
    # JSON schema of the arguments
    parameters: dict[str, Any]
    # `readOnlyHint`, `idempotentHint` and others
    annotations: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """64 hex digits that follow from all of it."""
        said = [self.name, self.description, self.parameters, self.annotations]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def effect(self) -> Effect:
        """By its annotations."""
        if self.annotations.get("readOnlyHint") is True:
            return "read"
        return "idempotent" if self.annotations.get("idempotentHint") is True else "once"


def chosen(
    definitions: Iterable[Definition], allow: Iterable[str], deny: Iterable[str]
) -> list[Definition]:
    """Return the tools with names that match one glob of `allow`, and none of `deny`."""
    return [
        one
        for one in definitions
        if any(fnmatchcase(one.name, glob) for glob in allow)
        and not any(fnmatchcase(one.name, glob) for glob in deny)
    ]
