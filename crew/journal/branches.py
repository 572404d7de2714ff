"""The conversations of a run, as they stand between two steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.events import AgentResponded, AgentStarted, Compacted, ToolReturned, ToolStarted
from agents.marks import quote_member_marks
from agents.messages import (
    AgentMessage,
    Attachment,
    CompactedMessage,
    Message,
    RepairMessage,
    ToolMessage,
    ToolOutput,
    UserMessage,
    is_wrong,
)
from agents.outputs.typed import repair_text
from crew.journal.decided import ApprovedCall, decision_on, is_made
from crew.journal.query import Answer
from crew.journal.questions import Approval, Inquiry, PendingCall, Question, UnknownOutcome
from tools.calls import ToolCall, ToolResult
from tools.config.agent import ASK
from tools.forms import FormReply
from tools.handlers.output import truncate_outputs
from tools.limits.deadline import Limits
from tools.search import FOUND, TOOL_SEARCH, newest_found


@dataclass(slots=True)
class Branch:
    """One conversation: the run's own, or that of a member of a group."""

    agent_id: str
    history: list[Message]
    rounds: int = 0
    # agent_start was published and its answer is not there yet; and its number
    speaking: bool = False
    started_seq: int = 0
    # the calls of the last answer that have no results message yet
    calls: tuple[ToolCall, ...] = ()
    native: bool = True
    results: dict[str, ToolResult] = field(default_factory=dict)
    # calls whose start was published, and whether they must not be made twice
    started_calls: dict[str, bool] = field(default_factory=dict)
    # calls whose arguments a person has changed
    edited_calls: set[str] = field(default_factory=set)
    # calls that were approved when they last started, with the person and the grant
    approved_by: dict[str, tuple[str, str]] = field(default_factory=dict)
    # calls that a person wants made: until the start of one that must not be made twice, else
    # until its result
    decided: dict[str, ApprovedCall] = field(default_factory=dict)
    # the last answer, when it calls no tools and nothing has followed from it; and the same as the
    # agent's typed one, if it has that
    answer: str | None = None
    output: dict[str, Any] | None = None
    # what a typed one says to others
    words: str | None = None
    # the output of the last answer's calls is the agent's answer, if all succeed; and it is
    is_direct: bool = False
    has_direct_answer: bool = False
    # of the agent's turn: model calls; the last answers in a row all calls of which have failed;
    # the calls of tools
    turn_rounds: int = 0
    failed_in_row: int = 0
    turn_calls: tuple[ToolCall, ...] = ()
    # how often a wrong typed answer was sent back, since the last right one
    sent_back: int = 0
    # what is wrong with the last typed answer, when it is not sent back
    invalid: tuple[str, ...] = ()
    failed: str | None = None
    # the task of a plan that it is, if any; the call of its agent as a tool: that of which agent,
    # and its id
    task: str = ""
    within: str = ""

    @property
    def open_calls(self) -> list[ToolCall]:
        """The calls without a result."""
        return [call for call in self.calls if call.id not in self.results]

    def key_of(self, call_id: str) -> str:
        """Return what names one of its calls in the whole run."""
        return f"{self.agent_id}/{call_id}"

    def inner_of(self, event: ToolStarted) -> "Branch":
        """Return the branch of an agent as a tool, at the start of its call."""
        ask, key = event.call.arguments[ASK], self.key_of(event.call.id)
        return Branch(event.runs_agent, [UserMessage(ask)], within=key)

    def start(self, event: AgentStarted, seq: int) -> None:
        """Begin an answer of the agent; `seq`: the event's number."""
        self.speaking, self.rounds, self.started_seq = True, event.round, seq

    def compact(self, event: Compacted) -> None:
        """Replace its oldest messages after the first by a shorter text."""
        gone, rest = self.history[1 : event.through], self.history[event.through :]
        ids = [call.id for one in gone if isinstance(one, AgentMessage) for call in one.calls]
        count = event.through - 1
        for one in gone:
            if isinstance(one, CompactedMessage):
                ids += one.call_ids
                count += one.count - 1
        compacted = CompactedMessage(event.text, count, tuple(ids))
        self.history[1:] = [compacted, *rest]

    def respond(self, event: AgentResponded) -> None:
        """Add the agent's answer."""
        message = AgentMessage(
            event.agent_id,
            event.agent,
            event.content,
            event.calls,
            event.native,
            event.extra,
            event.words,
            bool(event.invalid),
        )
        if event.output is not None:
            self.drop_wrong()
        self.turn_rounds += 1
        # without its calls nothing is left of it
        is_nothing = event.is_refused and not event.content.strip()
        if not is_nothing:
            self.history.append(message)
        self.speaking, self.calls, self.native = False, event.calls, event.native
        self.results, self.started_calls, self.edited_calls = {}, {}, set()
        self.approved_by, self.decided = {}, {}
        self.turn_calls += event.calls
        self.answer, self.output, self.invalid = None, event.output, ()
        self.is_direct, self.has_direct_answer = event.is_direct, False
        if event.is_sent_back:
            self.sent_back += 1
            self.history.append(RepairMessage(event.agent_id, repair_text(event.invalid)))
        elif event.invalid:
            self.invalid = event.invalid
        elif not event.calls and not is_nothing:
            # a plan is no answer
            self.answer, self.words = event.final_answer or "", event.words

    def begin_turn(self) -> None:
        """Begin a turn of the agent: what bounds one counts anew."""
        self.turn_rounds, self.failed_in_row = 0, 0
        self.turn_calls = ()

    def take_words(self, text: str, attached: tuple[Attachment, ...] = ()) -> None:
        """Begin another turn by a person's words; a decision on calls goes on with the turn."""
        self.answer, self.output = None, None
        self.begin_turn()
        self.history.append(UserMessage(text, attached))

    def begin_anew(self) -> None:
        """Let a typed answer that was wrong to the end be given anew."""
        if self.invalid:
            self.drop_wrong()

    def retry(self) -> None:
        """Let a member that has failed go on where it was."""
        if self.failed is not None and not self.speaking:
            self.rounds = 0
            self.begin_turn()
        self.failed = None
        self.begin_anew()

    def drop_wrong(self) -> None:
        """Forget the wrong typed answers, and what was said of them."""
        if self.sent_back or self.invalid:
            self.history[:] = [one for one in self.history if not is_wrong(one)]
        self.sent_back, self.invalid = 0, ()

    def begin_call(self, event: ToolStarted) -> None:
        """Begin a call, maybe with arguments that a person has changed."""
        call = event.call
        self.started_calls[call.id] = event.once
        if event.once:
            # an approval holds for one act
            self.decided.pop(call.id, None)
        if event.approved_by is not None:
            self.approved_by[call.id] = (event.approved_by, event.grant)
        if event.edited:
            self.edited_calls.add(call.id)
            self.calls = tuple(call if one.id == call.id else one for one in self.calls)

    def decide(self, question: Question, answer: Answer) -> None:
        """Apply a person's decisions on calls: some are to be made."""
        for asked in question.involved:
            found = [call for call in self.open_calls if call.id == asked.call.id]
            if asked.agent_id != self.agent_id or not found:
                continue
            if is_made(asked, question, answer):
                self.decided[asked.call.id] = self._as_decided(found[0], asked, question, answer)
                # a person has decided on the unknown outcome
                self.started_calls.pop(asked.call.id, None)

    def undo_starts(self, question: Question) -> None:
        """Forget that the calls of a question have started."""
        for one in question.involved:
            if one.agent_id == self.agent_id:
                self.started_calls.pop(one.call.id, None)

    def forget_decisions(self, question: Question | None) -> None:
        """Drop a person's decisions; the calls of a question on unknown outcomes stay such."""
        if isinstance(question, UnknownOutcome):
            self._doubt(question)
        self.decided.clear()

    def _doubt(self, question: Question) -> None:
        still_open = {call.id for call in self.open_calls}
        for asked in question.involved:
            if asked.agent_id == self.agent_id and asked.call.id in still_open:
                self.started_calls[asked.call.id] = True

    def _as_decided(
        self, call: ToolCall, asked: PendingCall, question: Question, answer: Answer
    ) -> ApprovedCall:
        if not isinstance(question, Approval):
            return self.again(call)
        given = decision_on(asked, question, answer).arguments
        if given is None:
            return ApprovedCall(call, answer.by, call.id in self.edited_calls)
        return ApprovedCall(replace(call, arguments=given), answer.by, edited=True)

    def again(self, call: ToolCall, reply: FormReply | None = None) -> ApprovedCall:
        """Return a call that was made before, as it was approved then."""
        by, grant = self.approved_by.get(call.id, (None, ""))
        return ApprovedCall(call, by, call.id in self.edited_calls, grant, reply)

    def fill_in(self, filled: Inquiry) -> None:
        """Let the calls of a question that is answered be made with that."""
        for one in filled.waiting:
            for call in self.open_calls:
                if (self.agent_id, call.id) == (one.asked.agent_id, one.asked.call.id):
                    self.decided[call.id] = self.again(call, FormReply(one.filled, one.state))

    def add_result(self, result: ToolResult, limits: Limits) -> None:
        """Add a call's result; the last one completes the message that the model is sent."""
        self.results[result.call_id] = result
        self.started_calls.pop(result.call_id, None)
        self.decided.pop(result.call_id, None)
        if self.open_calls:
            return
        results = [self.results[call.id] for call in self.calls]
        has_failed = all(one.status != "success" for one in results)
        self.failed_in_row = self.failed_in_row + 1 if has_failed else 0
        texts = truncate_outputs(results, limits.output_chars, limits.total_output_chars)
        pairs = zip(results, texts, strict=True)
        outputs = tuple(ToolOutput(r.call_id, r.tool, r.status, text) for r, text in pairs)
        self.history.append(ToolMessage(self.agent_id, outputs, self.native))
        self.calls, self.results = (), {}
        if self.is_direct and all(one.status == "success" for one in results):
            # what was said as such is for all, typed answer or not
            self.answer, self.words, self.has_direct_answer = _joined(results), None, True


