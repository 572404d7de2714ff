"""Events of a run that changes, or does not change, what the crew remembers."""

from dataclasses import dataclass
from typing import Literal

from crew.journal.remembered.sources import ShownPassage

# quote: it does not prove that the person said so; name: the text shares no name or number with it;
# owner: the run names no user or conversation; writer: agents may not write there; value: it may
# not stand there
Refusal = Literal["quote", "name", "owner", "writer", "value", "full"]
# of a block; of items: added, said again, in the place of another one, forgotten
MemoryOp = Literal["edited", "added", "again", "replaced", "forgot"]


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """An agent has changed what the crew remembers."""

    agent_id: str
    agent: str
    group: str | None
    op: MemoryOp
    # of core memory; "" for items
    block: str = ""
    version: int = 0
    # of items; the one that was replaced comes last
    ids: tuple[str, ...] = ()
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class Tainted:
    """A run has read text of others, which may ask for what no one wants."""

    agent_id: str
    agent: str
    group: str | None
    # the tool that gave it
    source: str
    # nothing was read before
    is_first: bool
    # the task of a plan that the agent works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class DocumentsShown:
    """An agent is shown passages, or what is made of text of others."""

    agent_id: str
    agent: str
    group: str | None
    # that have a number from now on
    passages: tuple[ShownPassage, ...]
    # collections and tools that gave text of others in it, such as a name
    untrusted: tuple[str, ...] = ()
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class MemorySearched:
    """An agent has searched recall memory; for listeners alone."""

    agent_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class DocumentsSearched:
    """An agent has searched documents; for listeners alone."""

    agent_id: str
    collections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryRefused:
    """What an agent wants to change is not changed; for listeners alone."""

    agent_id: str
    reason: Refusal


RememberedEvent = MemoryChanged | Tainted | DocumentsShown
# for listeners alone
MemoryNotice = MemoryRefused | MemorySearched | DocumentsSearched
