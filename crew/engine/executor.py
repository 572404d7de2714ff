"""The loop: look at what a run is, take the next step, until it has ended or waits for a person."""

from collections.abc import Sequence
from typing import assert_never

from agents.costs.refusal import BudgetRefusal
from agents.errors import ModelError
from agents.events import Warned
from agents.stages import Stages
from crew.crew import Crew
from crew.engine.context.contexts import Contexts
from crew.engine.crashes import crash
from crew.engine.emitting import Emitter, Recorder
from crew.engine.endings import RunEnds, cut_off_all
from crew.engine.groups import GroupFailed, GroupRunner, group_answers
from crew.engine.masking import MaskedEvents
from crew.engine.members import (
    Members,
    as_answer,
    invalid_text,
    over_rounds,
    standing_of,
)
from crew.engine.plans import Plans, planned_tasks
from crew.engine.questions import OpenQuestion, Overdue, Questions
from crew.engine.spending.bounds import budget_question, models_offered
from crew.engine.spending.budgets import RunBudgets
from crew.engine.spending.paying import Paying
from crew.engine.taint import Taint
from crew.engine.turns import AgentTurns
from crew.journal.branches import Branch
from crew.journal.events import (
    CancelReason,
    ErrorReason,
    HandedOff,
    Unplayable,
)
from crew.journal.planned.parts import works_in_parts
from crew.journal.records.rows import RunRow
from crew.journal.state import RunState
from crew.journal.writer import Journal
from crew.routing.decisions import (
    decide,
    decide_group,
    decide_invalid,
    decide_unanswered,
    deciding_member,
)
from crew.routing.steps import Finish, Fork, Handoff, NextStep, Pause, Reason


