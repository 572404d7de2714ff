"""What goes wrong with models and tools, and when."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from agents.config import ModelConfig
from agents.errors import ModelError
from agents.model import ModelRequest
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.faults import Fault
from tools.clock import Clock


@dataclass(slots=True)
class Faults:
    """The faults of a rehearsal, and how often each could have occurred."""

    case: Case
    seen: Counter[int] = field(default_factory=Counter)
    used: Counter[int] = field(default_factory=Counter)

    async def occur(self, config: ModelConfig, request: ModelRequest, clock: Clock) -> int | None:
        """Let go wrong what goes wrong with a request, which counts as made.

        Returns:
            After how many characters the answer breaks off; None: it does not.

        Raises:
            ModelError: it fails.
        """
        fault = self._find("model", (request.agent_id, config.provider))
        if fault is None:
            return None
        if fault.slow is not None:
            await clock.sleep(fault.slow)
        if fault.fail is not None:
            text = f"{config.model}: a fault of the rehearsal: {fault.fail}"
            # the code is one of models: the file was checked
            raise ModelError(fault.fail, text, retry_after_seconds=fault.retry_after)  # type: ignore[arg-type]
        if fault.garbled:
            raise ModelError("unreadable", f"{config.model}: a fault of the rehearsal: garbled")
        return fault.cut

    def tool(self, name: str) -> Fault | None:
        """Return what goes wrong with an attempt of a call; it counts as made."""
        return self._find("tool", (name,))

    def server(self, name: str, tool: str) -> Fault | None:
        """Return what goes wrong with a call of an MCP server's tool; it counts as made."""
        fault = self._find("server", (name,)) if name else None
        # another tool of it is as it was
        return None if fault is not None and fault.changes not in (None, tool) else fault

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
