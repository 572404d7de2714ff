"""A member of a group, or a task of a plan: its turns until it has an answer."""

from dataclasses import replace

import anyio

from agents.agent import Agent
from agents.errors import BudgetExceeded, ModelError
from agents.events import ToolReturned, ToolStarted, Warned
from agents.limits import NO_LIMITS, LimitName, Standing
from agents.outputs.typed import NO_TASKS
from agents.turns.turn import Turn
from crew.crew import Crew
from crew.engine.endings import cut_off
from crew.engine.questions import Questions, make_calls
from crew.engine.spending.budgets import RunBudgets
from crew.engine.turns import AgentTurns
from crew.journal.branches import Branch
from crew.journal.state import RunState
from crew.routing.rules import AgentAnswer
from tools.calls import CallStatus, ToolCall, ToolResult
from tools.config.agent import AGENT_SECONDS
from tools.definition import Tool
from tools.errors import ArgumentsError


class Members:
    """Runs members of a group, tasks of a plan, and agents as tools."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        questions: Questions,
        turns: AgentTurns,
        budgets: RunBudgets,
        *,
        stream: bool,
    ) -> None:
        """Of a run.

        Args:
            crew: the run's.
            state: of the run.
            questions: what a person decides before calls are made.
            turns: of its agents.
            budgets: note calls for which they have no room.
            stream: emit text as it is written.
        """
        self.crew, self.state, self.questions = crew, state, questions
        self.turns, self.budgets, self.stream = turns, budgets, stream

    async def run(self, branch: Branch, group: str | None, seconds: float) -> None:
        """Run one until it has an answer, fails, or runs out of time.

        Before calls on which a person decides it stops, and does not end.
        """
        turn = self.turns.of(branch.agent_id, group, branch.task, branch.within)
        timeout = self.crew.clock.timeout(seconds)
        try:
            async with timeout:
                while branch.answer is None and branch.failed is None:
                    if not await self._step(turn, branch):
                        break
        except BudgetExceeded as error:
            # it goes on where it is, if it goes on
            self.budgets.hold(branch.agent_id, error.refusal)
        except TimeoutError:
            text = f"{turn.agent.name} had no answer within {_bound(branch)} {seconds:g} s"
            await self._fail(turn, "member_timeout", text)
        except ModelError as error:
            await self._fail(turn, "member_failed", str(error))
        if branch.within and branch.failed is not None:
            # a member may go on when its group is retried, an agent as a tool never does
            why = f"{turn.agent.name} has no answer"
            for result in cut_off([branch], self.state, self.crew, turn.group, why):
                await turn.emit(result)

    async def act(self, turn: Turn, branch: Branch) -> bool:
        """Make the open calls of a branch as a person wants them; of agents as tools last.

        Returns whether a person need not decide first: on one of them, or on a call of an agent
        that works on one.
        """
        calls = await self.questions.calls_to_make(branch)
        if calls is None:
            return False
        known, tools = turn.agent.agent_tools, turn.agent.tools
        own = [one for one in calls if one.call.tool not in known] if known else calls
        if own:
            await make_calls(turn, own)
        agents = [one.call for one in calls if one.call.tool in known] if known else []
        if not agents:
            return True
        async with anyio.create_task_group() as working:
            for call in agents:
                working.start_soon(self._work, turn, branch, call, tools[call.tool])
        return not any(branch.key_of(call.id) in self.state.inner for call in agents)

    async def _work(self, turn: Turn, branch: Branch, call: ToolCall, tool: Tool) -> None:
        """Let an agent work on a call; it goes on from its own last step."""
        agent, clock, seconds = turn.agent, turn.agent.clock, tool.timeout_seconds or AGENT_SECONDS
        started, key = clock.monotonic(), branch.key_of(call.id)
        if call.id not in branch.started_calls or key not in self.state.inner:
            error = call.argument_error
            try:
                checked = replace(call, arguments=tool.check(call.arguments))
            except ArgumentsError as wrong:
                error = str(wrong)
            if error is not None:
                await turn.emit(_returned(turn, ToolResult.of(call, "error", error)))
                return
            begun = ToolStarted(
                agent.id, agent.name, turn.group, checked, seconds, once=False, reads=True
            )
            await turn.emit(replace(begun, runs_agent=tool.agent_id))
        inner = self.state.inner[key]
        await self.run(inner, turn.group, seconds)
        if inner.answer is None and inner.failed is None:
            return
        status: CallStatus = "success" if inner.failed is None else "error"
        name = self.crew.name_of(tool.agent_id)
        output = inner.answer or "" if inner.failed is None else f"{name} has no answer"
        result = ToolResult.of(call, status, output, 1, clock.monotonic() - started)
        await turn.emit(_returned(turn, result))

    async def _step(self, turn: Turn, branch: Branch) -> bool:
        """Return a member's next step; whether it was taken, or a person has to decide first."""
        max_rounds = self.crew.limits.max_rounds
        if branch.calls:
            if self.questions.refuse_repeated(branch):
                return True
            return await self.act(turn, branch)
        if branch.invalid:
            await self._fail(turn, "member_failed", invalid_text(turn.agent.name, branch))
        elif turn.agent.limits.is_over(branch.turn_rounds):
            await self._fail(turn, "member_failed", over_text(turn.agent), "max_rounds")
        elif branch.rounds - branch.speaking >= max_rounds:
            text = f"{turn.agent.name} has no answer after settings.max_rounds = {max_rounds}"
            await self._fail(turn, "member_failed", text)
        else:
            await turn.speak(
                branch.history,
                round=branch.rounds + (not branch.speaking),
                announce=not branch.speaking,
                stream=self.stream,
                standing=standing_of(self.state, branch),
            )
        return True

    async def _fail(
        self, turn: Turn, code: str, message: str, limit: LimitName | None = None
    ) -> None:
        agent = turn.agent
        await turn.emit(Warned(code, message, agent.id, agent.name, turn.group, limit=limit))


