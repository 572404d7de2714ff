"""What each agent of a run is shown, from all sources."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from agents.agent import Agent
from agents.context.loaded import NOTHING, Context, Loaded, LoadedBlock
from agents.context.plan import ContextPlan
from crew.crew import Crew
from crew.engine.context.attached import load_attached
from crew.engine.context.conversation import ConversationSource
from crew.engine.context.core import CoreSource
from crew.engine.context.documents import DocumentsSource
from crew.engine.context.outputs import OutputsSource
from crew.engine.context.recall import RecallSource
from crew.engine.context.sources import ContextSource, Look
from crew.engine.memory.counting import counting_of_run
from crew.engine.taint import Taint
from crew.journal.said import attached_by_person, words_of_person
from crew.journal.state import RunState
from crew.journal.store import RunStore

SOURCES: tuple[ContextSource, ...] = (
    CoreSource(),
    ConversationSource(),
    RecallSource(),
    OutputsSource(),
    DocumentsSource(),
)


class Contexts:
    """Of one run: a Context for each segment of an agent's turns."""

    def __init__(self, crew: Crew, state: RunState, store: RunStore, taint: Taint) -> None:
        self.crew, self.state, self.store, self.taint = crew, state, store, taint
        # by agent, group and part (a task, or a call), with the handoffs before it
        self._known: dict[tuple[str, str | None, str], tuple[int, Context]] = {}

    def of(self, agent: Agent, group: str | None, part: str) -> Context:
        """Return the agent's context, in the segment that it is in now."""
        handoffs, known = self._known.get((agent.id, group, part), (-1, None))
        if known is None or handoffs != self.state.handoffs:
            # of the parts: with this object in it, neither would be freed before a full collection
            note = partial(self.taint.by_context, agent.id, group)
            known = Context(partial(_load, self.crew, self.state, self.store, agent, note))
            self._known[agent.id, group, part] = self.state.handoffs, known
        return known


async def _load(
    crew: Crew,
    state: RunState,
    store: RunStore,
    agent: Agent,
    note: Callable[[Sequence[str]], None],
) -> Loaded:
    plan = agent.context
    wanted = [source for source in SOURCES if source.has_any(state.query, plan)]
    attached = attached_by_person(state.query, state.said)
    if not wanted and not attached:
        return NOTHING
    query, *answers = words_of_person(state.query.text, state.said)
    words = "\n".join([query, *answers[-1:]])
    look = Look(
        *(agent.id, state.query, state.outputs, store, plan, crew.clock),
        *(crew.silent, crew.memory, words, crew.documents, crew.embeddings),
        counting_of_run(crew, store, state),
    )
    loaded = await asyncio.gather(*(source.load(look) for source in wanted))
    sent = await load_attached(look, attached) if attached else NOTHING
    taint = tuple(source for one in (*loaded, sent) for source in one.taint)
    # before any model is sent it
    note(taint)
    return Loaded(
        _in_order([block for one in loaded for block in one.before], plan),
        _in_order([block for one in loaded for block in one.beside], plan),
        tuple(exchange for one in loaded for exchange in one.past),
        max((one.history_millis for one in loaded), default=0.0),
        any(one.history_is_late for one in loaded),
        is_conversation=any(one.is_conversation for one in loaded),
        taint=taint,
        images=sent.images,
    )


def _in_order(blocks: list[LoadedBlock], plan: ContextPlan) -> tuple[LoadedBlock, ...]:
    """Return blocks as the configuration lists their kinds."""
    if len(blocks) > 1:
        blocks.sort(key=lambda one: plan.order.index(one.kind))
    return tuple(blocks)
