"""The verdict on a rehearsal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crew.rehearsal.doubles.world import Mismatch
from crew.rehearsal.files.bound import PlacedInvariant
from crew.rehearsal.judging.expectations import Expectations
from crew.rehearsal.judging.invariants import broken_invariants, broken_promises
from crew.rehearsal.judging.story import Step, Story
from crew.rehearsal.playing.player import Played

Status = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A rehearsal that was played, and what is wrong with it."""

    stories: Sequence[Story]
    mismatches: Sequence[Mismatch]

    @property
    def steps(self) -> list[Step]:
        """The steps of all its runs."""
        return [step for story in self.stories for step in story.steps]


def judge(
    played: Played, invariants: Sequence[PlacedInvariant], texts: Mapping[str, str]
) -> Judged:
    """Compare what has happened with what was to happen.

    Args:
        played: the rehearsal.
        invariants: of all rehearsals.
        texts: the crew's files by their names.
    """
    stories = [Story.of(turn.events, played.crew.agents) for turn in played.turns]
    found = list(played.doubles.world.mismatches)
    for turn, story in zip(played.turns, stories, strict=True):
        found += Expectations(played, turn, story, texts).mismatches()
        found += broken_invariants(invariants, played, turn, story, texts)
        found += broken_promises(played, turn, story)
    found += [Mismatch("unused", text, source) for text, source in played.doubles.unused()]
    return Judged(stories, list(dict.fromkeys(found)))
