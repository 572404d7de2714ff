"""A member of a group, or a task of a plan: its turns until it has an answer."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from agents.agent import Agent
from agents.errors import ModelError
from agents.events import Warned
from agents.limits import LimitName, Standing
from agents.turns.turn import Turn
from crew.crew import Crew
from crew.engine.questions import Questions, act
from crew.journal.branches import Branch
from crew.journal.events import Event
from crew.journal.state import RunState
from crew.routing.rules import AgentAnswer


class Members:
    """Runs members of a group, or tasks of a plan."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        questions: Questions,
        emit: Callable[[Event], Awaitable[None]],
        *,
        stream: bool,
    ) -> None:
        """Of a run; see GroupRunner."""
        self.crew, self.state, self.questions = crew, state, questions
        self.emit, self.stream = emit, stream

    async def run(self, turn: Turn, branch: Branch, seconds: float) -> None:
        """Run one until it has an answer, fails, or runs out of time.

        Before calls on which a person decides it stops, and does not end.
        """
        timeout = self.crew.clock.timeout(seconds)
        try:
            async with timeout:
                while branch.answer is None and branch.failed is None:
                    if not await self._step(turn, branch):
                        break
        except TimeoutError:
            where = f"the task {branch.task}" if branch.task else "the group"
            text = f"{turn.agent.name} had no answer within {where}'s {seconds:g} s"
            await self._fail(turn, "member_timeout", text)
        except ModelError as error:
            await self._fail(turn, "member_failed", str(error))

    async def _step(self, turn: Turn, branch: Branch) -> bool:
        """Return a member's next step; whether it was taken, or a person has to decide first."""
        max_rounds = self.crew.limits.max_rounds
        if branch.calls:
            if self.questions.refuse_repeated(branch):
                return True
            calls = await self.questions.calls_to_make(branch)
            if calls is None:
                return False
            await act(turn, calls)
        elif branch.invalid:
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
        agent, group, task = turn.agent, turn.group, turn.task
        await self.emit(Warned(code, message, agent.id, agent.name, group, limit=limit, task=task))


def as_answer(branch: Branch) -> AgentAnswer:
    """Return the answer of a branch as routing looks at it."""
    if branch.has_direct_answer:
        # what a tool gave decides nothing
        return AgentAnswer("")
    return AgentAnswer(branch.answer or "", branch.output)


def standing_of(state: RunState, branch: Branch) -> Standing:
    """Return how a turn stands before its next model call."""
    found = state.found_tools.get((branch.agent_id, branch.task), ())
    standing = Standing(found, branch.sent_back, branch.turn_rounds, branch.failed_in_row)
    if branch.task:
        return replace(standing, known_calls=state.task_calls)
    if state.plan is not None:
        return replace(standing, known_tasks=state.plan.known)
    return standing


def over_text(agent: Agent) -> str:
    """Return why an agent makes no further model call in its turn."""
    return f"{agent.name} has no answer after its max_rounds = {agent.limits.max_rounds}"


def over_rounds(crew: Crew, main: Branch) -> Warned | None:
    """Return why a run makes no further model call; None: it may."""
    limit, agent = crew.limits.max_rounds, crew.agents.get(main.agent_id)
    if agent is not None and agent.limits.is_over(main.turn_rounds):
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
