"""Chores: what a helper does after runs, such as titles and summaries of conversations.

They are rows of the store, written with the end of the run that makes them necessary. No run waits
for one; a process that ends leaves its chores to the next.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, Field

from agents.context.blocks import as_data, cut_to
from agents.context.plan import SummaryBlock
from agents.errors import ModelError
from agents.events import ModelCalled
from agents.helper import Helper
from agents.model import EmitModelEvent, ModelEvent, RequestEnded
from crew.engine.endings import summary_block
from crew.journal.errors import StoreError
from crew.journal.records.conversations import (
    Chore,
    Conversation,
    Exchange,
    Fact,
    Summary,
)
from crew.journal.said import proves
from crew.runs.conversations.conversations import one_line
from crew.runs.runs import Runs
from tools.clock import rfc3339

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
MAX_ATTEMPTS = 3
# before the second attempt; times four before each further one
FIRST_WAIT_SECONDS = 10.0
# a chore whose process has ended is taken again so long after its helper's time is over
LEASE_SECONDS = 60.0
# of one exchange, as a helper is shown it
MAX_EXCHANGE_TOKENS = 1500
# exchanges in one request, and those that a title is made of
MAX_AT_ONCE, MAX_TITLED = 25, 6
# facts that a summary keeps: the newest ones
MAX_FACTS = 200

# gets the kind, the outcome (done, skipped, stale, retried or failed) and the seconds
CountChore = Callable[[str, str, float], None]
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


@dataclass(frozen=True, slots=True)
class Counts:
    """Gets what becomes of chores."""

    chore: CountChore = lambda kind, outcome, seconds: None
    facts: CountFacts = lambda outcome, count: None


class Chores:
    """Does the chores of a store."""

    def __init__(self, runs: Runs, counts: Counts = Counts()) -> None:  # frozen
        self.runs, self.store, self.counts = runs, runs.store, counts
        self.clock = runs.crew.clock

    async def run(self) -> None:
        """Do what is due, until this is cancelled or the process drains."""
        while not self.runs.draining:
            await self.drain()
            await self.clock.sleep(LOOK_SECONDS)

    async def drain(self) -> None:
        """Do what is due now, and no more."""
        if not self.runs.crew.helpers:
            # what waits is for a crew that has some
            return
        # maintenance tells of a store that fails
        with contextlib.suppress(StoreError):
            while await self._round():
                continue

    async def _round(self) -> int:
        """Do some of what is due; how many chores that was."""
        at_once = self.runs.crew.config.helpers.at_once
        seconds = [helper.timeout_seconds for helper in self.runs.crew.helpers.values()]
        # a wrong answer is asked for once more
        lease = 2 * max(seconds, default=0.0) + LEASE_SECONDS
        now = self.store.now()
        until = rfc3339(now + timedelta(seconds=lease))
        taken = await self.store.chores.take(rfc3339(now), until, at_once)
        await asyncio.gather(*(self._do(chore) for chore in taken))
        return len(taken)

    async def _do(self, chore: Chore) -> None:
        started = self.clock.monotonic()
        outcome = await self._outcome(chore)
        self.counts.chore(chore.kind, outcome, self.clock.monotonic() - started)

    async def _outcome(self, chore: Chore) -> str:
        try:
            outcome = await self._try(chore)
        except (ModelError, StoreError) as error:
            return await self._fail(chore, str(error))
        except Exception:
            log.exception("the chore %s of conversation %s failed", chore.kind, chore.key)
            return await self._fail(chore, "the runtime made a mistake")
        with contextlib.suppress(StoreError):
            more = outcome == "more"
            await self.store.chores.finish(chore, rfc3339(self.store.now()), more=more)
        return "done" if outcome == "more" else outcome

    async def _fail(self, chore: Chore, why: str) -> str:
        with contextlib.suppress(StoreError):
            if chore.attempts >= MAX_ATTEMPTS:
                text = "the chore %s of conversation %s was given up after %d attempts: %s"
                log.warning(text, chore.kind, chore.key, chore.attempts, why)
                await self.store.chores.finish(chore, rfc3339(self.store.now()))
                return "failed"
            wait = timedelta(seconds=FIRST_WAIT_SECONDS * 4 ** (chore.attempts - 1))
            await self.store.chores.postpone(chore, rfc3339(self.store.now() + wait))
        return "retried"

    async def _try(self, chore: Chore) -> str:
        crew = self.runs.crew
        helper, block = crew.helpers.get(chore.kind), summary_block(crew)
        known = await self.store.conversations.get(chore.owner, chore.key)
        if helper is None or known is None:
            return "skipped"
        if chore.kind == "title":
            return await self._name(known, helper)
        return await self._summarise(known, helper, block) if block is not None else "skipped"

    async def _name(self, known: Conversation, helper: Helper) -> str:
        if known.titled_by == "person":
            return "skipped"
        place = (known.owner, known.conversation_id)
        exchanges = await self.store.conversations.shown(*place, 0, MAX_TITLED, transcripts=False)
        answer = await helper.ask(_as_text(exchanges, helper), TitleAnswer, self._tell(helper))
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
        text = _as_text(new, helper)
        if last is not None:
            text = f"{as_data('summary', last.text_with_facts)}\n\n{text}"
        answer = await helper.ask(text, SummaryAnswer, self._tell(helper))
        facts = last.facts if last is not None else ()
        kept = await self._kept(known, answer.facts, facts, new)
        mask = self.runs.crew.secrets.mask
        return Summary(
            known.summary_version + 1,
            through,
            mask(answer.summary),
            tuple([*facts, *kept][-MAX_FACTS:]),
            rfc3339(self.store.now()),
        )

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
        mask, dropped = self.runs.crew.secrets.mask, 0
        for one in given:
            if one.text.casefold() in texts:
                continue
            if one.exchange not in exchanges and 0 < one.exchange <= known.started:
                place = (known.owner, known.conversation_id)
                earlier = await self.store.conversations.exchanges(*place, one.exchange - 1, 1)
                exchanges |= {found.number: found for found in earlier}
            said = exchanges.get(one.exchange)
            if said is None or not proves(one.quote, said.words_of_person):
                dropped += 1
                continue
            texts.add(one.text.casefold())
            kept.append(Fact(mask(one.text), mask(one.quote), one.exchange))
        self.counts.facts("kept", len(kept))
        self.counts.facts("dropped", dropped)
        return kept

    def _tell(self, helper: Helper) -> EmitModelEvent:
        """Return what gives a helper's requests to the counters."""

        async def tell(event: ModelEvent) -> None:
            if isinstance(event, RequestEnded):
                called = ModelCalled(helper.agent_id, helper.agent_id, event)
                for listener in self.runs.listeners:
                    listener("", called)

        return tell


def _as_text(exchanges: Sequence[Exchange], helper: Helper) -> str:
    parts = []
    for one in exchanges:
        said = [f"{part.agent or 'user'}: {part.text}" for part in one.said]
        lines = [
            f"Exchange {one.number}",
            f"user: {one.query}",
            *said,
            f"{one.agent}: {one.answer}",
        ]
        parts.append("\n".join(lines))
    short = [cut_to(part, MAX_EXCHANGE_TOKENS, helper.tokenizer) for part in parts]
    return as_data("exchanges", "\n\n".join(short))
