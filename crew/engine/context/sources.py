"""What a source of context is, and the time that it has."""

from collections.abc import Awaitable, Container, Mapping
from typing import Any, Protocol, TypeVar

from agents.context.loaded import Loaded
from agents.context.plan import ContextPlan
from agents.model import EmitModelEvent, ignore_event
from crew.assembly.embedders import Embedding
from crew.documents.rules import DocumentRules
from crew.engine.memory.finding import Within
from crew.journal.query import Query
from crew.journal.store import RunStore
from crew.memory.rules import MemoryRules
from tools.clock import Clock

T = TypeVar("T")
Outputs = Mapping[str, Mapping[str, Any]]
NO_MEMORY = MemoryRules()
NO_DOCUMENTS = DocumentRules()
NO_EMBEDDINGS: Mapping[str, Embedding] = {}


class Look:
    """One look for what an agent is to be shown, within the time that its plan gives."""

    def __init__(
        self,
        agent_id: str,
        query: Query,
        outputs: Outputs,
        store: RunStore,
        plan: ContextPlan,
        clock: Clock,
        silent: Container[str] = (),
        memory: MemoryRules = NO_MEMORY,
        words: str = "",
        documents: DocumentRules = NO_DOCUMENTS,
        embeddings: Mapping[str, Embedding] = NO_EMBEDDINGS,
        count: EmitModelEvent = ignore_event,
    ) -> None:
        """Begin to look.

        Args:
            agent_id: who is shown it.
            query: names the user and the conversation.
            outputs: by agent, its newest typed answer in the run.
            store: has what may be shown.
            plan: how much of what is wanted.
            clock: of the time.
            silent: agents the typed answers of which are for no other agent.
            memory: what the crew remembers.
            words: what the person has said, the query and the newest answer.
            documents: what collections the crew has.
            embeddings: how texts get vectors, by collection.
            count: gets the requests for vectors.
        """
        self.silent, self.memory, self.words = silent, memory, words
        self.documents = documents
        self.agent_id, self.query, self.outputs = agent_id, query, outputs
        self.store, self.plan, self.clock = store, plan, clock
        self.embeddings, self.count = embeddings, count
        self.within = Within(clock, plan.load_timeout_seconds)

    @property
    def millis(self) -> float:
        """Since the beginning."""
        return (self.clock.monotonic() - self.within.started) * 1000

    async def in_time(self, loading: Awaitable[T]) -> T | None:
        """Return what is loaded; None where that takes too long, or fails."""
        return await self.within.load(loading)


class ContextSource(Protocol):
    """Loads what agents are shown: blocks beside the conversation, or earlier messages of it.

    A source keeps nothing of a run: one object serves all.
    """

    def has_any(self, query: Query, plan: ContextPlan) -> bool:
        """Return whether there may be anything; what has nothing costs nothing."""
        ...

    async def load(self, look: Look) -> Loaded:
        """Load it; what is late, or cannot be loaded, is said in its block."""
        ...
