"""What is given in order, each so often, and what is left over."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Entry(Generic[T]):
    """Something that is given so often."""

    value: T
    # `file:line`
    source: str
    times: int | Literal["any"] = 1
    # it fails the rehearsal where it is not used
    is_needed: bool = True
    used: int = 0

    @property
    def is_left(self) -> bool:
        """Whether it can be given once more."""
        return self.times == "any" or self.used < self.times

    @property
    def is_unused(self) -> bool:
        """Whether it must be used, and was not, or not as often as it says."""
        if not self.is_needed:
            return False
        return self.used == 0 if self.times == "any" else self.used < self.times


@dataclass(slots=True)
class InOrder(Generic[T]):
    """Entries in their order."""

    entries: Sequence[Entry[T]]
    last: Entry[T] | None = field(default=None)

    def take(self, fits: Callable[[T], bool]) -> Entry[T] | None:
        """Take the first one that is left and fits; None where there is none."""
        for entry in self.entries:
            if entry.is_left and fits(entry.value):
                entry.used += 1
                self.last = entry
                return entry
        return None

    def unused(self) -> Iterator[Entry[T]]:
        """Yield what must be used and was not."""
        return (entry for entry in self.entries if entry.is_unused)
