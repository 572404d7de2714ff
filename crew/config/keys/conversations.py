"""The shapes of `conversations` and `helpers`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.endpoint import Address
from tools.schemas.yaml_shape import Shape

# by their names in `helpers`
HELPERS = ("title", "summary", "learn", "describe")


class ConversationsConfig(Shape):
    """Runs may be exchanges of a conversation, which the next one knows."""

    on_busy: Literal["reject", "queue"] = "reject"
    """What happens to a query while a run of its conversation is at work.

    `reject`: it is refused (409). `queue`: it starts when that run has ended; ten may wait (429).
    """
    title_after: Annotated[int, Field(ge=0, le=1000)] = 3
    """After so many exchanges helper `title` names the conversation; 0: never."""
    keep_days: Annotated[float, Field(gt=0, le=36_500)] | None = 30
    """A conversation is deleted so long after its last use; null: never."""
    max_exchanges: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Further runs of a conversation are refused (409)."""


class HelperConfig(Shape):
    """A model that works beside the runs; keys that are not given are those of `default`."""

    model: str | None = None
    """As in an agent's file; the entry agent's unless given."""
    provider: str | None = None
    """As in an agent's file; the entry agent's unless given."""
    provider_url: Address | None = None
    """Base URL, instead of the provider's own."""
    system_prompt: str | None = None
    """Its instructions, instead of the built-in ones."""
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Longest answer; 600 unless given."""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    """For one answer; 60 unless given."""


class HelpersConfig(Shape):
    """Models that work beside the runs."""

    title: HelperConfig | None = None
    """Names conversations."""
    summary: HelperConfig | None = None
    """Summarises older exchanges."""
    learn: HelperConfig | None = None
    """Finds what is worth remembering in exchanges."""
    describe: HelperConfig | None = None
    """Summarises documents."""
    default: HelperConfig | None = None
    """What the others do not say."""
    at_once: Annotated[int, Field(ge=1, le=100)] = 2
    """Chores that a process does at the same time."""

    def said(self, name: str, key: str) -> Any:
        """Return what is said of a helper, by its own entry or by `default`; None if nothing is."""
        for config in (getattr(self, name), self.default):
            if config is not None and getattr(config, key) is not None:
                return getattr(config, key)
        return None
