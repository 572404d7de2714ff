"""The events of an agent's turn."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agents.costs.usage import NO_USAGE, Usage
from agents.digests import RequestDigests
from agents.limits import LimitName
from agents.model import RequestEnded
from agents.outputs.answers import UnknownValue
from tools.calls import CallProgressed, CallRetried, QuestionRaised, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """An agent is about to speak: one model call follows."""

    agent_id: str
    agent: str
    # the group it speaks in, if any
    group: str | None
    # counts the model calls of the main loop; in a group, those of the member
    round: int
    model: str
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class AgentDelta:
    """A piece of an answer as it is written; published, never stored."""

    agent_id: str
    agent: str
    group: str | None
    text: str
    # it is of what the model thinks before it answers (`settings.show_thinking`)
    is_thinking: bool = False
    # the first one of a request: what was written before for the same answer is not part of it
    begins: bool = False
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A request to a model that had no answer."""

    provider: str
    model: str
    # of the ModelError, or "cancelled"
    code: str
    duration_seconds: float
    # what it has cost all the same
    usage: Usage = NO_USAGE
    # until the next one began
    wait_seconds: float = 0.0

    @classmethod
    def of(cls, request: RequestEnded, wait_seconds: float = 0.0) -> "FailedRequest":
        """Return a request that has ended so."""
        seconds = round(request.duration_seconds, 6)
        told = request.provider, request.model, request.outcome
        return cls(*told, seconds, request.usage, round(wait_seconds, 3))


@dataclass(frozen=True, slots=True)
class AgentResponded:
    """An agent has answered: the whole answer, and the calls it makes."""

    agent_id: str
    agent: str
    group: str | None
    round: int
    content: str
    duration_seconds: float
    usage: Usage
    model: str
    calls: tuple[ToolCall, ...] = ()
    native: bool = True
    extra: dict[str, Any] = field(default_factory=dict)
    # that answered; "" in events of earlier versions
    provider: str = ""
    failed: tuple[FailedRequest, ...] = ()
    # digests of what the model was sent; None in events of earlier versions
    asked: RequestDigests | None = None
    # of an agent with a typed answer: that, checked; what it says to others; what the run's answer
    # is by it
    output: dict[str, Any] | None = None
    words: str | None = None
    answer: str | None = None
    # it is an earlier answer to the same request
    cached: bool = False
    # the output of its calls is the answer, if all succeed
    is_direct: bool = False
    # by which limit it could call no tools
    limit: LimitName | None = None
    # it has called tools all the same, which were not called
    is_refused: bool = False
    # how often one was sent back before
    sent_back: int = 0
    # what is wrong with it, and whether the agent is to answer again
    invalid: tuple[str, ...] = ()
    is_sent_back: bool = False
    # of it: texts that vocabularies do not have
    unknown: tuple[UnknownValue, ...] = ()
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""
    # from the beginning of its last request to its first words; None: it was not streamed
    first_token_seconds: float | None = None
    # of its time, that in which a request was to be made and none was
    waited_seconds: float = 0.0

    @property
    def typed_document(self) -> dict[str, Any]:
        """What there is of a typed answer, as clients get it."""
        unknown = [one.value for one in self.unknown]
        more: dict[str, Any] = {"output": self.output, "invalid": self.invalid}
        more |= {"output_unknown": unknown, "cached": self.cached or None}
        more["words"] = self.words or None
        return {key: value for key, value in more.items() if value not in (None, (), [])}

    @property
    def final_answer(self) -> str | None:
        """What the run's answer is by it; None where a typed answer is not there, or not right."""
        return self.content if self.words is None and not self.invalid else self.answer


@dataclass(frozen=True, slots=True)
class AgentFailed:
    """A model call has failed for good; published, never stored.

    The run's error, or a member's warning, is stored.
    """

    agent_id: str
    agent: str
    code: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool's handler is about to be called."""

    agent_id: str
    agent: str
    group: str | None
    call: ToolCall
    timeout_seconds: float
    once: bool
    # who has approved it; None: no decision was needed
    approved_by: str | None = None
    # that person has changed its arguments
    edited: bool = False
    # the id of the grant that replaced a decision; "" where there is none
    grant: str = ""
    # it changes nothing
    reads: bool = False
    # who makes it: an agent as a tool; "" where its handler does
    runs_agent: str = ""
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """The output of a tool is shown to people by a component; its result follows."""

    agent_id: str
    agent: str
    group: str | None
    component: str
    tool: str
    call_id: str
    # the output, as JSON
    data: Any
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """What is shown, as clients get it."""
        shown = {"component": self.component, "tool": self.tool, "call_id": self.call_id}
        return {**shown, "data": self.data}


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A call has its result."""

    agent_id: str
    agent: str
    group: str | None
    result: ToolResult
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class ToolAsked:
    """A tool asks a person before it goes on; neither stored nor published: a pause follows."""

    agent_id: str
    agent: str
    group: str | None
    asked: QuestionRaised
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class ToolRetried:
    """A tool is called again after a failed attempt; published, never stored."""

    agent_id: str
    agent: str
    retried: CallRetried


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A tool reports how far it is; published, never stored."""

    agent_id: str
    agent: str
    group: str | None
    progressed: CallProgressed
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """One request to a provider has ended; published, never stored."""

    agent_id: str
    agent: str
    request: RequestEnded
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something went wrong and the run goes on."""

    code: str
    message: str
    agent_id: str | None = None
    # "system" for the crew's own
    agent: str = "system"
    group: str | None = None
    retryable: bool = False
    # by which the turn of the agent has ended, if by one
    limit: LimitName | None = None
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""
    # of a member that has failed: requests that no answer followed
    failed: tuple[FailedRequest, ...] = ()
    # that answers from now on, in place of the agents' own (`budget_model`)
    model: str = ""
    # the budget that it is about, as `file:line`; None: it is about none
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """What of a block an agent is shown; no texts."""

    kind: str
    # of a file, say; "" where it has none
    name: str = ""
    # of what stands in it
    ids: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()
    # estimated
    tokens: int = 0
    # exchanges, results and messages that do not fit, or the block itself
    left_out: int = 0
    load_millis: float = 0.0


@dataclass(frozen=True, slots=True)
class ContextShown:
    """What an agent is shown in a segment of its turns, beside its prompt."""

    agent_id: str
    agent: str
    group: str | None
    window_tokens: int
    # of the request, with prompt and tools; estimated
    tokens: int
    blocks: tuple[ShownBlock, ...]
    # how long its blocks took to load, all together
    load_seconds: float = 0.0
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A helper has shortened the oldest messages of a run that became too long."""

    agent_id: str
    agent: str
    group: str | None
    # of the run's messages, those after the first up to this one
    through: int
    text: str
    tokens_before: int
    tokens_after: int
    # of the helper's requests
    usage: Usage = NO_USAGE
    # the task of a plan that it works on, if any; the call of it as a tool
    task: str = ""
    within: str = ""


AgentEvent = (
    AgentStarted
    | AgentDelta
    | AgentResponded
    | AgentFailed
    | ToolStarted
    | Shown
    | ToolReturned
    | ToolAsked
    | ToolRetried
    | ToolProgressed
    | ModelCalled
    | ContextShown
    | Compacted
    | Warned
)
EmitAgentEvent = Callable[[AgentEvent], Awaitable[None]]
