"""What a crew has done to the world outside of it in one rehearsal."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.model import ModelRequest

# why a rehearsal fails
MismatchKind = Literal[
    "path",
    "end",
    "answer",
    "output",
    "calls",
    "never",
    "pauses",
    "warnings",
    "asked",
    "at_most",
    "seconds",
    "events",
    "notices",
    "memory",
    "title",
    "sources",
    "judge",
    "unused",
    "no-answer",
    "no-return",
    "unexpected-pause",
    "wrong-decision",
    "network",
    "invariant",
    "kill",
    "config",
    "error",
]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One reason why a rehearsal fails."""

    kind: MismatchKind
    text: str
    # `file:line` of what says otherwise
    source: str


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A request that a model was sent."""

    agent_id: str
    provider: str
    model: str
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class Act:
    """What a tool has done."""

    tool: str
    # the same for each attempt of a call
    key: str
    arguments: Mapping[str, Any]
    effect: str


@dataclass(slots=True)
class World:
    """Of one rehearsal; outlives the processes that are killed in it."""

    mismatches: list[Mismatch] = field(default_factory=list)
    asked: list[AskedModel] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    # the process that has the crew is gone: what it has asked for is never answered
    is_dead: Callable[[], bool] = lambda: False
    # answers by what was asked, and the process that has asked: it may not have stored them
    given: dict[str, tuple[int, object]] = field(default_factory=dict)
    process: int = 0
    # what each answer takes
    pause: Callable[[], Awaitable[None]] | None = None

    def add(self, kind: MismatchKind, text: str, source: str) -> None:
        """Add what is wrong, once."""
        found = Mismatch(kind, text, source)
        if found not in self.mismatches:
            self.mismatches.append(found)

    def given_before(self, key: str) -> object | None:
        """Return what a process was given for this that was killed since; None: nothing."""
        process, found = self.given.get(key, (self.process, None))
        return found if process < self.process else None

    def give(self, key: str, answer: object) -> None:
        """Note what is given."""
        self.given[key] = self.process, answer

    async def begin(self) -> None:
        """Let an answer of the world begin, unless who wants it is gone."""
        if self.pause is not None:
            await self.pause()
        await self.end()

    async def end(self) -> None:
        """Let an answer be heard, unless who wants it is gone: it never is."""
        if self.is_dead():
            await asyncio.get_running_loop().create_future()
