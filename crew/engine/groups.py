"""A group of turns in one task group, joined by its policy."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import anyio

from agents.agent import Agent
from agents.errors import ModelError
from agents.events import Warned
from agents.turn import Turn
from crew.journal.events import Event, ParallelEnded, ParallelStarted
from crew.journal.state import Branch, RunState
from crew.routing.decisions import Group, Routing, settles


class GroupFailed(Exception):
    """No member of a group has an answer."""

    def __init__(self, reason: Literal["timeout", "model"], message: str) -> None:
        super().__init__(message)
        self.reason: Literal["timeout", "model"] = reason


class GroupRunner:
    """Runs the members of a group at once, each on its own copy of the history."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        routing: Routing,
        group: Group,
        state: RunState,
        tell: Callable[[Event], Awaitable[None]],
        max_rounds: int,
        stream: bool,
    ) -> None:
        self.agents, self.routing, self.group, self.state, self.tell = (
            agents,
            routing,
            group,
            state,
            tell,
        )
        self.max_rounds, self.stream = max_rounds, stream

    async def run(self) -> None:
        """Start the group, or go on with it, until its policy is met.

        Raises:
            GroupFailed: all members failed.
        """
        if self.state.group is None:
            await self.tell(ParallelStarted(self.group.name, self.group.agents))
        assert self.state.group is not None, "ParallelStarted made it"
        members = self.state.group.members
        if not self._met(members):
            async with anyio.create_task_group() as tasks:
                for branch in members.values():
                    if branch.answer is None and branch.failed is None:
                        tasks.start_soon(self._member, branch, tasks.cancel_scope)
        await self._end()

    def _met(self, members: Mapping[str, Branch]) -> bool:
        return not self.group.wait_for_all and any(
            branch.answer is not None
            and settles(self.routing, self.group, branch.agent_id, branch.answer)
            for branch in members.values()
        )

    async def _member(self, branch: Branch, everyone: anyio.CancelScope) -> None:
        """One member: its turns until it has an answer, fails, or runs out of time."""
        agent = self.agents[branch.agent_id]
        turn = Turn(agent, self.group.name, self.tell)
        try:
            with anyio.fail_after(self.group.timeout_seconds):
                while branch.answer is None and branch.failed is None:
                    await self._step(turn, branch)
        except TimeoutError:
            await self._fail(
                agent,
                "member_timeout",
                f"{agent.name} had no answer within the group's {self.group.timeout_seconds:g} s",
            )
        except ModelError as error:
            await self._fail(agent, "member_failed", str(error))
        if (
            not self.group.wait_for_all
            and branch.answer is not None
            and settles(self.routing, self.group, branch.agent_id, branch.answer)
        ):
            everyone.cancel()

    async def _step(self, turn: Turn, branch: Branch) -> None:
        if branch.calls:
            await turn.act(branch.open_calls)
        elif branch.rounds - branch.speaking >= self.max_rounds:
            await self._fail(
                turn.agent,
                "member_failed",
                f"{turn.agent.name} has no answer after settings.max_rounds = {self.max_rounds}",
            )
        else:
            number = branch.rounds + (not branch.speaking)
            await turn.speak(
                branch.history, round=number, announce=not branch.speaking, stream=self.stream
            )

    async def _fail(self, agent: Agent, code: str, message: str) -> None:
        await self.tell(Warned(code, message, agent.id, agent.name, self.group.name))

    async def _end(self) -> None:
        group = self.state.group
        assert group is not None, "it was started"
        answers, failed = group.answers, group.failed
        if not answers:
            await self.tell(ParallelEnded(self.group.name, (), tuple(failed), ""))
            late = all(code == "member_timeout" for code in failed.values())
            raise GroupFailed(
                "timeout" if late else "model",
                f"no member of {self.group.name} has an answer: {', '.join(failed)} failed",
            )
        told = {
            agent_id: answers[agent_id] for agent_id in self.group.agents if agent_id in answers
        }
        await self.tell(
            ParallelEnded(
                self.group.name,
                tuple(told),
                tuple(a for a in self.group.agents if a in failed),
                join(told),
            )
        )


def join(answers: Mapping[str, str]) -> str:
    """The members' answers as one message."""
    parts = "".join(f"[{agent_id}]\n{content}\n\n" for agent_id, content in answers.items())
    return f"\n[📊 PARALLEL EXECUTION RESULTS]\n\n{parts}[END PARALLEL RESULTS]\n"
