"""What an agent is shown of other agents' typed answers in its run."""

from pydantic_core import to_json

from agents.context.blocks import cut_to
from agents.context.loaded import Loaded, LoadedBlock
from agents.context.plan import ContextPlan
from crew.engine.context.sources import Look
from crew.journal.query import Query


class OutputsSource:
    """The newest typed answer of each agent that the plan names, as JSON."""

    def has_any(self, query: Query, plan: ContextPlan) -> bool:
        """See ContextSource."""
        return plan.outputs is not None

    async def load(self, look: Look) -> Loaded:
        """See ContextSource."""
        block = look.plan.outputs
        assert block is not None, "without one there is nothing to load"
        wanted = block.of or tuple(name for name in look.outputs if name != look.agent_id)
        known = [name for name in wanted if name in look.outputs]
        if not known:
            return Loaded()
        lines = [f"{name}: {to_json(look.outputs[name]).decode()}" for name in known]
        text = cut_to("\n".join(lines), block.max_tokens, look.plan.tokenizer)
        return Loaded(beside=(LoadedBlock("outputs", text, ids=tuple(known)),))
