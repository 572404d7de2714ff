"""A run as steps, calls and pauses; pure."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from agents.agent import Agent
from agents.events import AgentResponded, ToolReturned, ToolStarted, Warned
from crew.journal.events import (
    HandedOff,
    ParallelEnded,
    Paused,
    RunDone,
    RunFailed,
    RunResumed,
    RunStarted,
)
from crew.journal.questions import Question
from crew.rehearsal.playing.tape import Noted
from tools.calls import ToolResult

StepKind = Literal["agent", "pause", "end"]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run's path."""

    # an agent, a group, `pause` or `end`
    name: str
    # a signal, or why; of an end its reason
    why: str = ""
    kind: StepKind = "agent"
    # what in the files leads there, as `file:line`
    source: str | None = None
    # other words for `why`: of a signal, that it is one
    also: str = ""


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of a tool."""

    agent_id: str
    tool: str
    # as the model gave them, and as the tool takes them
    arguments: Mapping[str, Any]
    checked: Mapping[str, Any]
    # None: it was never made, nor refused
    result: ToolResult | None
    is_started: bool
    approved_by: str | None
    # its place among the starts and results of the run
    place: int

    @property
    def status(self) -> str:
        """How it has ended."""
        return self.result.status if self.result is not None else "not ended"


@dataclass(frozen=True, slots=True)
class SeenPause:
    """A pause."""

    agent_id: str
    question: Question | None
    until: str | None
    seconds: float

    @property
    def kind(self) -> str:
        """What a person is to decide."""
        return "words" if self.question is None else self.question.kind

    @property
    def tools(self) -> list[str]:
        """The tools of the calls that it asks about."""
        return [one.call.tool for one in self.question.calls] if self.question else []


@dataclass(slots=True)
class Story:
    """What a run has done."""

    steps: list[Step] = field(default_factory=list)
    calls: list[MadeCall] = field(default_factory=list)
    pauses: list[SeenPause] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # by agent: what it has said, and its newest typed answer
    said: list[tuple[str, str]] = field(default_factory=list)
    outputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # agents that have answered, in groups too
    speakers: set[str] = field(default_factory=set)
    signals: list[str] = field(default_factory=list)
    end: RunDone | RunFailed | None = None
    # of the whole run: the run's own counters begin anew when a person has answered
    handoffs: int = 0
    rounds: int = 0
    # pauses that are over, with what has ended them
    resumed: list[tuple[SeenPause, RunResumed]] = field(default_factory=list)
    # groups that have ended without an answer
    unanswered: list[str] = field(default_factory=list)
    warned: list[Warned] = field(default_factory=list)

    @classmethod
    def of(cls, events: Sequence[Noted], agents: Mapping[str, Agent]) -> "Story":
        """Read the events of a run, and of its agents what their tools take."""
        story = cls()
        started: dict[tuple[str, str], tuple[int, ToolStarted]] = {}
        for place, noted in enumerate(events):
            match noted.event:
                case ToolStarted() as event:
                    started[event.agent_id, event.call.id] = place, event
                case ToolReturned() as event:
                    _, start = started.pop((event.agent_id, event.result.call_id), (0, None))
                    story.calls.append(_made(agents, event.agent_id, event.result, start, place))
                case event:
                    story._add(event, noted.seconds)
        # their run ended before
        for place, start in started.values():
            story.calls.append(_made(agents, start.agent_id, None, start, place))
        return story

    def _add(self, event: Any, seconds: float) -> None:
        match event:
            case RunStarted():
                self.steps.append(Step(event.agent_id))
            case HandedOff():
                also = event.why if event.signal else ""
                why = event.signal or event.why
                self.steps.append(Step(event.to, why, "agent", event.source, also))
                self.signals += [event.signal] if event.signal else []
                self.handoffs += 1
            case Paused():
                until = event.until
                self.pauses.append(SeenPause(event.agent_id, event.question, until, seconds))
                kind = self.pauses[-1].kind
                self.steps.append(Step("pause", kind, "pause", event.source))
            case RunDone(reason="paused"):
                pass
            case RunDone():
                self.end = event
                self.steps.append(Step("end", event.reason, "end", event.source))
            case RunFailed():
                self.end = event
                self.steps.append(Step("end", event.reason, "end", None, event.code))
            case AgentResponded():
                self.speakers.add(event.agent_id)
                self.rounds += event.group is None and not event.task and not event.within
                self.said.append((event.agent_id, event.content))
                if event.output is not None:
                    self.outputs[event.agent_id] = event.output
            case Warned():
                self.warnings.append(event.code)
                self.warned.append(event)
            case ParallelEnded(group=group, agents=()):
                self.unanswered.append(group)
            case RunResumed():
                self.resumed.append((self.pauses[-1], event))

    @property
    def made(self) -> Iterator[MadeCall]:
        """The calls that were made."""
        return (one for one in self.calls if one.is_started)


def _made(
    agents: Mapping[str, Agent],
    agent_id: str,
    result: ToolResult | None,
    start: ToolStarted | None,
    place: int,
) -> MadeCall:
    if start is None:
        # refused before it was made; what it was called with stands in the agent's answer
        assert result is not None, "a call has a start or a result"
        return MadeCall(agent_id, result.tool, {}, {}, result, False, None, place)
    call = start.call
    agent = agents.get(agent_id)
    tool = agent.tools.get(call.tool) if agent is not None else None
    checked = call.arguments
    if tool is not None:
        # what it cannot take is a result of its own
        with suppress(Exception):
            checked = to_jsonable_python(tool.check(dict(call.arguments)), fallback=str)
    by = start.approved_by
    return MadeCall(agent_id, call.tool, call.arguments, checked, result, True, by, place)
