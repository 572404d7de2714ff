"""The tasks of a plan."""

from dataclasses import dataclass
from typing import Literal

TaskStatus = Literal["done", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a plan."""

    id: str
    agent_id: str
    ask: str
    # ids of others
    needs: tuple[str, ...] = ()
