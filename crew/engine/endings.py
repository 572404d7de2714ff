"""How a segment of a run ends, and the run's row then."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agents.agent import Agent
from agents.context.plan import SummaryBlock
from agents.events import ToolReturned
from agents.messages import AgentMessage, Message, encode_messages, is_wrong
from agents.stages import Stages
from crew.crew import Crew
from crew.engine.emitting import Recorder
from crew.journal.branches import Branch
from crew.journal.events import (
    SYSTEM,
    DoneReason,
    ErrorReason,
    Paused,
    RunDone,
    RunFailed,
    usage_with,
)
from crew.journal.planned.parts import leading_branches
from crew.journal.query import text_error
from crew.journal.questions import PendingCall, Question, RestoredQuestion, question_text
from crew.journal.records.conversations import Exchange, owner_of
from crew.journal.records.exchanges import ChoreRules, ExchangeEnd
from crew.journal.records.remembered.core import CoreFill
from crew.journal.records.rows import RunRow
from crew.journal.said import Said
from crew.journal.state import RunState
from tools.calls import ToolCall, ToolResult
from tools.clock import rfc3339

# the pseudo-call that a person decides on
RESTORED = "restored"


def ended_row(
    row: RunRow,
    state: RunState,
    reason: str,
    agent_id: str | None,
    answer: str,
    until: str | None,
    now: str,
    recorded_bytes: int,
) -> RunRow:
    """Return the row of a run that has ended or is paused.

    Args:
        row: as it was.
        state: of the run, with the segment's last event in it.
        reason: of that event.
        agent_id: who spoke last, or asks.
        answer: the run's, or why it failed.
        until: when a pause is over even without an answer; RFC 3339, as is `now`.
        now: the time.
        recorded_bytes: of the segment's events.
    """
    is_paused = state.status == "paused"
    return replace(
        row,
        status=state.status,
        reason=reason,
        answer=answer,
        agent_id=agent_id,
        paused_agent_id=agent_id if is_paused else None,
        rounds=state.main.rounds,
        handoffs=state.handoffs,
        usage=state.usage,
        duration_seconds=state.active_seconds,
        ended_at=None if is_paused else now,
        paused_until=until,
        asks=question_text(state.question) if is_paused and state.question is not None else "",
        pause_seq=state.pause_seq if is_paused else None,
        last_seq=state.seq,
        stored_bytes=row.stored_bytes + recorded_bytes,
        held_at="",
        tools=tuple(sorted(state.tools)),
    )


class RunEnds:
    """Ends the segments of one run: it pauses, is done, or fails."""

    def __init__(
        self, crew: Crew, state: RunState, row: RunRow, record: Recorder, stages: Stages
    ) -> None:
        """Of a run.

        Args:
            crew: of the run.
            state: of the run.
            row: of the run as stored; changed by its end or pause.
            record: knows the requests that no answer has followed.
            stages: what its time went to.
        """
        self.crew, self.state, self.row = crew, state, row
        self.record, self.stages = record, stages

    def pause(
        self,
        agent: Agent,
        question: Question | None,
        until: str | None,
        source: str | None = None,
    ) -> None:
        """Wait for a person.

        Args:
            agent: that waits.
            question: about calls; None: its words are the question.
            until: when the pause is over even without an answer, as RFC 3339.
            source: what in the files leads there.
        """
        self.record(Paused(agent.id, agent.name, question, until, source))
        self.finish("paused", agent.id, self.state.last_answer, until)

    def hold(self, taken_at: str) -> None:
        """Wait for a person before the run goes on in a database that was restored.

        Args:
            taken_at: when the database was as it is again, RFC 3339.
        """
        agents = self.crew.agents
        at_work = (agents[one.agent_id] for one in self.state.branches if one.agent_id in agents)
        # a group may be next, none of which has begun
        agent = next(at_work, None) or next(iter(agents.values()))
        call = ToolCall(RESTORED, RESTORED, {"taken_at": taken_at})
        asked = PendingCall(agent.id, call, source=RESTORED, may=RestoredQuestion.usual)
        self.pause(agent, RestoredQuestion((asked,), taken_at), None)

    def finish(
        self,
        reason: DoneReason,
        agent_id: str,
        answer: str,
        until: str | None = None,
        source: str | None = None,
        signal: str = "",
    ) -> None:
        """Be done, or paused until a time; see `pause`."""
        state, failed = self.state, self.record.take_failed()
        done = RunDone(
            reason,
            agent_id,
            answer,
            state.main.rounds,
            state.handoffs,
            usage_with(state.usage, failed),
            self.record.journal.active_seconds,
            self.stages.seconds,
            state.conversation,
            source,
            tuple(state.shows),
            state.sources,
            failed,
            signal,
        )
        self._end(done, agent_id, answer, until)

    def fail(
        self,
        reason: ErrorReason,
        code: str,
        message: str,
        *,
        agent: Agent | None = None,
        retryable: bool = False,
        source: str | None = None,
    ) -> None:
        """Fail, for a reason; `agent`: at which; `source`: the budget without room."""
        agent_id, name = (agent.id, agent.name) if agent is not None else (None, SYSTEM)
        seconds, message = self.record.journal.active_seconds, self.crew.secrets.mask(message)
        made = self.record.take_failed()
        used = usage_with(self.state.usage, made)
        what = (reason, code, message, agent_id, name, retryable, seconds, made, source, used)
        self._end(RunFailed(*what), agent_id, message)

    def _end(
        self,
        event: RunDone | RunFailed,
        agent_id: str | None,
        answer: str,
        until: str | None = None,
    ) -> None:
        journal = self.record.journal
        self.state.apply(event)
        end = (event.reason, agent_id, answer, until, rfc3339(journal.now()))
        self.row = ended_row(self.row, self.state, *end, journal.recorded_bytes)
        journal.record(event, self.row, ended_exchange(self.row, self.state, self.crew))


def cut_off(
    branches: Iterable[Branch], state: RunState, crew: Crew, group: str | None, why: str
) -> Iterator[ToolReturned]:
    """Yield the results of calls that had started, and are cut off.

    Others are no longer awaited. What an agent as a tool had started comes before the result of
    its own call, which ends it.

    Args:
        branches: that do not go on; without agents as tools.
        state: of the run.
        crew: of the run.
        group: that they are members of.
        why: what has cut them off.
    """
    text = f"cut off: {why}; whether it has acted is not known"
    for branch in branches:
        for call in [one for one in branch.open_calls if one.id in branch.started_calls]:
            if (inner := state.inner.get(branch.key_of(call.id))) is not None:
                yield from cut_off([inner], state, crew, group, why)
            result, name = ToolResult.of(call, "error", text, 1), crew.name_of(branch.agent_id)
            yield ToolReturned(branch.agent_id, name, group, result, branch.task, branch.within)


def cut_off_all(state: RunState, crew: Crew, why: str) -> Iterator[ToolReturned]:
    """Yield the results of all calls of a run that had started, and are cut off."""
    group = state.group.name if state.group is not None and not state.group.ended else None
    if state.plan is not None and state.plan.is_working:
        group = state.plan.agent_id
    return cut_off(leading_branches(state), state, crew, group, why)


def ended_exchange(row: RunRow, state: RunState, crew: Crew) -> ExchangeEnd | None:
    """Return what a run's end adds to its conversation; None for a pause, or a run in none."""
    if not row.conversation_id or row.ended_at is None:
        return None
    # why a run failed is no answer
    answer = row.answer or "" if row.status != "failed" else ""
    agent_id = row.agent_id or ""
    transcript = ""
    if _keeps_transcripts(crew) and answer:
        transcript = encode_messages(_said(state.main.history))
    exchange = Exchange(
        row.exchange,
        row.run_id,
        row.query,
        answer,
        agent_id,
        crew.name_of(agent_id),
        row.status,
        row.started_at,
        row.ended_at,
        _parts(state.said, answer),
        transcript=transcript,
        taint=state.taint,
        attached=state.query.attachments,
    )
    owner = owner_of(row.user_id)
    fills = tuple(_fills(state, crew))
    rules = chore_rules(crew, row.user_id)
    return ExchangeEnd(owner, row.conversation_id, exchange, bool(answer), rules, fills)