def _bound(branch: Branch) -> str:
    if branch.within:
        return "the call's"
    return f"the task {branch.task}'s" if branch.task else "the group's"


def _returned(turn: Turn, result: ToolResult) -> ToolReturned:
    return ToolReturned(turn.agent.id, turn.agent.name, turn.group, result)


def as_answer(branch: Branch) -> AgentAnswer:
    """Return the answer of a branch as routing looks at it."""
    if branch.has_direct_answer:
        # what a tool gave decides nothing
        return AgentAnswer("")
    return AgentAnswer(branch.answer or "", branch.output)


def standing_of(state: RunState, branch: Branch) -> Standing:
    """Return how a turn stands before its next model call."""
    found = state.found_tools.get((branch.agent_id, branch.task or branch.within), ())
    known_tasks = NO_TASKS
    if state.plan is not None and branch is state.main:
        known_tasks = state.plan.known
    return Standing(
        found,
        branch.sent_back,
        branch.turn_rounds,
        branch.failed_in_row,
        known_tasks,
        # in a group or a plan again, an agent has a history of its own
        state.part_calls,
    )


def over_text(agent: Agent) -> str:
    """Return why an agent makes no further model call in its turn."""
    return f"{agent.name} has no answer after its max_rounds = {agent.limits.max_rounds}"


def over_rounds(crew: Crew, main: Branch) -> Warned | None:
    """Return why a run makes no further model call, or begins no group or plan; None: it may."""
    limit, agent = crew.limits.max_rounds, crew.agents.get(main.agent_id)
    # an answer is the end of its turn
    limits = agent.limits if agent is not None and main.answer is None else NO_LIMITS
    if agent is not None and limits is not NO_LIMITS and limits.is_over(main.turn_rounds):
        text = over_text(agent)
        return Warned("max_rounds", text, agent.id, agent.name, limit="max_rounds")
    if main.rounds - main.speaking < limit:
        # a round that was announced before a crash has been counted
        return None
    text = f"{main.agent_id} would speak in round {main.rounds + 1}"
    return Warned("max_rounds", f"{text}; settings.max_rounds = {limit}")


def invalid_text(name: str, branch: Branch) -> str:
    """Return why an agent whose typed answer is wrong cannot go on."""
    problems = "; ".join(branch.invalid)
    return f"{name} gave no right answer, {branch.sent_back + 1} times: {problems}"
