"""What an agent is shown of core memory."""

from agents.context.blocks import cut_to
from agents.context.loaded import Loaded, LoadedBlock
from agents.context.plan import ContextPlan
from agents.marks import quote_member_marks
from crew.engine.context.sources import Look
from crew.journal.query import Query
from crew.journal.records.remembered.core import owner_in
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
            (look.memory.core[name], owner)
            for name in block.names
            if (
                owner := owner_in(
                    look.memory.core[name].scope, query.user_id, query.conversation_id
                )
            )
        ]
        if not owned:
            return Loaded()
        found = await look.in_time(look.store.core.newest(sorted({owner for _, owner in owned})))
        if found is None:
            return Loaded((LoadedBlock("core", load_millis=look.millis, is_late=True),))
        newest = {(one.owner, one.block): one for one in found}
        shown: list[tuple[str, str, int]] = []
        problems: list[str] = []
        left = block.max_tokens
        for rule, owner in owned:
            version = newest.get((owner, rule.name))
            value, wrong = value_of(rule, version)
            problems += [f"{rule.name}: {one}" for one in wrong]
            text = cut_to(_shown(rule, block_text(rule, value)), left, look.plan.tokenizer)
            left -= look.plan.tokenizer.count(text)
            if left <= 0 and shown:
                problems.append(f"{rule.name}: there is no room within context's max_tokens")
                break
            shown.append((rule.name, text, version.version if version is not None else 0))
        loaded = LoadedBlock(
            "core",
            "\n\n".join(text for _, text, _ in shown),
            tuple(name for name, _, _ in shown),
            tuple(number for _, _, number in shown),
            look.millis,
            problems=tuple(problems),
        )
        names = {name for name, _, _ in shown}
        known = [newest.get((owner, rule.name)) for rule, owner in owned if rule.name in names]
        sources = (name for one in known if one is not None for name in one.taint)
        return Loaded((loaded,), taint=tuple(dict.fromkeys(sources)))


def _shown(rule: CoreRule, text: str) -> str:
    """Return a block with its name; no line of its text can pass for the name of another one."""
    return f"[{rule.name}]\n{rule.heading}:\n{quote_member_marks(text)}"
