"""The loop: look at what a run is, take the next step, until it has ended or waits for a person."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import anyio

from agents.agent import Agent
from agents.errors import ModelError
from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentStarted,
    ModelCalled,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.turn import Turn
from crew.crew import RunLimits
from crew.engine.approvals import ask_first, settle_answered
from crew.engine.groups import GroupFailed, GroupRunner
from crew.journal.events import (
    DoneReason,
    ErrorReason,
    Event,
    HandedOff,
    Paused,
    Question,
    RunDone,
    RunFailed,
    Stored,
)
from crew.journal.state import Branch, RunState
from crew.journal.store import RunRow
from crew.journal.wire import now
from crew.journal.writer import Journal
from crew.routing.decisions import (
    Decision,
    Finish,
    Fork,
    Handoff,
    Pause,
    Reason,
    Routing,
    decide,
    decide_group,
    decide_unanswered,
    deciding_member,
)

# events that may wait for the store while a run goes on
MAX_BACKLOG = 50


class CrewExecutor:
    """Runs one run of a crew: signal routing, pauses, groups, limits."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        routing: Routing,
        limits: RunLimits,
        state: RunState,
        journal: Journal,
        row: RunRow,
        *,
        stream: bool,
    ) -> None:
        """`state` and `row` are the run's as stored; both go on with its events.

        `stream`: tell words as they are written.
        """
        self.agents, self.routing, self.limits, self.state, self.journal, self.row, self.stream = (
            agents,
            routing,
            limits,
            state,
            journal,
            row,
            stream,
        )
        self.began = time.monotonic()

    async def run(self) -> RunRow:
        """Go on until the run has ended or is paused; the row as it then is.

        Raises:
            StoreError: the store failed; the run stays as it was stored last.
        """
        left = max(0.0, self.limits.timeout_seconds - self.state.active_seconds)
        try:
            with anyio.move_on_after(left) as scope:
                while self.state.status == "running":
                    await self._step()
            if scope.cancelled_caught and self.state.status == "running":
                self._fail(
                    "timeout",
                    "timeout",
                    f"the run took longer than settings.timeout_seconds = {self.limits.timeout_seconds:g}",
                    retryable=True,
                )
        except ModelError as error:
            speaker = self.agents.get(self.state.main.agent_id)
            self._fail("model", error.code, str(error), agent=speaker, retryable=error.retryable)
        except GroupFailed as error:
            self._fail(error.reason, f"group_{error.reason}", str(error), retryable=True)
        await self.journal.settled()
        return self.row

    def cancel(self) -> None:
        """Record that the run was cancelled; its loop has stopped already."""
        if self.state.status == "running":
            self._done("cancelled", self.state.main.agent_id, self.state.last_answer)

    def crash(self) -> None:
        """Record that the run broke by a mistake of ours; the log tells which."""
        if self.state.status == "running":
            self._fail(
                "internal",
                "internal",
                "the runtime made a mistake; the server's log has it under this run's id",
            )

    async def tell(self, event: Event) -> None:
        """Record an event and go on by it.

        An act that must not be repeated waits until it is stored; so do words as they are written,
        which are told at once
        and must not come before what goes before them. A model call does not wait: at worst it is
        made again.
        """
        match event:
            case AgentDelta() | AgentFailed() | ModelCalled() | ToolRetried():
                self.journal.pass_on(event)
            case ToolStarted(once=False) if self.state.has_begun(event):
                # made again after a crash; what was told is not told again. One that must not be
                # made twice is made again
                # only by a person's word, and then as a new act with an intent of its own
                pass
            case ToolStarted(once=True):
                self._record(event)
                await self.journal.settled()
            case AgentStarted():
                self._record(event)
                if self.stream or self.journal.backlog > MAX_BACKLOG:
                    await self.journal.settled()
            case _:
                self._record(event)

    def _record(self, event: Stored, row: RunRow | None = None) -> None:
        self.journal.record(event, row)
        self.state.apply(event)

    async def _step(self) -> None:
        """The next step, which follows from the state alone."""
        state, main = self.state, self.state.main
        group = self.routing.groups.get(main.agent_id)
        if state.group is not None and state.group.ended:
            self._go(
                decide_group(
                    self.routing,
                    self.routing.groups[state.group.name],
                    state.group.answers,
                    state.origin,
                    state.spoken,
                )
            )
        elif group is not None:
            open_members = (
                []
                if state.group is None
                else [
                    m for m in state.group.members.values() if m.answer is None and m.failed is None
                ]
            )
            if (state.group is not None or not self._no_round_left()) and not self._asks(
                open_members
            ):
                await GroupRunner(
                    self.agents,
                    self.routing,
                    group,
                    state,
                    self.tell,
                    self.limits.max_rounds,
                    self.stream,
                ).run()
        elif main.calls:
            if not self._asks([main]) and main.open_calls:
                await Turn(self.agents[main.agent_id], None, self.tell).act(main.open_calls)
        elif state.expired:
            self._go(decide_unanswered(self.routing, main.agent_id))
        elif main.answer is not None:
            self._go(decide(self.routing, main.agent_id, main.answer, state.spoken))
        elif not self._no_round_left():
            turn = Turn(self.agents[main.agent_id], None, self.tell)
            await turn.speak(
                main.history,
                round=main.rounds + (not main.speaking),
                announce=not main.speaking,
                stream=self.stream,
            )

    def _asks(self, branches: Sequence[Branch]) -> bool:
        """Pause if a person has to decide on calls of the branches first.

        Settle what a person has decided.
        """
        state = self.state
        if state.verdict is not None:
            question, verdict = state.question, state.verdict
            for branch in branches:
                agent = self.agents[branch.agent_id]
                group = None if branch is state.main else state.main.agent_id
                for result in settle_answered(branch, question, verdict, expired=state.expired):
                    self._record(ToolReturned(agent.id, agent.name, group, result))
            return False
        asked = ask_first([(branch, self.agents[branch.agent_id]) for branch in branches])
        if asked is None:
            return False
        agent, question = asked
        if question.kind == "unknown_outcome":
            tools = ", ".join(call.tool for call in question.calls)
            text = f"{tools} had begun when the process ended; whether it acted is not known"
            self._record(Warned("unknown_outcome", text, agent.id, agent.name))
        # what nobody knows is never decided by a clock
        self._pause(agent, question, self._until(agent.id) if question.kind == "approval" else None)
        return True

    def _go(self, decision: Decision) -> None:
        match decision:
            case Handoff(to, reason):
                self._hand_off(to, reason)
            case Fork(group, reason):
                self._hand_off(group.name, reason)
            case Pause(agent_id):
                self._pause(self.agents[agent_id], None, self._until(agent_id))
            case Finish(reason, agent_id, decided):
                said = self.state.group.answers if self.state.group is not None and decided else {}
                self._done(reason, agent_id, said.get(agent_id, self.state.last_answer))
            case _:
                assert_never(decision)

    def _hand_off(self, to: str, reason: Reason) -> None:
        state, main = self.state, self.state.main
        decided_by, answer = None, state.last_answer
        if state.group is not None and reason.why == "signal":
            decided_by = deciding_member(
                self.routing, self.routing.groups[state.group.name], state.group.answers
            )
            answer = state.group.answers[decided_by] if decided_by else answer
        if state.handoffs >= self.limits.max_handoffs:
            bound = f"settings.max_handoffs = {self.limits.max_handoffs}"
            text = f"{main.agent_id} → {to} would be handoff {state.handoffs + 1}; {bound}"
            self._record(Warned("max_handoffs", text))
            self._done("max_handoffs", decided_by or state.last_agent, answer)
            return
        leader = self.agents.get(decided_by or main.agent_id)
        name = leader.name if leader else main.agent_id
        self._record(
            HandedOff(
                main.agent_id,
                to,
                reason.why,
                reason.signal,
                reason.also_found,
                reason.source,
                name,
                decided_by,
            )
        )

    def _no_round_left(self) -> bool:
        main = self.state.main
        # a round that was announced before a crash has been counted
        if main.rounds - main.speaking < self.limits.max_rounds:
            return False
        self._record(
            Warned(
                "max_rounds",
                f"{main.agent_id} would speak in round {main.rounds + 1}; settings.max_rounds = {self.limits.max_rounds}",
            )
        )
        self._done("max_rounds", self.state.last_agent or main.agent_id, self.state.last_answer)
        return True

    def _pause(self, agent: Agent, question: Question | None, until: str | None) -> None:
        self._record(Paused(agent.id, agent.name, question, until))
        self._done("paused", agent.id, self.state.last_answer, until)

    def _until(self, agent_id: str) -> str | None:
        """When a pause of an agent is over even without an answer."""
        seconds = self.routing.wait_seconds.get(agent_id)
        return None if seconds is None else now(seconds)

    def _active_seconds(self) -> float:
        return self.state.active_seconds + time.monotonic() - self.began

    def _done(
        self, reason: DoneReason, agent_id: str, answer: str, until: str | None = None
    ) -> None:
        state = self.state
        self._end(
            RunDone(
                reason,
                agent_id,
                answer,
                state.main.rounds,
                state.handoffs,
                state.usage,
                self._active_seconds(),
            ),
            agent_id,
            answer,
            until,
        )

    def _fail(
        self,
        reason: ErrorReason,
        code: str,
        message: str,
        *,
        agent: Agent | None = None,
        retryable: bool = False,
    ) -> None:
        agent_id, name = (agent.id, agent.name) if agent is not None else (None, "system")
        self._end(
            RunFailed(reason, code, message, agent_id, name, retryable, self._active_seconds()),
            agent_id,
            message,
        )

    def _end(
        self,
        event: RunDone | RunFailed,
        agent_id: str | None,
        answer: str,
        until: str | None = None,
    ) -> None:
        state = self.state
        state.apply(event)
        paused = state.status == "paused"
        self.row = replace(
            self.row,
            status=state.status,
            reason=event.reason,
            answer=answer,
            agent_id=agent_id,
            paused_agent_id=agent_id if paused else None,
            rounds=state.main.rounds,
            handoffs=state.handoffs,
            usage=state.usage,
            duration_seconds=state.active_seconds,
            ended_at=None if paused else now(),
            paused_until=until,
            events=self.journal.seq + 1,
        )
        self.journal.record(event, self.row)
