"""What a program gives to a crew beside its files."""

from collections.abc import Callable
from typing import Protocol

from agents.config import ModelConfig
from agents.model import Model
from agents.tokenizing.tokens import TokenRatios
from agents.wrappers.places import Places
from tools.clock import Clock
from tools.context import FindSecret
from tools.definition import Tool
from tools.limits.retry import Jitter
from tools.text.secrets import Secrets


class Doubles(Protocol):
    """What stands in for all that a crew would reach: models and what tools do.

    It stands below the rest: retries, breakers, approvals and deadlines are around it.
    """

    @property
    def calls_models(self) -> bool:
        """Whether the models themselves answer: then they need their keys."""
        ...

    def model(
        self, config: ModelConfig, script: Model | None, itself: Callable[[], Model]
    ) -> Model:
        """Return what answers in place of a model.

        Args:
            config: names the model.
            script: answers by script.yaml; None where there is none.
            itself: makes the model; raises ProviderError.
        """
        ...

    def helps(self, helper: str) -> bool:
        """Return whether it answers in place of a helper, also without a rule of script.yaml."""
        ...

    def tool(self, tool: Tool, result: str | None) -> Tool:
        """Return a tool in place of another one.

        Args:
            tool: as the crew has it.
            result: of its calls, by script.yaml; None where it says nothing.
        """
        ...


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
    def doubles(self) -> Doubles | None:
        """What stands in for models and tools, if anything does."""
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
