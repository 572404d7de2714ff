"""A group: its members' turns in one task group, joined by its policy."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import anyio

from crew.crew import Crew
from crew.engine.endings import cut_off
from crew.engine.members import Members, as_answer
from crew.journal.branches import Branch, GroupState, join_answers
from crew.journal.events import Event, ParallelEnded, ParallelStarted
from crew.journal.state import RunState
from crew.routing.decisions import settles
from crew.routing.rules import AgentAnswer
from crew.routing.steps import Group


class GroupFailed(Exception):
    """No member of a group has an answer, or no task of a plan was done."""

    def __init__(
        self, reason: Literal["timeout", "model"], message: str, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason: Literal["timeout", "model"] = reason
        self.code = code or f"group_{reason}"


class GroupRunner:
    """Runs the members of a group at the same time, each on its own copy of the history."""

    def __init__(
        self,
        crew: Crew,
        group: Group,
        state: RunState,
        members: Members,
        emit: Callable[[Event], Awaitable[None]],
    ) -> None:
        """Of a run.

        Args:
            crew: the run's.
            group: the one that was entered.
            state: of the run.
            members: runs each member.
            emit: gets the group's events.
        """
        self.crew, self.group, self.state = crew, group, state
        self.members, self.emit = members, emit

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
        """Run one member; an answer that decides where the group leads cancels the others."""
        await self.members.run(branch, self.group.name, self.group.timeout_seconds)
        if self._settles(branch):
            group.cancel()

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
        why = f"the group {name} has ended without it"
        for result in cut_off(others, self.state, self.crew, name, why):
            await self.emit(result)
        words = group.words
        joined = join_answers({a: words[a] for a in answers if a in words})
        await self.emit(ParallelEnded(name, tuple(answers), tuple(in_order), joined))


def group_answers(group: GroupState) -> dict[str, AgentAnswer]:
    """Return the members' answers, by their ids, as routing looks at them."""
    return {member: as_answer(group.members[member]) for member in group.answers}
