"""A group: its members' turns in one task group, joined by its policy."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import anyio

from agents.agent import Agent
from agents.errors import ModelError
from agents.events import Warned
from agents.limits import LimitName, Standing
from agents.marks import quote_member_marks
from agents.turns.turn import Turn
from crew.crew import Crew
from crew.engine.endings import cut_off
from crew.engine.questions import Questions, act
from crew.journal.branches import Branch, GroupState
from crew.journal.events import Event, ParallelEnded, ParallelStarted
from crew.journal.state import RunState
from crew.routing.decisions import settles
from crew.routing.rules import AgentAnswer
from crew.routing.steps import Group


class GroupFailed(Exception):
    """No member of a group has an answer."""

    def __init__(self, reason: Literal["timeout", "model"], message: str) -> None:
        super().__init__(message)
        self.reason: Literal["timeout", "model"] = reason


class GroupRunner:
    """Runs the members of a group at the same time, each on its own copy of the history."""

    def __init__(
        self,
        crew: Crew,
        group: Group,
        state: RunState,
        questions: Questions,
        emit: Callable[[Event], Awaitable[None]],
        turn: Callable[[str, str], Turn],
        *,
        stream: bool,
    ) -> None:
        """Of a run.

        Args:
            crew: the run's.
            group: the one that was entered.
            state: of the run.
            questions: what a person decides before calls are made.
            emit: gets the group's events.
            turn: makes a turn of an agent in a group.
            stream: emit text as it is written.
        """
        self.crew, self.group, self.state, self.questions = crew, group, state, questions
        self.emit, self.turn, self.stream = emit, turn, stream

    async def run(self) -> None:
        """Start the group, or resume it, until its policy is met or a person has to decide.

        Raises:
            GroupFailed: all members failed.
        """
        if self.state.group is None:
            await self.emit(ParallelStarted(self.group.name, self.group.agents))
        assert self.state.group is not None, "ParallelStarted made it"
        members = self.state.group.members
        if not any(self._settles(branch) for branch in members.values()):
            await self._run_members(members)
        is_settled = any(self._settles(branch) for branch in members.values())
        if is_settled or not self.state.branches:
            await self._end()

    async def _run_members(self, members: Mapping[str, Branch]) -> None:
        # not asyncio's task group: on Python 3.11 one that is ended by an exception swallows a
        # cancellation or a timeout of the run that comes at the same time
        async with anyio.create_task_group() as tasks:
            for branch in members.values():
                if branch.answer is None and branch.failed is None:
                    tasks.start_soon(self._run_member, branch, tasks.cancel_scope)

    def _settles(self, branch: Branch) -> bool:
        """Return whether a member's answer ends a group that does not wait for all."""
        if self.group.wait_for_all or branch.answer is None:
            return False
        answer = as_answer(branch)
        return settles(self.crew.routing, self.group, branch.agent_id, answer)

    async def _run_member(self, branch: Branch, group: anyio.CancelScope) -> None:
        """Run one member: its turns until it has an answer, fails, or runs out of time.

        An answer that decides where the group leads cancels the others. Before calls on which a
        person decides it stops, and does not end: the others go on until they have ended, or stop.
        """
        agent = self.crew.agents[branch.agent_id]
        turn = self.turn(agent.id, self.group.name)
        seconds = self.group.timeout_seconds
        timeout = self.crew.clock.timeout(seconds)
        try:
            async with timeout:
                while branch.answer is None and branch.failed is None:
                    if not await self._step(turn, branch):
                        break
        except TimeoutError:
            text = f"{agent.name} had no answer within the group's {seconds:g} s"
            await self._fail(agent, "member_timeout", text)
        except ModelError as error:
            await self._fail(agent, "member_failed", str(error))
        if self._settles(branch):
            group.cancel()

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
            await self._fail(turn.agent, "member_failed", invalid_text(turn.agent.name, branch))
        elif turn.agent.limits.is_over(branch.turn_rounds):
            await self._fail(turn.agent, "member_failed", over_text(turn.agent), "max_rounds")
        elif branch.rounds - branch.speaking >= max_rounds:
            text = f"{turn.agent.name} has no answer after settings.max_rounds = {max_rounds}"
            await self._fail(turn.agent, "member_failed", text)
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
        self, agent: Agent, code: str, message: str, limit: LimitName | None = None
    ) -> None:
        name = self.group.name
        await self.emit(Warned(code, message, agent.id, agent.name, name, limit=limit))

    async def _end(self) -> None:
        group = self.state.group
        assert group is not None, "it was started"
        name, failed = self.group.name, group.failed
        in_order = [agent for agent in self.group.agents if agent in failed]
        answers = {a: group.answers[a] for a in self.group.agents if a in group.answers}
        if not answers:
            await self.emit(ParallelEnded(name, (), tuple(in_order), ""))
            late = all(code == "member_timeout" for code in failed.values())
            text = f"no member of {name} has an answer: {', '.join(in_order)} failed"
            raise GroupFailed("timeout" if late else "model", text)
        # the calls of members that were late, or are no longer awaited
        others = [branch for branch in group.members.values() if branch.answer is None]
        for result in cut_off(others, self.crew, name, f"the group {name} has ended without it"):
            await self.emit(result)
        words = group.words
        joined = join_answers({a: words[a] for a in answers if a in words})
        await self.emit(ParallelEnded(name, tuple(answers), tuple(in_order), joined))


def group_answers(group: GroupState) -> dict[str, AgentAnswer]:
    """Return the members' answers, by their ids, as routing looks at them."""
    return {member: as_answer(group.members[member]) for member in group.answers}


def as_answer(branch: Branch) -> AgentAnswer:
    """Return the answer of a branch as routing looks at it."""
    if branch.has_direct_answer:
        # what a tool gave decides nothing
        return AgentAnswer("")
    return AgentAnswer(branch.answer or "", branch.output)


def standing_of(state: RunState, branch: Branch) -> Standing:
    """Return how a turn stands before its next model call."""
    found = state.found_tools.get(branch.agent_id, ())
    return Standing(found, branch.sent_back, branch.turn_rounds, branch.failed_in_row)


def over_text(agent: Agent) -> str:
    """Return why an agent makes no further model call in its turn."""
    return f"{agent.name} has no answer after its max_rounds = {agent.limits.max_rounds}"


def invalid_text(name: str, branch: Branch) -> str:
    """Return why an agent whose typed answer is wrong cannot go on."""
    problems = "; ".join(branch.invalid)
    return f"{name} gave no right answer, {branch.sent_back + 1} times: {problems}"


def join_answers(answers: Mapping[str, str]) -> str:
    """Join the members' answers as one message."""
    parts = "".join(
        f"[{agent_id}]\n{quote_member_marks(content)}\n\n" for agent_id, content in answers.items()
    )
    return f"\n[📊 PARALLEL EXECUTION RESULTS]\n\n{parts}[END PARALLEL RESULTS]\n"
