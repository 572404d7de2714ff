"""The erasure of a user: all that is kept of one, or again."""

import contextlib

from crew.budgets.rules import PEOPLE_SCOPES, conversations_of
from crew.journal.records.conversations import Chore
from crew.journal.records.listing import RunFilter
from crew.journal.records.remembered.core import user_in
from crew.runs.chores.kinds import ChoreWork
from crew.runs.errors import RunEnded, UnknownConversation, UnknownRun
from crew.runs.memory.export import document_owners
from crew.runs.runs import Runs
from crew.runs.upkeep.by_hand import forget_pauser
from tools.clock import rfc3339

LANE = "erasure"
SECONDS = 600.0
# in one read
PAGE = 100


class Erasing:
    """Erases users, one step after the other; each can be done again."""

    def __init__(self, runs: Runs) -> None:
        self.runs, self.store = runs, runs.store

    @property
    def works(self) -> tuple[ChoreWork, ...]:
        """The kinds of chores that this does."""
        return (ChoreWork("erase", LANE, self._erase, seconds=SECONDS, gives_up=False),)

    async def _erase(self, chore: Chore) -> str:
        user_id, requested_at = user_in(chore.owner), chore.key
        await self._end_runs(user_id)
        self._drop_answers(user_id)
        while found := await self.store.conversations.listed(chore.owner, PAGE):
            for one in found:
                # another process may have deleted it
                with contextlib.suppress(UnknownConversation):
                    await self.runs.conversations.delete(user_id, one.conversation_id, cancels=True)
                    await self.store.people.count(user_id, requested_at, {"conversations": 1})
        # of conversations that are gone, so that nothing more is sent to them
        for owner in await document_owners(self.store, chore.owner):
            while erased := await self.store.documents.erase(owner, PAGE):
                await self.store.people.count(user_id, requested_at, {"documents": erased})
        while await self.store.people.erase(user_id, requested_at, PAGE):
            pass
        # of budgets that are gone, too
        scopes = {one.name: one.scope for one in self.runs.crew.budgets}
        others = [name for name, scope in scopes.items() if scope not in PEOPLE_SCOPES]
        await self.store.budgets.hide(user_id, others)
        # an id of another user may begin in the same way
        others = [name for name, scope in scopes.items() if scope != "conversation"]
        await self.store.budgets.hide(conversations_of(user_id), others, begins=True)
        await forget_pauser(self.store, user_id)
        if await self._left(chore.owner, user_id):
            # it came meanwhile
            return "more"
        await self.store.people.finish(user_id, requested_at, rfc3339(self.store.now()))
        return "done"

    async def _end_runs(self, user_id: str) -> None:
        for status in ("running", "paused"):
            while found := await self.store.rows(RunFilter(status, user_id=user_id), PAGE):
                for row in found:
                    with contextlib.suppress(RunEnded, UnknownRun):
                        await self.runs.cancel(row.run_id)
                        await self.runs.outcome(row.run_id)

    def _drop_answers(self, user_id: str) -> None:
        """Drop what this process would answer again; others keep it for its time at most."""
        for agent in self.runs.crew.agents.values():
            agent.executor.kept.forget(user_id)
            if agent.kept is not None:
                agent.kept.results.forget(user_id)

    async def _left(self, owner: str, user_id: str) -> bool:
        rows = await self.store.rows(RunFilter(user_id=user_id), 1)
        if rows or await self.store.conversations.listed(owner, 1):
            return True
        return owner in await self.store.documents.owners(owner) or bool(
            await document_owners(self.store, owner)
        )
