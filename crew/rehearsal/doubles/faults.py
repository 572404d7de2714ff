"""What goes wrong with models and tools, and when."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.faults import Fault


@dataclass(slots=True)
class Faults:
    """The faults of a rehearsal, and how often each could have occurred."""

    case: Case
    seen: Counter[int] = field(default_factory=Counter)
    used: Counter[int] = field(default_factory=Counter)

    def model(self, agent_id: str, provider: str) -> Fault | None:
        """Return what goes wrong with a request; it counts as made."""
        return self._find("model", (agent_id, provider))

    def tool(self, name: str) -> Fault | None:
        """Return what goes wrong with an attempt of a call; it counts as made."""
        return self._find("tool", (name,))

    def _find(self, kind: str, names: tuple[str, ...]) -> Fault | None:
        found: Fault | None = None
        for number, fault in enumerate(self.case.keys.faults):
            if fault.kind != kind or getattr(fault, kind) not in names:
                continue
            self.seen[number] += 1
            first = fault.call
            if found is None and first <= self.seen[number] < first + fault.times:
                self.used[number] += 1
                found = fault
        return found

    def of_kind(self, kind: str) -> Iterator[tuple[int, Fault]]:
        """Yield the faults of a kind, with their numbers."""
        for number, fault in enumerate(self.case.keys.faults):
            if fault.kind == kind:
                yield number, fault

    def unused(self) -> Iterator[int]:
        """Yield the numbers of those that have not occurred."""
        return (number for number in range(len(self.case.keys.faults)) if not self.used[number])
