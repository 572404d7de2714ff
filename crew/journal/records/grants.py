"""Approvals that outlive their run: a person's word on calls of one tool, until it ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Protocol

GRANT_DAYS = 90


@dataclass(frozen=True, slots=True)
class Grant:
    """Calls that are made without asking. Times are RFC 3339, UTC."""

    id: str
    tool: str
    # the tool's digest: of another one it is another tool
    definition: str
    # whose calls
    agent_id: str
    # what the arguments must be, all of them but those in `patterns`
    arguments: dict[str, Any]
    # the name of the token it came with; "" where there are none
    by: str
    # the run in which it was given
    run_id: str
    given_at: str
    until: str
    # argument -> glob on its text
    patterns: dict[str, str] = field(default_factory=dict)
    # whose runs it holds for
    owner: str = ""
    # the person of the run in which it was given
    user_id: str = ""

    def covers(self, agent_id: str, definition: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call is one of these."""
        if (agent_id, definition) != (self.agent_id, self.definition):
            return False
        if arguments.keys() != self.arguments.keys() | self.patterns.keys():
            return False
        return all(fits(arguments[name], glob) for name, glob in self.patterns.items()) and all(
            _is_same(arguments[name], value) for name, value in self.arguments.items()
        )


def fits(value: Any, glob: str) -> bool:
    """Return whether the text of a value is as a glob says; lists and mappings have none."""
    if not isinstance(value, (str, int, float)):
        return False
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return fnmatchcase(text, glob)


def _is_same(value: Any, one: Any) -> bool:
    """Return whether two values are the same JSON: true is no 1."""
    match value, one:
        case dict(), dict():
            return value.keys() == one.keys() and all(_is_same(value[k], one[k]) for k in one)
        case list(), list():
            return len(value) == len(one) and all(map(_is_same, value, one))
        case _:
            return bool(value == one) and isinstance(value, bool) == isinstance(one, bool)


class GrantLog(Protocol):
    """Keeps grants. Methods raise StoreError."""

    async def add(self, grants: Sequence[Grant]) -> None:
        """Keep some; one with an id that is there already stays as it is."""
        ...

    async def find(self, now: str, definitions: Sequence[str] | None = None) -> list[Grant]:
        """Return those that have not ended by now, newest first; of some tools, or all."""
        ...

    async def of_user(self, user_id: str) -> list[Grant]:
        """Return those that were given in runs of a user."""
        ...

    async def revoke(self, grant_id: str) -> bool:
        """End one; whether there was one."""
        ...

    async def purge(self, now: str) -> int:
        """Delete those that have ended; how many there were."""
        ...
