"""Why a call of a model is not made: a budget has no room for it."""

from dataclasses import dataclass
from typing import Any, Literal

BudgetAct = Literal["block", "end", "pause", "model", "warn"]


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """A budget without room for a call, and what follows."""

    budget: str
    # of its scope: a run, a user, an agent; "" of the crew
    value: str
    # when its period began, as RFC 3339; "" for one without end
    period: str
    then: BudgetAct
    # in words, with all amounts, the line, and when it is free again
    text: str
    # USD, tokens or calls: used, of how many, and how many the call may need
    unit: str
    used: float
    limit: float
    wants: float
    # where the files say it, as `file:line`
    source: str
    # RFC 3339; "": never
    resets_at: str = ""
    # of `then: model`: its name
    model: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as clients get it."""
        return {
            "name": self.budget,
            "pot": self.value,
            "unit": self.unit,
            "used": self.used,
            "limit": self.limit,
            "wants": self.wants,
            "source": self.source,
            "resets_at": self.resets_at or None,
            "text": self.text,
        }
