"""Many stored runs are played again on other files."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crew.config.errors import ConfigurationError
from crew.config.files.sources import Sources
from crew.config.problems import has_failed
from crew.errors import CrewError
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from crew.rehearsal.playing.loaded import CrewLoader, LoadedCrew
from crew.rehearsal.replaying.comparison import Compared, compare
from crew.rehearsal.replaying.recording import NotKept, Recording, read_recording
from crew.rehearsal.replaying.replayer import Replayed, replay_recording
from crew.rehearsal.replaying.trail import Trail
from crew.rehearsal.replaying.wording import find_request, word_difference


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What became of the replay of a run."""

    row: RunRow
    compared: Compared
    # what a model is sent that it was not sent then, as a unified diff
    difference: Sequence[str] = ()
    # the steps of both, in words; of the replay as far as it came
    steps_then: Sequence[str] = ()
    steps_now: Sequence[str] = ()


class Replays:
    """Plays the runs of a store on some files."""

    def __init__(
        self, store: RunStore, folder: Path, sources: Sources, *, takes_time: bool = True
    ) -> None:
        """Read nothing yet.

        Args:
            store: has the runs.
            folder: the crew's, which has its Python tools.
            sources: the files on which they are played.
            takes_time: answers take as long as they did.

        Raises:
            ConfigurationError: the files make no crew.
        """
        self.store, self.folder, self.takes_time = store, folder, takes_time
        self.loaded = _load(sources)
        # by revision; None: it makes no crew here any more
        self._revisions: dict[str, LoadedCrew | None] = {}

    async def play(self, rows: Sequence[RunRow]) -> AsyncIterator[ReplayResult]:
        """Play runs, and yield what becomes of each, in their order."""
        for row in rows:
            yield await self.replay(row)

    async def replay(self, row: RunRow) -> ReplayResult:
        """Play one run."""
        try:
            recording = await read_recording(self.store, row)
        except NotKept as error:
            return ReplayResult(row, Compared("not kept", why=str(error)))
        then = Trail.of(recording.events)
        # in a thread, in which it has an event loop of its own
        now = await self._replay(recording, self.loaded)
        found = compare(then, now.trail, now.missing)
        steps = _words(then), _words(now.trail)
        if found.verdict == "same":
            return ReplayResult(row, found, (), *steps)
        own = await self._own(row)
        if own is None:
            why = f"its revision {row.revision} makes no crew here any more"
            return ReplayResult(row, Compared("not kept", why=why))
        again = await self._replay(recording, own)
        proof = compare(then, again.trail, again.missing)
        if proof.verdict != "same":
            wrong = replace(proof, verdict="not reproduced", why=_why(proof))
            return ReplayResult(row, wrong, (), *steps)
        if found.asked is None:
            return ReplayResult(row, found, (), *steps)
        then_sent, now_sent = (find_request(one.asked, found.asked) for one in (again, now))
        difference = word_difference(then_sent, now_sent, found.asked.parts)
        return ReplayResult(row, found, difference, *steps)

    async def _replay(self, recording: Recording, loaded: LoadedCrew) -> Replayed:
        return await asyncio.to_thread(
            replay_recording, recording, loaded, takes_time=self.takes_time
        )

    async def _own(self, row: RunRow) -> LoadedCrew | None:
        """Return the files that a run was started with."""
        if row.revision not in self._revisions:
            files = await self.store.revision(row.revision) if row.revision else None
            loaded: LoadedCrew | None = None
            if files is not None:
                try:
                    loaded = _load(Sources.from_json(self.folder, files))
                except (ValueError, CrewError):
                    loaded = None
            self._revisions[row.revision] = loaded
        return self._revisions[row.revision]


def _words(trail: Trail) -> list[str]:
    return [one.text for one in trail.main if not one.is_answer]


def _why(proof: Compared) -> str:
    if proof.asked is not None and not proof.recorded:
        parts = ", ".join(proof.asked.parts)
        return f"on its own revision {proof.asked.agent_id} is sent something else: {parts}"
    if proof.why:
        return f"on its own revision it needs {proof.why}"
    return f"on its own revision step {proof.step} is {proof.now}, was {proof.recorded}"


def _load(sources: Sources) -> LoadedCrew:
    """Check files; raises ConfigurationError."""
    loaded = CrewLoader(sources, uses_environment=True).load({}, {})
    if has_failed(loaded.checked.problems):
        raise ConfigurationError(loaded.checked.problems, loaded.checked.files.texts)
    return loaded
