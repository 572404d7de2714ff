"""The shapes of answers about replays, and about files that are not served yet."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from crew.rehearsal.replaying.comparison import Verdict


class SentAnswer(TypedDict):
    """An agent with a model that is sent something else, and in which parts."""

    agent: str
    parts: list[str]


class AnsweredAnswer(TypedDict):
    """What real answers came to."""

    plays: int
    agree: int
    judged: NotRequired[str]


class ReplayedRun(TypedDict):
    """What became of the replay of a run."""

    run: str
    verdict: Verdict
    # of the first step that differs, or before which something else was sent; from 1
    step: int | None
    recorded: str | None
    now: str | None
    # `file:line`
    source_then: str | None
    source_now: str | None
    asked: NotRequired[SentAnswer]
    # of what a model is sent, as a unified diff
    difference: NotRequired[str]
    # why it is not known, not reproduced, not kept
    why: NotRequired[str]
    answered: NotRequired[AnsweredAnswer]


class ReplayAnswer(ReplayedRun):
    """The same, with the steps."""

    # in words; of the replay as far as it came
    steps_then: list[str]
    steps_now: list[str]


class ReplaysAddress(TypedDict):
    """Replays that have begun."""

    id: str
    url: str
    events_url: str


class ReplaysAnswer(TypedDict):
    """How far replays are."""

    id: str
    # running, done, failed, stopped
    status: str
    started_at: str
    replayed: int
    # of `crew replay --json`; null until the end
    summary: dict[str, Any] | None
    # why they have failed, or were stopped; "" otherwise
    why: str


# what a stream of replays holds: each, and at the end how they are
ReplaysEvent = ReplayedRun | ReplaysAnswer


class NewestReplays(TypedDict):
    """The newest replays of a server."""

    # null before any
    newest: ReplaysAnswer | None


class RehearsalsAnswer(TypedDict):
    """What became of the rehearsals."""

    passed: int
    failed: int
    skipped: int
    # by area: {checked, known}; edges: of the graph, each taken or not; unchecked: what no
    # rehearsal checks
    coverage: dict[str, Any]
    # what models are sent otherwise than it is pinned, in words
    changed: list[str]
    # ids
    failures: list[str]


class PlayedRehearsals(RehearsalsAnswer):
    """What became of them, and when."""

    played_at: str
    # that was served then
    revision: str


class NewestRehearsals(TypedDict):
    """What the rehearsals came to that a process has played last."""

    # null: it has played none
    newest: PlayedRehearsals | None


class CheckedReload(TypedDict):
    """What a reload would come to; nothing is changed."""

    # as `crew validate --json` has them
    problems: list[dict[str, Any]]
    # as `crew diff --json` has them
    diff: list[dict[str, Any]]
    # the summary of `crew test --json`; null: there are none, or the files have errors
    rehearsals: dict[str, Any] | None
    # the summary of `crew replay --json`; null: no run is kept, or the files have errors
    replays: dict[str, Any] | None


class RulingAnswer(TypedDict):
    """A rule that was looked at, in its order."""

    rule: str
    applied: bool
    because: str
    # `file:line`
    source: str | None


class MatchedAnswer(TypedDict):
    """The words that decided, with what is around them, and their place in the answer."""

    text: str
    start: int
    end: int


class WhyStepAnswer(TypedDict):
    """An event, and why it came."""

    event: int
    step: str
    decided: list[RulingAnswer]
    matched: MatchedAnswer | None
    # settings that were met
    limits: list[RulingAnswer]
    facts: dict[str, Any]
    # in USD; null where it is not known
    cost: float | None
    # seconds since the event before
    time: float


class WhyAnswer(TypedDict):
    """Why a run went where it went."""

    run_id: str
    steps: list[WhyStepAnswer]
