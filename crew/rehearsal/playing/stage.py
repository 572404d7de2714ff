"""A crew on a clock of its own, in one process after the other as each is killed."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from crew.assembly.given import Doubles
from crew.backends.memory import MemoryStore
from crew.crew import make_crew
from crew.journal.query import Answer, Query, Source
from crew.journal.records.rows import RunRow
from crew.rehearsal.doubles.mortal import MortalStore
from crew.rehearsal.doubles.world import World
from crew.rehearsal.playing.loaded import LoadedCrew
from crew.rehearsal.playing.process import CrewProcess, KilledError
from crew.rehearsal.playing.tape import Tape
from tools.virtual_clock import VirtualClock

# what an answer of the world takes where a process is killed: what was said before is stored by
# then, as it is beside a real model
KILL_PAUSE_SECONDS = 0.01


class WorldDoubles(Doubles, Protocol):
    """Doubles of one world."""

    @property
    def world(self) -> World:
        """What a crew has wanted of it."""
        ...


class Stage:
    """Runs of a crew, until the last of its processes ends."""

    def __init__(
        self,
        loaded: LoadedCrew,
        doubles: WorldDoubles,
        clock: VirtualClock,
        stores: Iterator[MortalStore],
        store: MemoryStore,
        seed: str,
        on_kill: Callable[[], None],
    ) -> None:
        """Begin nothing yet.

        Args:
            loaded: the crew, without errors.
            doubles: what stands in for the world; outlive the processes.
            clock: of all processes.
            stores: the store as each process sees it.
            store: what outlives them.
            seed: of random numbers.
            on_kill: called when a process has ended.
        """
        self.loaded, self.doubles, self.clock, self.store = loaded, doubles, clock, store
        self.random = random.Random(seed)  # the same each time
        self.tape = Tape()
        self._stores, self._on_kill = stores, on_kill

    def expect_kills(self) -> None:
        """Let each answer of the world take a moment."""
        self.doubles.world.pause = lambda: self.clock.sleep(KILL_PAUSE_SECONDS)

    async def begin(self) -> None:
        """Begin a process, with a crew that knows of no other."""
        loaded = self.loaded
        recipe = loaded.recipe.afresh(self.clock, self.random.random, self.doubles)
        crew = make_crew(recipe, loaded.sources, loaded.checked)
        store = next(self._stores)
        self.process = CrewProcess(crew, store, self.tape)
        world = self.doubles.world
        world.is_dead = lambda: store.is_dead
        world.process += 1
        await self.process.begin()

    async def _begin_again(self) -> None:
        """Let another process take over what one has left that was killed."""
        await self.process.end()
        self._on_kill()
        await self.begin()

    async def start(self, query: Query, key: str, source: Source) -> str:
        """Start a run, once for each key, and return its id."""
        while True:
            try:
                return await self.process.start(query, key, source)
            except KilledError:
                await self._begin_again()

    async def outcome(self, run_id: str) -> RunRow:
        """Wait until a run has ended or is paused."""
        while True:
            try:
                return await self.process.outcome(run_id)
            except KilledError:
                await self._begin_again()

    async def resume(self, run_id: str, answer: Answer) -> None:
        """Resume a run, unless it has gone on already; raises what `Runs.resume` does."""
        while True:
            try:
                return await self.process.resume(run_id, answer)
            except KilledError:
                await self._begin_again()

    async def pass_time(self, row: RunRow, seconds: float, said_until: str | None = None) -> bool:
        """Let time pass; return whether the run's pause is over before.

        Args:
            row: of the run.
            seconds: how much.
            said_until: until when the run hears that no one has answered; None: until it was over.
        """
        until = row.paused_until
        left = None if until is None else _seconds_to(until, self.store.now())
        if left is None or left > seconds:
            await self.clock.sleep(seconds)
            return False
        await self.clock.sleep(max(0.0, left))
        while True:
            try:
                await self.process.expire(replace(row, paused_until=said_until or until))
                return True
            except KilledError:
                await self._begin_again()

    async def end(self) -> None:
        """End the last process."""
        await self.process.end()


def _seconds_to(until: str, now: datetime) -> float:
    # it is over when the clock shows this time, to the millisecond
    return (datetime.fromisoformat(until) - now).total_seconds() + 0.001
