"""Who changes memory in a run, and what proves that the person said so."""

import asyncio
from dataclasses import dataclass

from agents.agent import Agent
from crew.crew import Crew
from crew.engine.masking import EmitTurnEvent
from crew.engine.memory.counting import counting_of_run
from crew.engine.memory.finding import Finder, patient_finder
from crew.engine.memory.pasting import owners_of_documents, texts_before, texts_of_others
from crew.journal.errors import StoreError
from crew.journal.records.conversations import owner_of
from crew.journal.records.remembered.core import Scope, owner_in
from crew.journal.remembered.events import MemoryChanged, MemoryOp, MemoryRefused, Refusal
from crew.journal.said import attached_by_person, words_of_person
from crew.journal.state import RunState
from crew.journal.store import RunStore
from crew.memory.proofs import OwnWords, PastedTexts, may_be_pasted
from crew.memory.recall import MAX_QUOTE
from tools.errors import PermanentError, TemporaryError


@dataclass(frozen=True, slots=True)
class Speaker:
    """An agent in a run."""

    # says what may be remembered
    crew: Crew
    # its user, and what the person has said
    state: RunState
    # keeps what is remembered
    store: RunStore
    # gets what is changed
    emit: EmitTurnEvent
    agent: Agent
    # in which it speaks, if it does
    group: str | None

    @property
    def finder(self) -> Finder:
        """Finds items and passages; vectors have the time that they have for what it is shown."""
        emit = counting_of_run(self.crew, self.store, self.state)
        return patient_finder(self.crew, self.store, emit, self.agent.context.load_timeout_seconds)

    async def owner(self, name: str, scope: Scope) -> str:
        """Return the owner of what is to be changed; raises PermanentError if there is none."""
        query = self.state.query
        owner = owner_in(scope, query.user_id, query.conversation_id)
        if owner is None:
            text = f"{name} belongs to a {scope}, and this run names none"
            raise await self.refuse("owner", text)
        return owner

    async def require_quote(self, quote: str) -> None:
        """Raise PermanentError where a quote proves nothing, or is missing and needed.

        It is needed once the run has read text of others.
        """
        if not quote and self.state.taint:
            text = f"the run has read text of others ({', '.join(self.state.taint)})"
            text = f"{text}: give the words of the person that say so as quote"
            raise await self.refuse("quote", text)
        if len(quote) > MAX_QUOTE:
            raise await self.refuse("quote", f"quote has more than {MAX_QUOTE} characters")
        if quote and not (await self._own_words()).prove(quote):
            text = "quote does not stand in what the person has said now: give it word for word"
            text = f"{text}, at least three words"
            raise await self.refuse(
                "quote", text if self.state.taint else f"{text}, or leave it out"
            )

    async def _own_words(self) -> OwnWords:
        words = words_of_person(self.state.query.text, self.state.said)
        if not may_be_pasted(words):
            return OwnWords(words)
        # all that tools have given is stored by now: this call has begun
        beside = await self._texts_of_others()
        # long texts take long, and hold up no other run
        with self.crew.clock.hold():
            return await asyncio.to_thread(lambda: OwnWords(words, PastedTexts(beside)))

    async def _texts_of_others(self) -> list[str]:
        """Return what tools and documents have given so far: a person may have pasted it."""
        query, of, known = self.state.query, self.state.conversation, set[str]()
        owners = owners_of_documents(query.user_id, query.conversation_id)
        attached = attached_by_person(query, self.state.said)
        run_id = self.state.run_id
        try:
            found = await texts_of_others(self.store, run_id, owners, attached, known)
            if of.conversation_id:
                place = owner_of(query.user_id), of.conversation_id, of.exchange
                found += await texts_before(self.store, *place, known)
            return found
        except StoreError as error:
            raise TemporaryError(f"the quote cannot be looked at: {error}") from error

    async def tell(
        self, op: MemoryOp, block: str = "", version: int = 0, ids: tuple[str, ...] = ()
    ) -> None:
        """Publish a change."""
        who = self.agent.id, self.agent.name, self.group
        await self.emit(MemoryChanged(*who, op, block, version, ids))

    async def refuse(self, reason: Refusal, text: str) -> PermanentError:
        """Publish that something is not changed; return the error that says why."""
        await self.emit(MemoryRefused(self.agent.id, reason))
        return PermanentError(text)