class CrewExecutor:
    """Runs one run of a crew: signal routing, pauses, groups, limits."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        journal: Journal,
        row: RunRow,
        *,
        stream: bool,
        claims: int = 0,
    ) -> None:
        """Continue a run.

        Args:
            crew: who speaks, and by which routing.
            state: of the run as stored; changed by its events.
            journal: stores and publishes them.
            row: of the run as stored; changed by its end or pause.
            stream: publish text as it is written.
            claims: how often the run was claimed since its newest event.
        """
        self.crew, self.state, self.journal = crew, state, journal
        self.stream, self.claims = stream, claims
        self._stages = Stages(crew.clock, state.stages)
        self._record = Recorder(journal, state)
        self._ends = RunEnds(crew, state, row, self._record, self._stages)
        self._questions = Questions(crew, state, journal.outlets.store, row, self._record)
        taint = Taint(state, crew.agents.get, self._record)
        store, lengths = journal.outlets.store, crew.recipe.answer_lengths
        self._budgets = RunBudgets(crew, state, row, store, self._record, journal.settled)
        paid = (journal.keep_call, self._budgets.settled)
        paying = Paying(state, row, crew.zone, lengths, *paid)
        emit = Emitter(self._record, self._questions, taint, paying, stream=stream)
        self._told = MaskedEvents(crew.secrets, emit)
        contexts = Contexts(crew, state, journal.outlets.store, taint)
        given = (contexts, self._told, self._stages, self._budgets)
        self._turns = AgentTurns(crew, row, state, *given, journal.outlets.tracing)

    @property
    def row(self) -> RunRow:
        """The run's row, as it is now."""
        return self._ends.row

    async def run(self) -> RunRow:
        """Go on until the run has ended or is paused; returns the row as it then is.

        Raises:
            StoreError: the store failed; the run stays as it was stored last.
        """
        limit = self.crew.limits.timeout_seconds
        used = self.state.active_seconds - self.state.retried_at_seconds
        timeout = self.crew.clock.timeout(max(0.0, limit - used))
        try:
            async with timeout:
                await self._budgets.settle_lost()
                await self._budgets.apply_answer()
                await self._questions.apply_answer()
                if self.row.held_at and self.state.status == "running":
                    self._ends.hold(self.row.held_at)
                if self.state.status == "running":
                    self._end_if_it_crashes()
                while self.state.status == "running":
                    await self._step()
        except TimeoutError:
            if not timeout.expired():
                raise
            if self.state.status == "running":
                text = f"the run took longer than settings.timeout_seconds = {limit:g}"
                self._ends.fail("timeout", "timeout", text, retryable=True)
        except ModelError as error:
            speaker = self.crew.agents.get(self.state.main.agent_id)
            self._ends.fail(
                "model", error.code, str(error), agent=speaker, retryable=error.retryable
            )
        except GroupFailed as error:
            self._ends.fail(error.reason, error.code, str(error), retryable=True)
        await self.journal.settled()
        return self._ends.row

    def cancel(self, reason: CancelReason) -> None:
        """Record that the run was cancelled; its loop has stopped already."""
        if (state := self.state).status == "running":
            for result in cut_off_all(state, self.crew, f"the run was {reason}"):
                self._record(result)
            self._ends.finish(reason, state.last_agent or state.main.agent_id, state.last_answer)

    def fail(self, reason: ErrorReason, text: str) -> None:
        """Record that the run failed outside its loop; nothing once it has ended."""
        if self.state.status == "running":
            self._ends.fail(reason, reason, text)

    def warn(self, warning: Warned | Unplayable) -> None:
        """Record what another part has noticed about the run; nothing once it has ended."""
        if self.state.status == "running":
            self._record(warning)

    def _end_if_it_crashes(self) -> None:
        """End a run that has ended process after process."""
        if (text := crash(self.state, self.crew, self.claims)) is not None:
            speaker = self.crew.agents.get((self.state.branches or [self.state.main])[0].agent_id)
            self._ends.fail("crashed", "crashed", text, agent=speaker)

    # most runs have neither groups nor plans: what works on them is made where it is needed

    @property
    def _members(self) -> Members:
        given = (self._questions, self._turns, self._budgets)
        return Members(self.crew, self.state, *given, stream=self.stream)

    @property
    def _plans(self) -> Plans:
        return Plans(self.crew, self.state, self._members, self._record, self._told)

    async def _step(self) -> None:
        """Take the next step, which follows from the state alone."""
        state, main, routing = self.state, self.state.main, self.crew.routing
        if self._budgets.held is not None:
            self._follow_budget(*self._budgets.held)
        elif state.budget.ends and not (main.calls or works_in_parts(state)):
            self._end_by_budget(main.agent_id)
        elif state.group is not None and state.group.ended:
            group = routing.groups[state.group.name]
            answers = group_answers(state.group)
            self._follow(decide_group(routing, group, answers, state.origin, state.visited))
        elif main.agent_id in routing.groups:
            await self._run_group()
        elif state.plan is not None and state.plan.is_working:
            if not await self._ask(state.plan.branches):
                await self._plans.run(state.plan)
        elif main.calls:
            is_refused = self._questions.refuse_repeated(main)
            if not is_refused and not await self._ask(state.branches):
                await self._members.act(self._turns.of(main.agent_id), main)
        elif state.expired:
            self._follow(decide_unanswered(routing, main.agent_id))
        elif main.invalid:
            self._follow_invalid(main)
        elif state.plan is not None and (then := self._plans.after(state.plan)) is not None:
            self._follow(then)
        elif main.answer is not None:
            self._follow_answer(main, main.answer)
        elif not self._is_out_of_rounds():
            with self._budgets.holding(main.agent_id):
                await self._turns.of(main.agent_id).speak(
                    main.history,
                    round=main.rounds + (not main.speaking),
                    announce=not main.speaking,
                    stream=self.stream,
                    standing=standing_of(state, main),
                )

    def _follow_budget(self, agent_id: str, refusal: BudgetRefusal) -> None:
        """Go on where a budget has no room for a call."""
        agent, state = self.crew.agents[agent_id], self.state
        self._budgets.held = None
        then = "end" if state.budget.ends else refusal.then
        if then == "pause":
            question = budget_question(
                agent_id, refusal, models_offered(agent, refusal, self._budgets.budgets)
            )
            self._ends.pause(agent, question, None)
        elif then == "model":
            self._budgets.switch(agent_id, refusal)
        elif then == "end":
            for result in cut_off_all(state, self.crew, "the budget is used up"):
                self._record(result)
            if not state.budget.ends:
                self._budgets.end(agent_id, refusal)
            self._end_by_budget(agent_id)
        else:
            source = refusal.source
            self._ends.fail("budget", "budget", refusal.text, agent=agent, source=source)

    def _end_by_budget(self, agent_id: str) -> None:
        state, source = self.state, self.state.budget.source or None
        self._ends.finish("budget", state.last_agent or agent_id, state.last_answer, source=source)

    def _follow_answer(self, main: Branch, answer: str) -> None:
        """Go where an answer leads; a plan begins."""
        if main.has_direct_answer:
            self._ends.finish("direct", main.agent_id, answer)
        elif (tasks := planned_tasks(self.crew, main)) is None:
            where = self.crew.routing, main.agent_id, as_answer(main), self.state.visited
            self._follow(decide(*where))
        elif question := self._plans.question(tasks):
            agent = self.crew.agents[main.agent_id]
            self._ends.pause(agent, question, self._questions.until(agent.id))
        elif not tasks or not self._is_out_of_rounds():
            self._plans.decide(tasks)

    def _follow_invalid(self, main: Branch) -> None:
        """Go where the files say that a wrong typed answer leads; else the run fails."""
        if (step := decide_invalid(self.crew.routing, main.agent_id)) is not None:
            self._follow(step)
            return
        agent = self.crew.agents[main.agent_id]
        self._ends.fail(
            "model", "output", invalid_text(agent.name, main), agent=agent, retryable=True
        )

    async def _run_group(self) -> None:
        state = self.state
        branches = state.branches if state.group is not None else []
        if (state.group is None and self._is_out_of_rounds()) or await self._ask(branches):
            return
        group = self.crew.routing.groups[state.main.agent_id]
        await GroupRunner(self.crew, group, state, self._members, self._told).run()

    async def _ask(self, branches: Sequence[Branch]) -> bool:
        """Pause, or fail, if a person has to decide on calls first; return whether it did."""
        match await self._questions.find_open(branches):
            case OpenQuestion(agent, question, until):
                self._ends.pause(agent, question, until)
            case Overdue(message):
                self._ends.fail("timeout", "no_approval", message)
            case None:
                return False
        return True

    def _follow(self, step: NextStep) -> None:
        state = self.state
        match step:
            case Handoff(to, reason):
                self._hand_off(to, reason)
            case Fork(group, reason):
                self._hand_off(group.name, reason)
            case Pause(agent_id, source):
                agent, until = self.crew.agents[agent_id], self._questions.until(agent_id)
                self._ends.pause(agent, None, until, source)
            case Finish(reason, agent_id, decided, source, signal):
                answer = state.last_answer
                if state.group is not None and decided:
                    answer = state.group.answers.get(agent_id, answer)
                self._ends.finish(reason, agent_id, answer, source=source, signal=signal)
            case _:
                assert_never(step)

    def _hand_off(self, to: str, reason: Reason) -> None:
        state, main = self.state, self.state.main
        decided_by, answer = None, state.last_answer
        if state.group is not None and reason.why in ("signal", "output"):
            routing = self.crew.routing
            group = routing.groups[state.group.name]
            decided_by = deciding_member(routing, group, group_answers(state.group))
            answer = state.group.answers[decided_by] if decided_by else answer
        limit = self.crew.limits.max_handoffs
        if state.handoffs >= limit:
            number = state.handoffs + 1
            way = f"{main.agent_id} → {to}"
            text = f"{way} would be handoff {number}; settings.max_handoffs = {limit}"
            self._record(Warned("max_handoffs", text))
            self._ends.finish("max_handoffs", decided_by or state.last_agent, answer)
            return
        handed_off = HandedOff(
            main.agent_id,
            to,
            reason.why,
            reason.signal,
            reason.also_found,
            reason.source,
            self.crew.name_of(decided_by or main.agent_id),
            decided_by,
            dict(reason.matched) if reason.matched is not None else None,
        )
        self._record(handed_off)

    def _is_out_of_rounds(self) -> bool:
        """Return whether no further model call is allowed; ends the run then."""
        state, main = self.state, self.state.main
        warning = over_rounds(self.crew, main)
        if warning is not None:
            self._record(warning)
            self._ends.finish("max_rounds", state.last_agent or main.agent_id, state.last_answer)
        return warning is not None