def _fills(state: RunState, crew: Crew) -> Iterator[CoreFill]:
    """Yield what typed answers of the run add to blocks of core memory."""
    for rule in crew.memory.core.values():
        if rule.fill is None or rule.fill.agent_id not in state.outputs:
            continue
        given = state.outputs[rule.fill.agent_id].get(rule.fill.field)
        texts = given if isinstance(given, list) else [given]
        words = (one for one in texts if isinstance(one, str) and text_error(one) is None)
        lines = tuple(filter(None, (" ".join(one.split()) for one in words)))
        if lines:
            fill, agent_id = rule.fill, rule.fill.agent_id
            yield CoreFill(rule.name, lines, fill.most, rule.max_tokens, agent_id, state.taint)


def _parts(said: Sequence[Said], answer: str) -> tuple[Said, ...]:
    """Return what was said where it paused.

    A question without an answer is the run's answer.
    """
    is_open = bool(said) and bool(said[-1].agent_id) and said[-1].text == answer
    return tuple(said[:-1] if is_open else said)


def _keeps_transcripts(crew: Crew) -> bool:
    """Return whether an agent is shown all of what was said in earlier exchanges."""
    return any(agent.context.history.transcripts for agent in crew.agents.values())


def summary_block(crew: Crew) -> SummaryBlock | None:
    """Return how conversations are summarised; None: not at all."""
    blocks = (agent.context.summary for agent in crew.agents.values())
    return next((block for block in blocks if block is not None), None)


def chore_rules(crew: Crew, user_id: str) -> ChoreRules:
    """Return what the end of a run of a user's conversation makes necessary."""
    conversations, block = crew.config.conversations, summary_block(crew)
    title_after = unsummarised = 0
    if conversations is not None and "title" in crew.helpers:
        title_after = conversations.title_after
    if block is not None and "summary" in crew.helpers:
        unsummarised = block.every + block.keep
    recall, learn_seconds = crew.memory.recall, None
    if recall is not None and recall.learn is not None and "learn" in crew.helpers:
        # nothing is learned of a user that is not named
        is_owned = bool(user_id) or recall.scope == "conversation"
        learn_seconds = recall.learn.idle_seconds if is_owned else None
    return ChoreRules(title_after, unsummarised, learn_seconds)


def _said(history: Sequence[Message]) -> list[Message]:
    """Return what was said in a run after its query, without calls that have no results."""
    said = [one for one in history[1:] if not is_wrong(one)]
    if said and isinstance(said[-1], AgentMessage) and said[-1].calls:
        said[-1] = replace(said[-1], calls=())
    return said
