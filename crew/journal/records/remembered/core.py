"""Core memory: blocks of an owner that agents are always shown, kept in versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agents.tokenizing.tokens import ESTIMATE
from crew.journal.records.conversations import CREW_OWNER, owner_of

# of each block
KEPT_VERSIONS = 20
Scope = Literal["user", "conversation", "crew"]
# output: the typed answer of an agent fills it
ChangedBy = Literal["person", "agent", "learn", "output"]
# a text or, where the block has a schema, fields
CoreValue = str | dict[str, Any]


def owner_in(scope: Scope, user_id: str, conversation_id: str) -> str | None:
    """Return the owner of a block of a run; None: the run names no user, or no conversation."""
    if scope == "crew":
        return CREW_OWNER
    owner = owner_of(user_id)
    if scope == "conversation":
        return conversation_owner(owner, conversation_id) if conversation_id else None
    return owner if user_id else None


def user_in(owner: str) -> str:
    """Return the user of an owner of conversations; "" for none."""
    return "" if owner == CREW_OWNER else owner.removeprefix("user:")


def user_behind(owner: str) -> str:
    """Return the user of an owner, who may be a conversation; "" for none."""
    place = conversation_of(owner)
    return user_in(owner if place is None else place[0])


def conversation_owner(owner: str, conversation_id: str) -> str:
    """Return the owner of what belongs to a conversation of an owner.

    Clients choose the ids of conversations, so the user's stands before it; such an id has no
    colon, so that no two are the same.
    """
    return f"conversation:{user_in(owner)}:{conversation_id}"


def conversation_of(owner: str) -> tuple[str, str] | None:
    """Return the owner and the id of the conversation that something belongs to."""
    kind, _, rest = owner.partition(":")
    if kind != "conversation":
        return None
    user_id, _, conversation_id = rest.rpartition(":")
    return owner_of(user_id), conversation_id


@dataclass(frozen=True, slots=True)
class CoreVersion:
    """A block as it was from one change to the next."""

    owner: str
    block: str
    # from 1 on
    version: int
    value: CoreValue
    # RFC 3339, UTC
    changed_at: str
    by: ChangedBy
    # the agent, or the name of the caller
    who: str
    # of the change; "" for none
    run_id: str = ""
    # words of the person that prove it
    quote: str = ""
    # of the call that made it: made again, it changes nothing
    key: str = ""
    # the tools that gave text of others before it was written, which may stand in it
    taint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoreFill:
    """What the end of an exchange adds to a block: newest first, each text once."""

    block: str
    texts: tuple[str, ...]
    # so many are kept, of so many tokens together
    most: int
    max_tokens: int
    agent_id: str
    # the tools that gave text of others in the run
    taint: tuple[str, ...] = ()


def filled(
    known: CoreVersion | None, fill: CoreFill, owner: str, run_id: str, at: str
) -> CoreVersion | None:
    """Return the next version of a block that an exchange fills; None: nothing changes.

    Args:
        known: its newest version.
        fill: what comes to it.
        owner: of the block.
        run_id: of the exchange.
        at: when it ended.
    """
    text = known.value if known is not None and isinstance(known.value, str) else ""
    old = list(filter(None, text.split("\n")))
    # one that is too long by itself would push out all others
    fit = (one for one in (*fill.texts, *old) if ESTIMATE.count(one) <= fill.max_tokens)
    texts = list(dict.fromkeys(fit))[: fill.most]
    while ESTIMATE.count("\n".join(texts)) > fill.max_tokens:
        texts.pop()
    if texts == old:
        return None
    number = 1 if known is None else known.version + 1
    value, taint, agent_id = "\n".join(texts), taint_after(known, fill.taint), fill.agent_id
    return CoreVersion(
        owner, fill.block, number, value, at, "output", agent_id, run_id, taint=taint
    )


def taint_after(known: CoreVersion | None, more: Sequence[str]) -> tuple[str, ...]:
    """Return the taint of a block after a change in a run with this one: the old text may stay."""
    return tuple(dict.fromkeys((*(known.taint if known is not None else ()), *more)))


class CoreLog(Protocol):
    """Keeps core memory. Methods raise StoreError."""

    async def newest(self, owners: Sequence[str]) -> list[CoreVersion]:
        """Return the newest version of each block of some owners."""
        ...

    async def versions(self, owner: str, block: str) -> list[CoreVersion]:
        """Return the versions of a block that are kept, newest first."""
        ...

    async def add(self, version: CoreVersion) -> bool:
        """Keep the next version of a block.

        False: there is one of its number already, or its conversation does not exist.
        """
        ...
