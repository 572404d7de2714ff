"""What an agent is shown of core memory."""

from agents.context.blocks import cut_to
from agents.context.loaded import Loaded, LoadedBlock
from agents.context.plan import ContextPlan
from crew.engine.context.sources import Look
from crew.journal.query import Query
from crew.journal.records.core import owner_in
from crew.memory.core import CoreRule, block_text, value_of


class CoreSource:
    """Blocks of the user, of the conversation and of the crew, each as it is now."""

    def has_any(self, query: Query, plan: ContextPlan) -> bool:
        """See ContextSource."""
        return plan.core is not None

    async def load(self, look: Look) -> Loaded:
        """See ContextSource."""
        block = look.plan.core
        assert block is not None, "without one there is nothing to load"
        query = look.query
        owned = [
            (look.core[name], owner)
            for name in block.names
            if (owner := owner_in(look.core[name].scope, query.user_id, query.conversation_id))
        ]
        if not owned:
            return Loaded()
        found = await look.in_time(look.store.core.newest(sorted({owner for _, owner in owned})))
        if found is None:
            return Loaded((LoadedBlock("core", load_millis=look.millis, is_late=True),))
        newest = {(one.owner, one.block): one for one in found}
        texts: list[str] = []
        versions: list[int] = []
        problems: list[str] = []
        for rule, owner in owned:
            version = newest.get((owner, rule.name))
            value, wrong = value_of(rule, version)
            texts.append(_shown(rule, block_text(rule, value)))
            versions.append(version.version if version is not None else 0)
            problems += [f"{rule.name}: {one}" for one in wrong]
        loaded = LoadedBlock(
            "core",
            cut_to("\n\n".join(texts), block.max_tokens, look.plan.tokenizer),
            tuple(rule.name for rule, _ in owned),
            tuple(versions),
            look.millis,
            problems=tuple(problems),
        )
        return Loaded((loaded,))


def _shown(rule: CoreRule, text: str) -> str:
    return f"[{rule.name}] {rule.description}:\n{text}"
