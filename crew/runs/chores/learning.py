"""The chore of helper `learn`: what a person says in a conversation is remembered after it."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from agents.context.blocks import as_data
from agents.helper import Helper
from crew.crew import Crew
from crew.engine.masking import masked_data
from crew.engine.memory.pasting import texts_before, texts_beside
from crew.journal.records.conversations import Chore, Conversation, Exchange
from crew.journal.records.remembered.core import CoreVersion, owner_in, user_in
from crew.journal.records.remembered.recall import Lesson, RecallItem
from crew.memory.core import CoreRule, block_text, value_of
from crew.memory.proofs import OwnWords, PastedTexts, may_be_pasted
from crew.memory.recall import RecallRule
from crew.runs.chores.helpers import emit_of, exchanges_text, meter_of
from crew.runs.chores.kinds import HELPERS_LANE, ChoreWork
from crew.runs.chores.lessons import LearnAnswer, Material, learn_from, proving_words
from crew.runs.runs import Runs
from tools.clock import rfc3339

# exchanges in one request
MAX_AT_ONCE = 25
# items that the helper is shown, to say that one is the same or replaced
NEAREST = 10

# gets the change (edited, added, again, replaced), or why something was refused
CountMemory = Callable[[str], None]


class Learning:
    """Learns of the conversations of a crew."""

    def __init__(
        self,
        runs: Runs,
        count_change: CountMemory,
        count_refused: CountMemory,
    ) -> None:
        """Of a crew's runs.

        Args:
            runs: of the crew.
            count_change: see CountMemory.
            count_refused: see CountMemory.
        """
        self.runs, self.store = runs, runs.store
        self._count_change, self._count_refused = count_change, count_refused

    @property
    def works(self) -> tuple[ChoreWork, ...]:
        """The kinds of chores that this does."""
        return (ChoreWork("learn", HELPERS_LANE, self._learn, needs_helper=True),)

    async def _learn(self, chore: Chore) -> str:
        """Learn of the exchanges that it has not seen."""
        crew, place = self.runs.crew, (chore.owner, chore.key)
        helper, rule = crew.helpers.get("learn"), crew.memory.recall
        known = await self.store.conversations.get(*place)
        if helper is None or rule is None or rule.learn is None or known is None:
            return "skipped"
        found = await self.store.conversations.exchanges(*place, known.learned, MAX_AT_ONCE)
        new = [one for one in found if one.ended_at]
        if not new:
            return "skipped"
        now = self.store.now()
        due = datetime.fromisoformat(known.used_at) + timedelta(seconds=rule.learn.idle_seconds)
        if due > now and len(found) < MAX_AT_ONCE:
            # another exchange has come meanwhile, and puts it off
            await self.store.chores.postpone(chore, rfc3339(due))
            return "postponed"
        given = await self._material(crew, known, new, rule, now)
        of = (self.runs, helper, user_in(known.owner), known.conversation_id)
        answer = await helper.ask(
            _question(given, new, helper),
            LearnAnswer,
            emit_of(*of),
            meter_of(*of),
        )
        learned = learn_from(answer, given, rule)
        lesson = Lesson(
            known.owner,
            known.conversation_id,
            known.created_at,
            known.learned,
            new[-1].number,
            tuple(learned.additions),
            tuple(learned.core),
        )
        done = await self.store.recall.learn(lesson, rule.limits(now))
        if done is None:
            return "stale"
        kept = [one.op for one in done if one.op != "full"]
        for change in [*kept, *("edited" for _ in learned.core)]:
            self._count_change(change)
        for reason in [*learned.refused, *("full" for one in done if one.op == "full")]:
            self._count_refused(reason)
        return "more" if len(found) == MAX_AT_ONCE else "done"

    async def _material(
        self,
        crew: Crew,
        known: Conversation,
        exchanges: Sequence[Exchange],
        rule: RecallRule,
        now: datetime,
    ) -> Material:
        user_id = user_in(known.owner)
        owner = owner_in(rule.scope, user_id, known.conversation_id)
        nearest: list[RecallItem] = []
        if owner is not None:
            words = "\n".join(text for one in exchanges for text in one.words_of_person)
            found = await self.store.recall.search(rule.search(owner, words, NEAREST, now))
            nearest = [item for item, _ in found]
        return Material(
            owner,
            known.conversation_id,
            {one.number: one for one in exchanges},
            await self._said(known, exchanges, rule),
            nearest,
            await self._blocks(crew, user_id, known.conversation_id),
            now,
            crew.secrets.mask,
            lambda value: masked_data(value, crew.secrets),
        )

    async def _said(
        self, known: Conversation, exchanges: Sequence[Exchange], rule: RecallRule
    ) -> dict[int, OwnWords]:
        """Return by exchange the words that prove something.

        Without what tools and documents had given up to its end: it may be pasted.
        """
        assert rule.learn is not None, "else nothing is learned"
        words = {one.number: proving_words(one, rule.learn.teachers) for one in exchanges}
        if not any(map(may_be_pasted, words.values())):
            return {number: OwnWords(texts) for number, texts in words.items()}
        sources, documents, found = PastedTexts(), set[str](), dict[int, OwnWords]()
        place = known.owner, known.conversation_id
        # what was learned from before may be pasted now
        before = await texts_before(self.store, *place, exchanges[0].number, documents)
        await asyncio.to_thread(sources.add, before)
        for one in exchanges:
            beside = await texts_beside(self.store, *place, one, documents)
            # long texts take long, and hold up no other run
            await asyncio.to_thread(sources.add, beside)
            found[one.number] = await asyncio.to_thread(OwnWords, words[one.number], sources)
        return found

    async def _blocks(
        self, crew: Crew, user_id: str, conversation_id: str
    ) -> dict[str, tuple[CoreRule, str, CoreVersion | None]]:
        """Return the blocks that may be changed, each with its owner and newest version."""
        rules = [one for one in crew.memory.core.values() if "learn" in one.writers]
        owners = {one.name: owner_in(one.scope, user_id, conversation_id) for one in rules}
        wanted = sorted({owner for owner in owners.values() if owner is not None})
        versions = {(one.owner, one.block): one for one in await self.store.core.newest(wanted)}
        found: dict[str, tuple[CoreRule, str, CoreVersion | None]] = {}
        for rule in rules:
            owner = owners[rule.name]
            if owner is not None:
                found[rule.name] = rule, owner, versions.get((owner, rule.name))
        return found


def _question(given: Material, exchanges: Sequence[Exchange], helper: Helper) -> str:
    """Return what the helper gets: blocks, the nearest items, the exchanges."""
    parts: list[str] = []
    for rule, _, version in given.blocks.values():
        text = block_text(rule, value_of(rule, version)[0])
        parts.append(f"[{rule.name}] {rule.heading}:\n{text}")
    blocks = [as_data("core", "\n\n".join(parts))] if parts else []
    lines = [f"{number}. {one.text}" for number, one in enumerate(given.nearest, 1)]
    known = [as_data("recall", "\n".join(lines))] if lines else []
    return "\n\n".join([*blocks, *known, exchanges_text(exchanges, helper)])
