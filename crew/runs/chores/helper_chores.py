"""Chores that a helper does: titles and summaries of conversations."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from agents.context.blocks import as_data
from agents.context.plan import SummaryBlock
from agents.errors import ModelError
from agents.helper import Helper
from agents.model import EmitModelEvent, Meter
from crew.engine.endings import summary_block
from crew.engine.memory.pasting import texts_beside
from crew.journal.records.conversations import Chore, Conversation, Exchange, Fact, Summary
from crew.journal.records.remembered.core import user_in
from crew.memory.names import shares_name
from crew.memory.proofs import OwnWords, PastedTexts, may_be_pasted
from crew.runs.chores.helpers import emit_of, exchanges_text, meter_of
from crew.runs.chores.kinds import HELPERS_LANE, ChoreWork
from crew.runs.conversations.conversations import one_line
from crew.runs.runs import Runs
from tools.clock import rfc3339

# exchanges in one request, and those that a title is made of
MAX_AT_ONCE, MAX_TITLED = 25, 6
# facts that a summary keeps: the newest ones
MAX_FACTS = 200

# gets the outcome (kept or dropped), and how many
CountFacts = Callable[[str, int], None]


class TitleAnswer(BaseModel):
    """What helper `title` answers."""

    title: Annotated[str, Field(min_length=1)]


class FactAnswer(BaseModel):
    """A fact, and where it was said."""

    text: Annotated[str, Field(min_length=1)]
    quote: str
    exchange: int


class SummaryAnswer(BaseModel):
    """What helper `summary` answers."""

    summary: str
    facts: list[FactAnswer] = []


class HelperChores:
    """Does the chores of a crew's helpers."""

    def __init__(self, runs: Runs, count_facts: CountFacts) -> None:
        """`count_facts`: gets what becomes of the facts of summaries."""
        self.runs, self.store, self._count_facts = runs, runs.store, count_facts

    @property
    def works(self) -> tuple[ChoreWork, ...]:
        """The kinds of chores that helpers do."""
        return (
            ChoreWork("title", HELPERS_LANE, self._title, needs_helper=True),
            ChoreWork("summary", HELPERS_LANE, self._summary, needs_helper=True),
        )

    async def _title(self, chore: Chore) -> str:
        helper = self.runs.crew.helpers.get(chore.kind)
        known = await self.store.conversations.get(chore.owner, chore.key)
        if helper is None or known is None:
            return "skipped"
        return await self._name(known, helper)

    async def _summary(self, chore: Chore) -> str:
        helper, block = self.runs.crew.helpers.get(chore.kind), summary_block(self.runs.crew)
        known = await self.store.conversations.get(chore.owner, chore.key)
        if helper is None or known is None or block is None:
            return "skipped"
        return await self._summarise(known, helper, block)

    async def _name(self, known: Conversation, helper: Helper) -> str:
        if known.titled_by == "person":
            return "skipped"
        place = (known.owner, known.conversation_id)
        exchanges = await self.store.conversations.shown(*place, 0, MAX_TITLED, transcripts=False)
        answer = await helper.ask(
            exchanges_text(exchanges, helper), TitleAnswer, *self._counted(helper, known)
        )
        title = one_line(self.runs.crew.secrets.mask(answer.title))
        if not title:
            raise ModelError("unreadable", "the title is empty")
        is_set = await self.store.conversations.set_title(*place, title, "helper", known.created_at)
        return "done" if is_set else "stale"

    async def _summarise(self, known: Conversation, helper: Helper, block: SummaryBlock) -> str:
        """Bring the summary closer to the newest exchanges but `keep`; "more": not all the way."""
        place, through = (known.owner, known.conversation_id), known.shown - block.keep
        if through - known.summarised < block.every:
            return "skipped"
        until = min(through, known.summarised + max(MAX_AT_ONCE, block.every))
        summary = await self._next_summary(known, helper, until)
        made = await self.store.conversations.add_summary(*place, summary, known.created_at)
        if not made:
            # another process was first, or it was deleted meanwhile
            return "stale"
        return "more" if through - until >= block.every else "done"

    async def _next_summary(self, known: Conversation, helper: Helper, through: int) -> Summary:
        place = (known.owner, known.conversation_id)
        last = await self.store.conversations.summary(*place)
        new = await self.store.conversations.shown(
            *place, known.summarised, through, transcripts=False
        )
        text = exchanges_text(new, helper)
        if last is not None:
            text = f"{as_data('summary', last.text_with_facts)}\n\n{text}"
        answer = await helper.ask(text, SummaryAnswer, *self._counted(helper, known))
        facts = last.facts if last is not None else ()
        kept = await self._kept(known, answer.facts, facts, new)
        mask = self.runs.crew.secrets.mask
        return Summary(
            known.summary_version + 1,
            through,
            mask(answer.summary),
            tuple([*facts, *kept][-MAX_FACTS:]),
            rfc3339(self.store.now()),
            _taint(last, new),
        )

    def _counted(self, helper: Helper, known: Conversation) -> tuple[EmitModelEvent, Meter | None]:
        of = (self.runs, helper, user_in(known.owner), known.conversation_id)
        return emit_of(*of), meter_of(*of)

    async def _kept(
        self,
        known: Conversation,
        given: Sequence[FactAnswer],
        old: Sequence[Fact],
        new: Sequence[Exchange],
    ) -> list[Fact]:
        """Return the facts that are new and were said: the quote of each proves it."""
        exchanges = {one.number: one for one in new}
        texts = {one.text.casefold() for one in old}
        kept: list[Fact] = []
        words: dict[int, OwnWords] = {}
        mask, dropped = self.runs.crew.secrets.mask, 0
        for one in given:
            if one.text.casefold() in texts:
                continue
            if one.exchange not in exchanges and 0 < one.exchange <= known.started:
                place = (known.owner, known.conversation_id)
                earlier = await self.store.conversations.exchanges(*place, one.exchange - 1, 1)
                exchanges |= {found.number: found for found in earlier}
            said = exchanges.get(one.exchange)
            if said is not None and one.exchange not in words:
                words[one.exchange] = await self._own_words(known, said)
            if said is None or not _is_proven(one, words[one.exchange]):
                dropped += 1
                continue
            texts.add(one.text.casefold())
            kept.append(Fact(mask(one.text), mask(one.quote), one.exchange))
        self._count_facts("kept", len(kept))
        self._count_facts("dropped", dropped)
        return kept

    async def _own_words(self, known: Conversation, said: Exchange) -> OwnWords:
        """Return the words of an exchange that prove something; raises StoreError."""
        words = said.words_of_person
        if not may_be_pasted(words):
            return OwnWords(words)
        beside = await texts_beside(self.store, known.owner, known.conversation_id, said, set())
        # long texts take long, and hold up no other run
        return await asyncio.to_thread(lambda: OwnWords(words, PastedTexts(beside)))


def _is_proven(fact: FactAnswer, words: OwnWords) -> bool:
    return words.prove(fact.quote) and shares_name(fact.text, fact.quote)


def _taint(last: Summary | None, new: Sequence[Exchange]) -> tuple[str, ...]:
    """Return the tools that gave text of others in what a summary covers."""
    sources = [
        *(last.taint if last is not None else ()),
        *(name for one in new for name in one.taint),
    ]
    return tuple(dict.fromkeys(sources))
