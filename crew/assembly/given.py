"""What a program gives to a crew beside its files."""

from typing import Protocol

from agents.tokenizing.tokens import TokenRatios
from agents.wrappers.budget import DailyUsage
from agents.wrappers.places import Places
from tools.clock import Clock
from tools.context import FindSecret
from tools.limits.retry import Jitter
from tools.text.secrets import Secrets


class Given(Protocol):
    """What a program gives to a crew beside its files."""

    @property
    def provider(self) -> str | None:
        """Used for every agent instead of its own, without backups."""
        ...

    @property
    def asks(self) -> bool:
        """Whether models are called."""
        ...

    @property
    def clock(self) -> Clock:
        """Of all runs."""
        ...

    @property
    def jitter(self) -> Jitter:
        """Of waits before retries."""
        ...

    @property
    def daily_usage(self) -> dict[str, DailyUsage]:
        """Of each agent, by its id; shared by all revisions of the crew."""
        ...

    @property
    def places(self) -> Places:
        """For agents with `max_concurrent`; shared by all revisions of the crew."""
        ...

    @property
    def token_ratios(self) -> TokenRatios:
        """How providers count; shared by all revisions of the crew."""
        ...

    @property
    def secrets(self) -> Secrets:
        """What no model is sent."""
        ...

    @property
    def find_secret(self) -> FindSecret:
        """What tools ask for the environment."""
        ...
