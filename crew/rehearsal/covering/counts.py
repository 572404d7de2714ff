"""How much of a crew its rehearsals check."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crew.rehearsal.covering.units import AREAS, Area, Unit
from crew.routing.graph import Edge


@dataclass(slots=True)
class CoverageCounts:
    """Of all rehearsals together."""

    units: Sequence[Unit]
    # by key: whether it is checked; what is not taken has no entry
    taken: dict[str, bool] = field(default_factory=dict)

    def add(self, taken: Mapping[str, bool]) -> None:
        """Add what one rehearsal has taken."""
        for key, is_checked in taken.items():
            self.taken[key] = self.taken.get(key, False) or is_checked

    def counts(self) -> dict[Area, tuple[int, int]]:
        """Return for each area how many units are checked, and how many there are."""
        return {
            area: (
                sum(self.taken.get(one.key, False) for one in self.units if one.area == area),
                sum(one.area == area for one in self.units),
            )
            for area in AREAS
        }

    def percent(self, area: Area) -> float:
        """Return how much of an area is checked; 100 where there is nothing."""
        checked, known = self.counts()[area]
        return 100.0 * checked / known if known else 100.0

    def unchecked(self) -> Iterator[tuple[Unit, bool]]:
        """Yield the units that no rehearsal checks, and whether any takes them."""
        for unit in self.units:
            if not self.taken.get(unit.key, False):
                yield unit, unit.key in self.taken

    def untaken(self) -> set[Edge]:
        """Return the edges of the graph that no rehearsal takes."""
        edges = ((one.edge, one.key in self.taken) for one in self.units)
        return {edge for edge, is_taken in edges if edge is not None and not is_taken}

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        areas: dict[str, Any] = {
            area: {"checked": checked, "known": known}
            for area, (checked, known) in self.counts().items()
        }
        known = ((one.edge, one.key in self.taken) for one in self.units)
        areas["edges"] = [
            {"from": edge.from_, "to": edge.to, "label": edge.label, "taken": is_taken}
            for edge, is_taken in known
            if edge is not None
        ]
        areas["unchecked"] = [
            {"area": unit.area, "text": unit.text, "source": unit.source, "taken": is_taken}
            for unit, is_taken in self.unchecked()
        ]
        return areas
