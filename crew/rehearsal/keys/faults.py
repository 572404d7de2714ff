"""What goes wrong in a rehearsal."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from agents.errors import ModelErrorCode
from crew.rehearsal.keys.durations import Duration
from crew.rehearsal.keys.texts import Json
from tools.schemas.yaml_shape import Shape, between_keys

ToolFailure = Literal["hang", "temporary", "error", "slow", "too_long"]
# by what a fault is about: what else goes with it
WITH = {
    "model": {"fail", "retry_after", "times", "call", "cut", "garbled", "slow"},
    "tool": {"fail", "times", "call", "kill", "event", "nth"},
    "kill": {"event", "tool", "nth"},
    "store": {"seconds"},
    "server": {"dies", "changes", "asks", "call", "times"},
    "client": {"at", "nth"},
    "reload": {"at", "nth"},
}


class Fault(Shape):
    """One thing that goes wrong, or changes, while a rehearsal is played."""

    model: str | None = None
    """The agent, or the provider, of which requests fail."""
    tool: str | None = None
    """The tool of which calls fail; with `kill`, the tool of the event."""
    kill: Literal["during", "after", "each"] | None = None
    """The process ends as by `kill -9`, and another one goes on with the run: while what the event
    says is done, or when the event is stored; `each`: once for every event of the rehearsal, which
    must end the same way each time."""
    store: Literal["fails"] | None = None
    """The store cannot be written for a while."""
    server: str | None = None
    """The MCP server, by its name in `tools`, of which calls fail."""
    dies: Literal["before", "during", "after"] | None = None
    """The server ends: before a call is sent, while it is made (no one knows whether it has acted),
    or when its result is there."""
    changes: str | None = None
    """This tool is no longer what mcp.lock.json says, so its call is refused."""
    asks: Literal["form"] | None = None
    """The server has a form for a person in the middle of the call; `form` of a person answers."""
    client: Literal["leaves"] | None = None
    """Who has started the run with a stream goes away, and `disconnect_grace_seconds` begins."""
    reload: dict[str, Json] = {}
    """Values of the crew's files by path, as in `set`, that are there from this event on: for new
    runs, such as the next of `turns`; a run that goes on keeps its own files."""
    at: str | None = None
    """Of client and reload: at the event of this type."""
    fail: ModelErrorCode | ToolFailure | None = None
    """How: of a model the code of a failure; of a tool hang, temporary, error, slow or too_long."""
    retry_after: Duration | None = None
    """What the model's server asks to wait."""
    times: Annotated[int, Field(ge=1)] = 1
    """So many requests or calls, one after the other."""
    call: Annotated[int, Field(ge=1)] = 1
    """From the so-many-th request or call on."""
    cut: Annotated[int, Field(ge=0)] | None = None
    """The answer breaks off after so many characters."""
    garbled: bool = False
    """The answer cannot be read."""
    slow: Duration | None = None
    """So long passes before the answer."""
    event: str | None = None
    """At the event of this type."""
    nth: Annotated[int, Field(ge=1)] = 1
    """At the so-many-th such event."""
    seconds: Duration = 10.0
    """How long the store fails."""

    @property
    def kind(self) -> str:
        """What it is about."""
        for name in ("kill", "model", "store", "server", "client"):
            if getattr(self, name) is not None:
                return name
        return "reload" if self.reload else "tool"

    @model_validator(mode="after")
    def _check(self) -> Self:
        kind = self.kind
        if kind == "tool" and self.tool is None:
            known = ", ".join(WITH)
            raise between_keys(f"a fault has one of {known}")
        for name in sorted(self.model_fields_set - {kind}):
            if name not in WITH[kind]:
                raise between_keys(f"{name} has no effect beside {kind}; remove it", name)
        if kind == "kill" and (self.event is None) != (self.kill == "each"):
            text = "kill each needs no event" if self.event else "kill needs an event"
            raise between_keys(f"{text}, such as tool_start", "kill")
        if kind == "tool" and self.fail not in ToolFailure.__args__:  # type: ignore[attr-defined]
            raise between_keys("a tool fails by hang, temporary, error, slow or too_long", "tool")
        if kind == "model" and not (self.fail or self.cut is not None or self.garbled or self.slow):
            raise between_keys("a model has one of fail, cut, garbled, slow", "model")
        if kind == "model" and self.fail in ToolFailure.__args__:  # type: ignore[attr-defined]
            raise between_keys(f"{self.fail} is of tools; a model has codes", "fail")
        if kind == "server" and sum(map(bool, (self.dies, self.changes, self.asks))) != 1:
            raise between_keys("a server has one of dies, changes, asks", "server")
        if kind in ("client", "reload") and self.at is None:
            raise between_keys(f"{kind} needs `at` with an event, such as agent_start", kind)
        return self
