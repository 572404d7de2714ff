"""What a crew's files add to each request to a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Effort = Literal["none", "low", "medium", "high", "max"]
PromptCache = Literal["5m", "1h", "off"]
# providers take no smaller budget
MIN_THINKING_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class ModelExtras:
    """Of one model of one agent."""

    # how much it thinks before it answers; None: as its provider does it
    thinking: Effort | None = None
    # the same in tokens, for providers that count it so
    thinking_tokens: int | None = None
    # how long a provider keeps the beginning of a request that it has marks for
    prompt_cache: PromptCache = "5m"
    # the same for all requests of an agent in a revision; "": there is none
    cache_key: str = ""
    # what it thinks is wanted, for people
    shows_thinking: bool = False
    # the name that the files have for it; "" where they have none
    alias: str = ""
    # it takes images
    images: bool = True
    # JSON that is added to the body of each request
    body: Mapping[str, Any] = field(default_factory=dict)


NO_EXTRAS = ModelExtras()
