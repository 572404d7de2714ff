"""What an agent is shown of its documents: their names, and what they are about."""

from agents.context.loaded import Loaded, LoadedBlock
from agents.context.plan import ContextPlan
from crew.documents.passages import document_line, newest_names
from crew.engine.context.sources import Look
from crew.journal.query import Query

# that are looked at
MAX_LISTED = 1000
HEAD, HEAD_OF_OTHERS = "Documents that can be searched and read:", "Documents that there are:"


class DocumentsSource:
    """The documents of an agent's collections."""

    def has_any(self, query: Query, plan: ContextPlan) -> bool:
        """See ContextSource."""
        return plan.documents is not None

    async def load(self, look: Look) -> Loaded:
        """See ContextSource."""
        block, query, rules = look.plan.documents, look.query, look.documents
        assert block is not None, "without one there is nothing to load"
        owners = list(rules.owners(block.collections, query.user_id, query.conversation_id))
        if not owners:
            return Loaded()
        found = await look.in_time(look.store.documents.listed(owners, MAX_LISTED))
        millis = look.millis
        if found is None:
            return Loaded(beside=(LoadedBlock("documents", load_millis=millis, is_late=True),))
        known = newest_names(found)
        lines, left = [HEAD if block.reads else HEAD_OF_OTHERS], block.max_tokens
        for number, one in enumerate(known):
            line = document_line(one)
            left -= look.plan.tokenizer.count(line) + 1
            if left < 0 and len(lines) > 1:
                see = ": see ListDocuments" if block.reads else ""
                lines.append(f"({len(known) - number} more{see})")
                break
            lines.append(line)
        if not known:
            return Loaded(beside=(LoadedBlock("documents", load_millis=millis),))
        shown = known[: len(lines) - 1]
        ids = tuple(one.document_id for one in shown)
        names = dict.fromkeys(one.collection for one in shown)
        return Loaded(
            beside=(LoadedBlock("documents", "\n".join(lines), ids, load_millis=millis),),
            taint=tuple(name for name in names if rules.collections[name].is_untrusted),
        )
