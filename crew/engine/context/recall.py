"""What an agent is shown of recall memory: items that the person's words find."""

from agents.context.blocks import cut_to
from agents.context.loaded import Loaded, LoadedBlock
from agents.context.plan import ContextPlan
from crew.engine.context.sources import Look
from crew.engine.memory.finding import Finder, Within
from crew.journal.query import Query
from crew.journal.records.remembered.core import owner_in
from crew.memory.recall import item_line, taint_of, touched_ids
from tools.clock import rfc3339


class RecallSource:
    """The best items of the user, or of the conversation."""

    def has_any(self, query: Query, plan: ContextPlan) -> bool:
        """See ContextSource."""
        return plan.recall is not None and bool(query.user_id or query.conversation_id)

    async def load(self, look: Look) -> Loaded:
        """See ContextSource."""
        block, rule = look.plan.recall, look.memory.recall
        assert block is not None, "without one there is nothing to load"
        query = look.query
        if rule is None:
            return Loaded()
        owner = owner_in(rule.scope, query.user_id, query.conversation_id)
        if owner is None:
            return Loaded()
        store, now = look.store, look.store.now()
        search = rule.search(owner, look.words, block.most, now, block.min_score)
        finder = Finder(look.embeddings, store, look.within, look.count, waits=False)
        found = await finder.items(search, look.words)
        millis = look.millis
        if found is None:
            return Loaded(beside=(LoadedBlock("recall", load_millis=millis, is_late=True),))
        lines: list[str] = []
        ids: list[str] = []
        left = block.max_tokens
        for item in found:
            line = item_line(item)
            tokens = look.plan.tokenizer.count(line) + 1
            if tokens > left:
                # the first is shown at least in part
                lines += [] if lines else [cut_to(line, left, look.plan.tokenizer)]
                ids += [] if ids else [item.item_id]
                break
            left -= tokens
            lines.append(line)
            ids.append(item.item_id)
        if old := touched_ids(found[: len(ids)], now):
            # with as much time again; what is not noted now is noted the next time
            touching = store.recall.touch(owner, old, rfc3339(now))
            await Within(look.clock, look.plan.load_timeout_seconds).load(touching)
        loaded = LoadedBlock("recall", "\n".join(lines), tuple(ids), load_millis=millis)
        return Loaded(beside=(loaded,), taint=taint_of(found[: len(ids)]))
