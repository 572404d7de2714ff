"""The shape of `budgets`: what calls of models may cost together."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from tools.schemas.yaml_shape import Shape, between_keys, form_of

Part = Annotated[str, AfterValidator(lambda text: _checked_part(text))]
# more digits would have no effect
PART = re.compile(r"[0-9]{1,3}(\.[0-9])?%")
# of a number of tokens or calls
MOST = 10**15


def _checked_part(text: str) -> str:
    if not PART.fullmatch(text) or not 0 < thousandths(text) <= 1000:
        raise ValueError("write a part of the limit, such as 80% or 99.5%")
    return text


def thousandths(part: str) -> int:
    """Return a part of a limit, such as 80%, in thousandths."""
    return round(float(part.removesuffix("%")) * 10)


class OtherModel(Shape):
    """Another model takes the place of the agent's own."""

    model: str
    """One of `models`, with lower prices, for the rest of the run."""


class BudgetConfig(Shape):
    """What calls of models may cost together, over restarts and machines."""

    scope: Literal["run", "conversation", "user", "token", "agent", "crew", "schedule", "hook"]
    """Each value of it has a pot of its own; calls without one (no user) have none."""
    per: Literal["hour", "day", "week", "month", "total"] | None = None
    """How long a pot lasts, by `settings.timezone`; not for scope `run`."""
    usd: Annotated[float, Field(ge=1e-9, le=1e9)] | None = None
    """USD, by the prices of the models."""
    tokens: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Tokens, in and out."""
    calls: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Requests to models."""
    agents: list[str] = []
    """That count; all unless given."""
    models: list[str] = []
    """That count, by the names that agents have as their `model`; all unless given."""
    warn: list[Part] = ["80%"]
    """Parts of the limit at which a run is warned, each once a pot."""
    notify: list[str] = []
    """Channels that get these warnings, and that there is no room: each once a pot."""
    then: Annotated[
        Annotated[OtherModel, Tag("mapping")]
        | Annotated[Literal["block", "end", "pause", "warn"], Tag("scalar")],
        Discriminator(form_of),
    ] = "block"
    """What becomes of a run without room: `block`: it fails, `end`: it ends with what it has,
    `pause`: a person decides, `{model: NAME}`: another model answers, `warn`: a warning alone."""
    reserve: Literal["likely", "worst"] = "likely"
    """What a call reserves before it is made: what most of the agent's answers need, or the most
    that it may use."""
    wait_seconds: Annotated[float, Field(ge=0, le=3600)] = 30
    """How long a call waits for room that others have reserved."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.scope == "run" and self.per is not None:
            raise between_keys("a run has one pot; leave out `per`", "per")
        if self.scope != "run" and self.per is None:
            raise between_keys("give `per`: hour, day, week, month or total")
        if self.usd is None and self.tokens is None and self.calls is None:
            raise between_keys("give a limit: usd, tokens or calls")
        return self
