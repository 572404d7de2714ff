"""Events of a run that changes, or does not change, what the crew remembers."""

from dataclasses import dataclass
from typing import Literal

# quote: it does not prove that the person said so; owner: the run names no user or conversation;
# writer: agents may not write there; value: it may not stand there
Refusal = Literal["quote", "owner", "writer", "value"]


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """An agent has changed what the crew remembers."""

    agent_id: str
    agent: str
    group: str | None
    op: Literal["edited"]
    # of core memory
    block: str
    version: int
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class MemoryRefused:
    """What an agent wants to change is not changed; for listeners alone."""

    agent_id: str
    reason: Refusal
