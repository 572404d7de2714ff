"""What bounds an agent's turn: from being entered to its answer."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

ToolMode = Literal["auto", "required", "none", "tool"]
# what a call that acts once needs after a run has read text of others: nothing more, a person's
# approval; or it is not made
AfterUntrusted = Literal["allow", "approve", "refuse"]


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether an answer may call tools, or must."""

    mode: ToolMode = "auto"
    # of mode `tool`: that must be called
    tool: str = ""


AUTO = ToolChoice()
NO_TOOLS = ToolChoice("none")
# tells an agent that it has no further call
LAST_CALL = "You can call no more tools now. Answer with what you have."
# why a call of a model may use no tools
LimitName = Literal["max_rounds", "failed_sequences"]


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Of one agent."""

    # model calls of a turn; None: the run's own limit alone
    max_rounds: int | None = None
    # the last of them may use no tools, so that it answers in words
    answers_at_limit: bool = False
    # of a turn's first call
    tool_choice: ToolChoice = AUTO
    # answers in a row all calls of which have failed: the next may use no tools
    max_failed_sequences: int | None = None
    # the same call, in a turn
    max_same_calls: int | None = None

    def is_over(self, rounds: int) -> bool:
        """Return whether a turn may make no further model call; `rounds`: those it has made."""
        return self.max_rounds is not None and rounds >= self.max_rounds

    def choose(self, rounds: int, failed: int) -> tuple[ToolChoice, LimitName | None]:
        """Return what the next model call may do with tools, and which limit says so.

        Args:
            rounds: model calls that the turn has made.
            failed: its last answers in a row all calls of which have failed.
        """
        if self.answers_at_limit and self.is_over(rounds + 1):
            return NO_TOOLS, "max_rounds"
        if self.max_failed_sequences is not None and failed >= self.max_failed_sequences:
            return NO_TOOLS, "failed_sequences"
        if rounds == 0 or self.tool_choice is NO_TOOLS:
            return self.tool_choice, None
        return AUTO, None


NO_LIMITS = TurnLimits()


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a turn stands before a model call."""

    # the tools that the agent has found, where it is not shown all
    found: Sequence[str] = ()
    # how often its typed answer was sent back already
    sent_back: int = 0
    # model calls that the turn has made
    rounds: int = 0
    # the last answers in a row all calls of which have failed
    failed: int = 0
    # of an agent that plans: its tasks so far, by id, and whether each is done
    known_tasks: Mapping[str, bool] = field(default_factory=dict)
    # ids of calls that earlier tasks and groups have made
    known_calls: Container[str] = ()


BEGINNING = Standing()
