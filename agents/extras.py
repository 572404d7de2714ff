"""What a crew's files add to each request to a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Effort = Literal["none", "low", "medium", "high", "max"]


@dataclass(frozen=True, slots=True)
class ModelExtras:
    """Of one model of one agent."""

    # how much it thinks before it answers; None: as its provider does it
    thinking: Effort | None = None
    # JSON that is added to the body of each request
    body: Mapping[str, Any] = field(default_factory=dict)


NO_EXTRAS = ModelExtras()
