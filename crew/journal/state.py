"""What a run is between two steps.

Made of its stored events alone, so that any process can go on with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agents.events import AgentResponded, AgentStarted, ToolReturned, ToolStarted, Warned
from agents.messages import AgentMessage, Message, Shown, SystemMessage, ToolMessage, UserMessage
from agents.model import Usage
from crew.journal.events import (
    HandedOff,
    ParallelEnded,
    ParallelStarted,
    Paused,
    Question,
    RunDone,
    RunFailed,
    RunStarted,
    Stored,
)
from crew.journal.query import Query
from tools.calls import ToolCall, ToolResult
from tools.deadline import Limits
from tools.output import shown

Status = Literal["running", "paused", "completed", "failed", "cancelled"]
# A group's member that has failed says so with a warning of one of these codes.
MEMBER_CODES = frozenset({"member_failed", "member_timeout"})


@dataclass(slots=True)
class Branch:
    """One line of talk: the run's own, or that of a member of a group."""

    agent_id: str
    history: list[Message]
    rounds: int = 0
    # an agent_start was told and its answer is not there yet
    speaking: bool = False
    # the calls of the last answer that have no results message yet
    calls: tuple[ToolCall, ...] = ()
    native: bool = True
    results: dict[str, ToolResult] = field(default_factory=dict)
    # calls whose start was told, and whether they must not be made twice
    begun: dict[str, bool] = field(default_factory=dict)
    # the last answer, when it calls no tools and nothing has followed from it
    answer: str | None = None
    failed: str | None = None

    @property
    def open_calls(self) -> list[ToolCall]:
        """The calls without a result."""
        return [call for call in self.calls if call.id not in self.results]

    def started(self, event: AgentStarted) -> None:
        """The agent is about to speak."""
        self.speaking, self.rounds = True, event.round

    def responded(self, event: AgentResponded) -> None:
        """The agent has spoken."""
        self.history.append(
            AgentMessage(
                event.agent_id, event.agent, event.content, event.calls, event.native, event.extra
            )
        )
        self.speaking, self.calls, self.native = False, event.calls, event.native
        self.results, self.begun = {}, {}
        self.answer = None if event.calls else event.content

    def returned(self, result: ToolResult, limits: Limits) -> None:
        """A call has its result; the last one completes the message that the model is sent."""
        self.results[result.call_id] = result
        self.begun.pop(result.call_id, None)
        if not self.open_calls:
            results = [self.results[call.id] for call in self.calls]
            texts = shown(results, limits.output_chars, limits.total_output_chars)
            told = tuple(
                Shown(r.call_id, r.tool, r.status, text)
                for r, text in zip(results, texts, strict=True)
            )
            self.history.append(ToolMessage(self.agent_id, told, self.native))
            self.calls, self.results = (), {}


@dataclass(slots=True)
class GroupState:
    """A group that was entered."""

    name: str
    members: dict[str, Branch] = field(default_factory=dict)
    ended: bool = False

    @property
    def answers(self) -> dict[str, str]:
        """What the members said, without those that failed or have not ended."""
        return {
            agent_id: branch.answer
            for agent_id, branch in self.members.items()
            if branch.answer is not None
        }

    @property
    def failed(self) -> dict[str, str]:
        """The members that failed, and how."""
        return {
            agent_id: branch.failed
            for agent_id, branch in self.members.items()
            if branch.failed is not None
        }


