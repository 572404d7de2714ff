"""The turns of one run's agents."""

from dataclasses import replace

from agents.agent import Agent
from agents.stages import Stages
from agents.turns.turn import Turn
from crew.crew import Crew
from crew.engine.context.contexts import Contexts
from crew.engine.masking import MaskedEvents
from crew.engine.memory.documents import RunDocuments
from crew.engine.memory.run_memory import RunMemory
from crew.engine.memory.speaker import Speaker
from crew.engine.spending.budgets import RunBudgets
from crew.journal.outlets import Tracing
from crew.journal.records.rows import RunRow
from crew.journal.state import RunState
from tools.context import CallOrigin
from tools.tracing import TraceContext


class AgentTurns:
    """Makes the turns of one run's agents.

    The loop has it, and it does not have the loop: else what a run has in memory would not be freed
    at its end, but by a collection of the whole process.
    """

    def __init__(
        self,
        crew: Crew,
        row: RunRow,
        state: RunState,
        contexts: Contexts,
        emit: MaskedEvents,
        stages: Stages,
        budgets: RunBudgets,
        tracing: Tracing | None,
    ) -> None:
        """Of a run.

        Args:
            crew: the run's.
            row: of the run: who makes its calls.
            state: of the run.
            contexts: what its agents are shown.
            emit: gets the events of turns.
            stages: of the run; gets the time of turns.
            budgets: bound what their models cost.
            tracing: names the trace of what they call; None: there is none.
        """
        self.crew, self.row, self.state = crew, row, state
        self.contexts, self.emit, self.stages = contexts, emit, stages
        self.budgets, self.tracing = budgets, tracing

    def of(self, agent_id: str, group: str | None = None, task: str = "", within: str = "") -> Turn:
        """Return a turn of an agent: in a group, for a task of a plan, as a tool, or by itself."""
        state, row, part = self.state, self.row, within or task
        agent, user = self.crew.agents[agent_id], row.user_id or row.owner
        if state.query.model or state.budget.model or state.plan is not None:
            agent = self._speaker(agent)
        emit = self.emit.of_part(task, within) if part else self.emit
        memory = documents = None
        if self.crew.memory or agent.documents:
            speaker = Speaker(self.crew, state, self.contexts.store, emit, agent, group)
            memory = RunMemory(speaker) if self.crew.memory else None
            documents = RunDocuments(speaker) if agent.documents else None
        caller = CallOrigin(
            *(row.run_id, agent_id, user, group, row.owner, row.user_id, row.conversation_id),
            *(memory, documents, self._trace()),
        )
        return Turn(
            agent,
            group,
            caller,
            emit,
            self.stages,
            self.contexts.of(agent, group, part),
            state.outputs,
            # looked at with each sequence
            lambda: not state.has_acted,
            part.replace("/", "."),
            self.budgets.meter(agent_id),
        )

    def _trace(self) -> TraceContext | None:
        """Return the trace that calls are part of."""
        if self.tracing is None:
            return None
        return self.tracing.segment(self.row.run_id, *self.state.segment)

    def _speaker(self, agent: Agent) -> Agent:
        """Return an agent as it speaks now, with the model that the request names.

        One that has planned says words behind its plan.
        """
        plan, model = self.state.plan, self.state.budget.model or self.state.query.model
        agent = agent.with_model(model) if model else agent
        if agent.plan is None or plan is None or not plan.ended:
            return agent
        return replace(agent, output=None)
