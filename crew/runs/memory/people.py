"""What is remembered of people, for themselves: read, corrected and forgotten."""

from collections.abc import Callable

from crew.crew import Crew
from crew.journal.store import RunStore
from crew.runs.memory.core import CoreMemory
from crew.runs.memory.recall import RecallMemory


class PeopleMemory:
    """Of a crew, in its store."""

    def __init__(self, store: RunStore, crew: Callable[[], Crew]) -> None:
        """Of a store; `crew`: returns the newest, which says what is remembered."""
        self.core = CoreMemory(store, crew)
        self.recall = RecallMemory(store, crew)