@dataclass(slots=True)
class RunState:
    """A run, folded from its events by `apply`, the only way to change it."""

    run_id: str
    limits: Limits
    main: Branch = field(default_factory=lambda: Branch("", []))
    # the group that was entered or is to be entered next
    group: GroupState | None = None
    # the agent that started the group
    origin: str = ""
    status: Status = "running"
    query: Query = field(default_factory=lambda: Query(""))
    request_id: str = ""
    # words are told as they are written
    deltas: bool = False
    handoffs: int = 0
    spoken: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)
    # of the stretches that have ended
    active_seconds: float = 0.0
    question: Question | None = None
    # the agent whose calls the question is about, or who asked it in words
    asked: str = ""
    # nobody has answered in time, and nothing has followed from it yet
    expired: bool = False
    # the answer to a question about calls, until they have their results
    verdict: Query | None = None
    # the last answer of any agent
    last_answer: str = ""
    last_agent: str = ""

    def apply(self, event: Stored) -> None:
        """Go on by one event."""
        match event:
            case RunStarted(resumed=False):
                self._start(event)
            case RunStarted():
                self._resume(event.query, event.request_id, expired=event.expired)
            case AgentStarted():
                self._branch(event.agent_id, event.group).started(event)
            case AgentResponded():
                self._branch(event.agent_id, event.group).responded(event)
                self.usage += event.usage
                self.spoken.add(event.agent_id)
                self.last_answer, self.last_agent = event.content, event.agent_id
            case ToolStarted(call=call, once=once):
                self._branch(event.agent_id, event.group).begun[call.id] = once
                if once:
                    # a yes holds for one act
                    self.question = self.verdict = None
            case ToolReturned():
                branch = self._branch(event.agent_id, event.group)
                branch.returned(event.result, self.limits)
                if not branch.open_calls:
                    self.question, self.verdict, self.expired = None, None, False
            case Warned(code=code, group=str(), agent_id=str() as agent_id) if code in MEMBER_CODES:
                self._branch(agent_id, event.group).failed = code
            case Warned():
                pass
            case HandedOff():
                self._hand_off(event)
            case ParallelStarted(group=name, agents=agents):
                self.main.rounds += 1
                self.group = GroupState(
                    name, {agent: Branch(agent, list(self.main.history)) for agent in agents}
                )
            case ParallelEnded(joined=joined):
                self.main.history.append(UserMessage(joined))
                self.last_answer, self.last_agent = joined, self.origin
                if self.group is not None:
                    self.group.ended = True
            case Paused(agent_id=agent_id, question=question):
                self.question, self.asked = question, agent_id
            case RunDone(reason=reason, duration_seconds=seconds):
                ends: Mapping[str, Status] = {"paused": "paused", "cancelled": "cancelled"}
                self.status, self.active_seconds = ends.get(reason, "completed"), seconds
            case RunFailed(duration_seconds=seconds):
                self.status, self.active_seconds = "failed", seconds

    def has_begun(self, event: ToolStarted) -> bool:
        """Whether this start was told already, before a crash."""
        return event.call.id in self._branch(event.agent_id, event.group).begun

    def _branch(self, agent_id: str, group: str | None) -> Branch:
        return self.main if group is None or self.group is None else self.group.members[agent_id]

    def _start(self, event: RunStarted) -> None:
        self.query, self.request_id, self.deltas = event.query, event.request_id, event.query.deltas
        history: list[Message] = []
        for said in event.query.history:
            match said.role:
                case "user":
                    history.append(UserMessage(said.content))
                case "assistant":
                    history.append(AgentMessage(event.agent_id, event.agent, said.content))
                case "system":
                    history.append(SystemMessage(said.content))
        self.main = Branch(event.agent_id, [*history, UserMessage(event.query.text)])

    def _resume(self, answer: Query, request_id: str, *, expired: bool) -> None:
        """An answer about calls leaves them open.

        Any other is the next words of the conversation, if there is one.
        """
        self.status, self.request_id, self.expired, self.deltas = (
            "running",
            request_id,
            expired,
            answer.deltas,
        )
        if not expired:
            # only a person's answer lets them count anew
            self.handoffs, self.spoken, self.main.rounds = 0, set(), 0
        if self.question is not None:
            self.verdict = answer
        elif not expired:
            self.main.answer = None
            self.main.history.append(UserMessage(answer.text))

    def _hand_off(self, event: HandedOff) -> None:
        self.handoffs += 1
        self.main.answer, self.expired = None, False
        if self.group is None:
            self.origin = event.from_
        elif event.decided_by is not None:
            self.origin = self.last_agent = event.decided_by
            self.last_answer = self.group.answers[event.decided_by]
        self.group = None
        self.main.agent_id = event.to
