"""What stands for the oldest messages of a run that is too long for its agent's window."""

from collections.abc import Sequence

from pydantic import BaseModel

from agents.agent import Agent
from agents.context.blocks import as_data, cut_to
from agents.context.view import text_of
from agents.costs.usage import NO_USAGE, Usage
from agents.events import EmitAgentEvent, ModelCalled
from agents.helper import Helper
from agents.messages import Message
from agents.model import Meter, ModelEvent, RequestEnded

# of what stands for a run's oldest messages
MAX_COMPACTED_TOKENS = 1000


class Shortened(BaseModel):
    """What a helper makes of a run's oldest messages."""

    summary: str


async def condense(
    agent: Agent,
    helper: Helper,
    messages: Sequence[Message],
    emit: EmitAgentEvent,
    meter: Meter | None,
) -> tuple[str, int, int, Usage]:
    """Let a helper condense messages: return the text, the tokens before and after, its usage.

    Args:
        agent: who is shown them.
        helper: that shortens them.
        messages: the oldest of a run.
        emit: gets the helper's requests.
        meter: reserves what they may cost.

    Raises:
        ModelError: the helper failed.
    """
    counted_by, used = agent.context.tokenizer, NO_USAGE
    # what is longer than the window is no request for a helper, either
    text = cut_to(text_of(messages), agent.context.window_tokens // 2, counted_by)

    async def tell(event: ModelEvent) -> None:
        nonlocal used
        if isinstance(event, RequestEnded):
            if event.outcome == "success":
                used += event.usage
            await emit(ModelCalled(helper.agent_id, helper.agent_id, event))

    answer = await helper.ask(as_data("messages", text), Shortened, tell, meter)
    short = cut_to(answer.summary, MAX_COMPACTED_TOKENS, counted_by)
    return short, counted_by.count(text), counted_by.count(answer.summary), used
