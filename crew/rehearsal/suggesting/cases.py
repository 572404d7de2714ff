"""A rehearsal that is suggested, as it is written."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crew.journal.events import RunFailed
from crew.rehearsal.judging.story import Story
from crew.rehearsal.playing.player import Played
from crew.rehearsal.playing.updates import written_step

QUERY = "Suggested by crew test"


@dataclass(slots=True)
class SuggestedCase:
    """What models, people and tools of a rehearsal do."""

    says: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    answers: list[Any] = field(default_factory=list)
    returns: dict[str, Any] = field(default_factory=dict)
    faults: list[Any] = field(default_factory=list)

    def say(self, agent: str, answer: Any, times: int = 1) -> None:
        """Let an agent say something; the same again is counted.

        Args:
            agent: or one on a task of a plan, as AGENT/TASK.
            answer: a text, or a mapping.
            times: how often.
        """
        given = self.says[agent]
        known = given[-1] if given else None
        counted = dict(known) if isinstance(known, dict) else {"say": known}
        before: int = counted.pop("times", 1) or 1
        said = answer if isinstance(answer, dict) else {"say": answer}
        if known is not None and counted == said:
            given[-1] = said | {"times": before + times}
        else:
            given.append(answer if times == 1 else said | {"times": times})

    def case(self, name: str, env: Mapping[str, str], expect: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rehearsal."""
        keys = {
            "env": dict(env),
            "says": dict(self.says),
            "returns": self.returns,
            "answers": self.answers,
            "faults": self.faults,
        }
        given = {key: value for key, value in keys.items() if value}
        return {"name": name, "query": QUERY, **given, "expect": dict(expect)}


def expected_of_play(played: Played) -> dict[str, Any]:
    """Return what has happened as what is expected: path, end, warnings."""
    story = Story.of(played.turns[0].events, played.crew.agents)
    found: dict[str, Any] = {"path": [written_step(one) for one in story.steps]}
    if story.end is not None:
        code = story.end.code if isinstance(story.end, RunFailed) else ""
        found["end"] = {"reason": story.end.reason, "code": code} if code else story.end.reason
    return found | ({"warnings": story.warnings} if story.warnings else {})
