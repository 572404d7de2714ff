"""All that a crew remembers beside its conversations, as the configuration says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from crew.memory.core import CoreRule
from crew.memory.recall import RecallRule


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """Of a crew."""

    # blocks of core memory, by their names
    core: Mapping[str, CoreRule] = field(default_factory=dict)
    # None: there is no recall memory
    recall: RecallRule | None = None

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.core) or self.recall is not None
