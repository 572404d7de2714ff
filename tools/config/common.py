"""The keys that every kind of tool has."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from tools.approval import ApprovalRule
from tools.calls import MAX_SHOWN_CHARS
from tools.config.approval import GivenApproval, rule_of
from tools.definition import Component, Effect
from tools.limits.guards import BreakerLimits, CallLimits
from tools.schemas.yaml_shape import JsonObject, Name, Shape, form_of

Seconds = Annotated[float, Field(gt=0, le=3600)]
Prefix = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,40}$")]


class LimitsConfig(Shape):
    """How many calls of a tool may run at the same time, and begin in a second."""

    max_concurrent: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Calls that run at the same time, in one process; others wait, at most their own timeout."""
    rate_per_second: Annotated[float, Field(gt=0, le=100_000)] | None = None
    """Calls that begin in a second, in one process."""
    burst: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Calls that may begin at once after a pause."""

    def live(self) -> CallLimits:
        """Return as the executor takes them."""
        return CallLimits(self.max_concurrent, self.rate_per_second, self.burst)


class BreakerConfig(Shape):
    """When calls of a tool that does not work are refused at once."""

    failures: Annotated[int, Field(ge=1, le=1000)] = 5
    """In a row: timeouts, network errors, temporary errors, and HTTP statuses from 500 on."""
    open_seconds: Seconds = 30
    """Calls are refused for so long; then one is made to see whether it works again."""

    def live(self) -> BreakerLimits:
        """Return as the executor takes them."""
        return BreakerLimits(self.failures, self.open_seconds)


# a mapping with its limits, or whether there is one
BreakerSetting = (
    Annotated[
        Annotated[BreakerConfig, Tag("mapping")] | Annotated[bool, Tag("scalar")],
        Discriminator(form_of),
    ]
    | None
)


def limits_of(given: BreakerConfig | bool | None, *, unless_given: bool) -> BreakerLimits | None:
    """Return the limits of a breaker; None: there is none."""
    if isinstance(given, BreakerConfig):
        return given.live()
    is_on = unless_given if given is None else given
    return BreakerLimits() if is_on else None


class ShowConfig(Shape):
    """What shows the output of a tool to people."""

    component: Name
    """As the pages know it that show it."""
    text: str | None = None
    """JSON pointer of the part that models get, and direct answers; all of it unless given."""

    def live(self) -> Component:
        """Return as the executor takes it."""
        return Component(self.component, self.text)


def _as_component(value: Any) -> Any:
    return {"component": value} if isinstance(value, str) else value


Show = Annotated[
    ShowConfig, BeforeValidator(_as_component, json_schema_input_type=str | ShowConfig)
]


class CommonTool(Shape):
    """What an entry of any kind may have."""

    # whether a breaker is there unless given: what is behind the tool is a server
    breaks: ClassVar[bool] = False
    # whether what it gives is of others, unless `untrusted` says so
    gives_untrusted: ClassVar[bool] = False

    timeout_seconds: Seconds | None = None
    """Of one attempt; `settings.tool_execution_timeout_seconds` unless given."""
    retries: Annotated[int, Field(ge=0, le=20)] | None = None
    """After the first attempt; `settings.tool_retries` unless given."""
    effect: Effect | None = None
    """`read` and `idempotent` may be tried again; `once` never, once it may have acted."""
    requires_approval: GivenApproval = None
    """A person must approve each call, or those that a mapping says: the run pauses before it."""
    max_output_kb: Annotated[int, Field(ge=1, le=10_240)] = 64
    """Of a result, x 1,024 bytes; the middle of a longer one is left out."""
    shown_chars: Annotated[int, Field(ge=1, le=MAX_SHOWN_CHARS)] | None = None
    """Of an output, as the model is shown it, beside `settings.max_total_tool_output_chars`; else
    `settings.max_tool_output_chars`."""
    respond: Literal["model", "direct"] = "model"
    """`direct`: where all calls of an answer are direct and succeed, their output is the run's
    answer."""
    show: Show | None = None
    """A component that shows the output, which is JSON, to people: the event `show`."""
    cache_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    """How long a result of a tool that reads is used for the same call, for the same user."""
    cache_shared: bool = False
    """For all users."""
    untrusted: bool | None = None
    """What it gives is text of others, see `settings.after_untrusted`; unless given, true for http,
    openapi and mcp."""
    limits: LimitsConfig | None = None
    """How many calls may run at the same time, and begin in a second."""
    breaker: BreakerSetting = None
    """When calls are refused since the tool does not work; `false`: never. On for http and mcp,
    unless given."""

    @property
    def approval(self) -> ApprovalRule | None:
        """When a person is asked; None: never, or as the function says."""
        return rule_of(self.requires_approval)

    @property
    def is_untrusted(self) -> bool:
        """Whether what it gives is text of others."""
        return self.gives_untrusted if self.untrusted is None else self.untrusted

    @property
    def breaker_limits(self) -> BreakerLimits | None:
        """When calls are refused since the tool does not work; None: never."""
        return limits_of(self.breaker, unless_given=self.breaks)


class OneTool(CommonTool):
    """What an entry that describes one tool may have beside that."""

    description: str | None = None
    """What the model reads about the tool."""
    parameters: JsonObject | None = None
    """JSON schema of the arguments, which is an object's."""


class SeveralTools(CommonTool):
    """What an entry that describes several tools may have beside that."""

    prefix: Prefix | None = None
    """Of the tools' names; the entry's name and `_` unless given."""

    def prefix_of(self, entry: str) -> str:
        """Return how the names of the tools begin; `entry`: the entry's name."""
        return f"{entry}_" if self.prefix is None else self.prefix
