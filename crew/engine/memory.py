"""What an agent of a run changes in memory by its tools."""

from collections.abc import Sequence
from typing import get_args

from agents.agent import Agent
from crew.crew import Crew
from crew.engine.masking import EmitTurnEvent, masked_data
from crew.journal.errors import StoreError
from crew.journal.query import Decision
from crew.journal.records.core import CoreValue, CoreVersion, owner_in
from crew.journal.remembered.events import MemoryChanged, MemoryRefused, Refusal
from crew.journal.said import proves
from crew.journal.state import RunState
from crew.journal.store import RunStore
from crew.memory.core import CoreError, CoreRule, block_text, checked, edited, value_of
from tools.clock import rfc3339
from tools.errors import PermanentError, TemporaryError

# another one may change the same block at the same time
MAX_TRIES = 10
DECISIONS = frozenset(get_args(Decision))


class RunMemory:
    """Of one agent in one run; see Memory."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        store: RunStore,
        emit: EmitTurnEvent,
        agent: Agent,
        group: str | None,
    ) -> None:
        """Of an agent's turn.

        Args:
            crew: says what may be remembered.
            state: of the run: its user, and what the person has said.
            store: keeps it.
            emit: gets what is changed.
            agent: changes it.
            group: in which the agent speaks, if it does.
        """
        self.crew, self.state, self.store = crew, state, store
        self.emit, self.agent, self.group = emit, agent, group

    async def edit_core(
        self, block: str, edits: Sequence[tuple[str, str]], quote: str, key: str
    ) -> str:
        """See Memory."""
        rule = self.crew.core.get(block)
        if rule is None:
            known = ", ".join(self.crew.core)
            raise await self._refuse("value", f"there is no block {block!r}; known: {known}")
        if "agent" not in rule.writers:
            raise await self._refuse("writer", f"agents may not change {block}")
        query = self.state.query
        owner = owner_in(rule.scope, query.user_id, query.conversation_id)
        if owner is None:
            text = f"{block} belongs to a {rule.scope}, and this run names none"
            raise await self._refuse("owner", text)
        if quote and not proves(quote, self._words_of_person()):
            text = "quote does not stand in what the person has said now: give it word for word"
            raise await self._refuse("quote", f"{text}, at least three words, or leave it out")
        try:
            return await self._edit(rule, owner, edits, quote, key)
        except CoreError as error:
            raise await self._refuse("value", f"{block} is not changed: {error}") from error
        except StoreError as error:
            raise TemporaryError(f"{block} is not changed: {error}") from error

    async def _edit(
        self, rule: CoreRule, owner: str, edits: Sequence[tuple[str, str]], quote: str, key: str
    ) -> str:
        secrets = self.crew.secrets
        for _ in range(MAX_TRIES):
            versions = await self.store.core.versions(owner, rule.name)
            made = next((one for one in versions if one.key == key), None)
            if made is not None:
                # before the process ended that made the call; its event may be lost
                await self._tell(made)
                return _answer(rule, value_of(rule, made)[0])
            newest = versions[0] if versions else None
            value, _ = value_of(rule, newest)
            changed = checked(rule, masked_data(edited(rule, value, edits), secrets))
            if changed == value:
                return f"Nothing has changed. {_answer(rule, value)}"
            number = newest.version + 1 if newest is not None else 1
            version = CoreVersion(
                owner,
                rule.name,
                number,
                changed,
                rfc3339(self.store.now()),
                "agent",
                self.agent.id,
                self.state.run_id,
                secrets.mask(quote),
                key,
            )
            if await self.store.core.add(version):
                await self._tell(version)
                return _answer(rule, changed)
        raise TemporaryError(f"others are changing {rule.name}")

    async def _tell(self, version: CoreVersion) -> None:
        who = self.agent.id, self.agent.name, self.group
        await self.emit(MemoryChanged(*who, "edited", version.block, version.version))

    def _words_of_person(self) -> list[str]:
        answers = [one.text for one in self.state.said if not one.agent_id]
        # a decision by a button is not in words
        return [self.state.query.text, *(one for one in answers if one not in DECISIONS)]

    async def _refuse(self, reason: Refusal, text: str) -> PermanentError:
        await self.emit(MemoryRefused(self.agent.id, reason))
        return PermanentError(text)


def _answer(rule: CoreRule, value: CoreValue) -> str:
    return f"{rule.name} is now:\n{block_text(rule, value)}"