def _joined(results: Sequence[ToolResult]) -> str:
    return "\n\n".join(one.output for one in results)


def note_found(event: ToolReturned, found: dict[tuple[str, str], tuple[str, ...]]) -> None:
    """Note the tools that an agent has found, which it is shown from its next answer on.

    Args:
        event: a call that has its result.
        found: by agent and task, the newest that were found.
    """
    if event.result.tool == TOOL_SEARCH:
        key, names = (event.agent_id, event.task or event.within), event.result.facts.get(FOUND, "")
        found[key] = newest_found(found.get(key, ()), str(names).split())


def said_by(branch: Branch) -> str | None:
    """Return what the answer of a branch says to others; None where it says nothing to them."""
    return branch.answer if branch.words is None else branch.words or None


def join_answers(answers: Mapping[str, str]) -> str:
    """Join answers as one message, each headed by who gave it."""
    parts = "".join(
        f"[{name}]\n{quote_member_marks(content)}\n\n" for name, content in answers.items()
    )
    return f"\n[📊 PARALLEL EXECUTION RESULTS]\n\n{parts}[END PARALLEL RESULTS]\n"


@dataclass(slots=True)
class GroupState:
    """A group that was entered."""

    name: str
    members: dict[str, Branch] = field(default_factory=dict)
    ended: bool = False

    @property
    def answers(self) -> dict[str, str]:
        """The members' answers, without those that failed or have not ended."""
        members = self.members.items()
        return {agent_id: one.answer for agent_id, one in members if one.answer is not None}

    @property
    def words(self) -> dict[str, str]:
        """What the members' answers say to others; without those that say nothing to them."""
        said = {agent_id: said_by(self.members[agent_id]) for agent_id in self.answers}
        return {agent_id: words for agent_id, words in said.items() if words is not None}

    @property
    def has_failed(self) -> bool:
        """Whether no member has answered, and none can any more."""
        return len(self.failed) == len(self.members)

    @property
    def failed(self) -> dict[str, str]:
        """The members that failed, with the code of their warning."""
        members = self.members.items()
        return {agent_id: one.failed for agent_id, one in members if one.failed is not None}

    def retry(self, main: Branch) -> None:
        """Let each member of a failed group go on where it was; `main`: of the run."""
        if self.ended:
            # the joined answers, of which there were none
            main.history.pop()
            self.ended = False
        for branch in self.members.values():
            branch.retry()
