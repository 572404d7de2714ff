"""What must hold at the end of a rehearsal."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from crew.rehearsal.keys.texts import CheckedText, Json, Texts
from tools.schemas.patterns import Pattern
from tools.schemas.yaml_shape import JsonObject, Shape, between_keys, resolve

# what a pause asks of a person
PauseKind = Literal["words", "approval", "unknown_outcome", "form", "plan", "budget"]
# any steps, in a path
ANY = ("…", "...")


def _as_end(value: Any) -> Any:
    return {"reason": value} if isinstance(value, str) else value


def _as_call(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


def _as_step(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        ((name, why),) = value.items()
        return {"name": name, "why": why}
    return {"name": value} if isinstance(value, str) else value


class ExpectedStep(Shape):
    """A step of the path: a name, or `name: why`."""

    name: str
    """An agent, a group, `pause`, `end`, or `…` for any steps."""
    why: str | None = None
    """What leads there: a signal, or default, handoff_target, order, group, output, no_answer."""


class ExpectedEnd(Shape):
    """How the run ends; a reason alone is one."""

    reason: str
    """As the event done or error has it."""
    code: str | None = None
    """Of a failure."""


class ExpectedCall(Shape):
    """Calls of tools; a tool's name alone is one."""

    tool: str | None = None
    """The tool."""
    agent: str | None = None
    """Who makes it."""
    arguments: JsonObject = {}
    """These at least: values, or {matches}, {min, max}, {any: true}."""
    times: Annotated[int, Field(ge=0)] | None = None
    """How often; once at least unless given."""
    status: Literal["success", "error", "timeout", "denied"] | None = None
    """How they end; unless given, those that were made."""
    attempts: Annotated[int, Field(ge=0)] | None = None
    """How often the tool is tried."""
    approved_by: str | None = None
    """Who has approved them."""
    after: str | None = None
    """A call of this tool comes before."""
    only: list[str] | None = None
    """No tools but these are called."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.only is None) == (self.tool is None):
            raise between_keys("a call has either tool or only")
        return self


class Occurrence(Shape):
    """Something that may happen; a mapping with one of its keys."""

    call: str | None = None
    """A call of this tool is made."""
    arguments: JsonObject = {}
    """With these arguments."""
    unless: Literal["approved"] | None = None
    """Unless a person has approved it."""
    agent: str | None = None
    """This agent speaks."""
    says: Pattern | None = None
    """An agent's answer fits this regular expression."""
    warning: str | None = None
    """A warning with this code."""
    signal: str | None = None
    """This signal leads on."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [self.call, self.agent, self.says, self.warning, self.signal]
        if sum(one is not None for one in given) != 1:
            raise between_keys("one of call, agent, says, warning, signal")
        if self.call is None and (self.arguments or self.unless):
            raise between_keys("arguments and unless go with call", "unless")
        return self


class ExpectedPause(Shape):
    """A pause."""

    agent: str | None = None
    """Who waits."""
    question: PauseKind | None = None
    """What a person is to decide."""
    calls: list[str] | None = None
    """The tools of the calls that it asks about, in their order."""
    until: str | None = None
    """When it is over, as RFC 3339; or how long it waits, such as 15m."""


class AskedAgent(Shape):
    """What the model of an agent is sent."""

    prompt: CheckedText | None = None
    """The system prompt."""
    words: CheckedText | None = None
    """The run's messages."""
    context: CheckedText | None = None
    """What stands before and beside them: blocks, and earlier exchanges."""
    tools: list[str] | None = None
    """Exactly these tools."""
    model: str | None = None
    """The model."""
    temperature: float | None = None
    """Its temperature."""
    nth: Annotated[int, Field(ge=1)] | Literal["all"] = "all"
    """Of its so-many-th request; of all of them unless given."""


class AtMost(Shape):
    """What the run may take."""

    rounds: int | None = None
    """Answers of models in the run itself, without groups, tasks and agents as tools."""
    handoffs: int | None = None
    """Handoffs."""
    model_calls: int | None = None
    """Requests to models, retries included."""
    tool_calls: int | None = None
    """Calls of tools."""
    tokens: int | None = None
    """Tokens in and out."""
    usd: float | None = None
    """Cost, by the prices of the agents."""
    seconds: float | None = None
    """Time of the rehearsal's clock."""
    wall_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Time of this machine's clock, for each play of it; 10 unless given."""


class Between(Shape):
    """A number between two others."""

    min: float | None = None
    """At least."""
    max: float | None = None
    """At most."""


class ExpectedMemory(Shape):
    """What is remembered at the end."""

    core: dict[str, CheckedText] = {}
    """By block: its text."""
    recall: list[CheckedText] = []
    """For each of these there is an item."""


class Judge(Shape):
    """What a model says of the final answer."""

    says: Annotated[str, Field(min_length=1)]
    """A statement that must be true of it, such as `names the host that is down`."""
    model: str
    """The model that judges: one of `models`, or PROVIDER/MODEL."""


def _as_objects(value: Any) -> Any:
    found = resolve(value)
    return [found] if isinstance(found, dict) else found


Step = Annotated[
    ExpectedStep,
    BeforeValidator(_as_step, json_schema_input_type=str | dict[str, str] | ExpectedStep),
]
Objects = Annotated[list[dict[str, JsonValue]], BeforeValidator(_as_objects)]


class Expect(Shape):
    """What must hold; all of it."""

    path: list[Step] | None = None
    """The agents and groups in order, with pause and end."""
    end: (
        Annotated[ExpectedEnd, BeforeValidator(_as_end, json_schema_input_type=str | ExpectedEnd)]
        | None
    ) = None
    """How the run ends."""
    answer: CheckedText | None = None
    """The final answer."""
    output: dict[str, Json] = {}
    """By agent: its newest typed answer has at least these fields."""
    calls: list[
        Annotated[
            ExpectedCall, BeforeValidator(_as_call, json_schema_input_type=str | ExpectedCall)
        ]
    ] = []
    """Each occurs."""
    never: list[Occurrence] = []
    """None of these happens."""
    pauses: list[ExpectedPause] | None = None
    """These pauses, in order; unless given, as many as answers."""
    warnings: list[str] | None = None
    """Exactly these codes; unless given, none but those of the faults that are given."""
    asked: dict[str, AskedAgent] = {}
    """By agent: what its model is sent."""
    at_most: AtMost = AtMost()
    """What the run may take."""
    seconds: Between | None = None
    """How long it takes, on the rehearsal's clock."""
    events: Objects = []
    """These events occur in this order, each with at least these parts."""
    notices: Objects = []
    """Each of these is sent to a channel of `notify`, with at least these parts."""
    memory: ExpectedMemory | None = None
    """What is remembered at the end."""
    title: CheckedText | None = None
    """The conversation's title at the end."""
    sources: Texts | None = None
    """The documents that the answer cites."""
    judge: list[Judge] = []
    """What models say of the answer; looked at by `crew test --model` alone."""

    @model_validator(mode="after")
    def _require_words(self) -> Self:
        if "calls" in self.model_fields_set and not self.calls:
            text = "calls has nothing in it; for no calls write `at_most: {tool_calls: 0}`"
            raise between_keys(text, "calls")
        for name in ("never", "output", "asked", "events", "notices"):
            if name in self.model_fields_set and not getattr(self, name):
                raise between_keys(f"{name} has nothing in it, so it cannot fail", name)
        if self.path and all(one.name in ANY for one in self.path):
            raise between_keys("any path fits this one, so it cannot fail", "path")
        for name, asked in self.asked.items():
            if not asked.model_fields_set:
                raise between_keys(f"asked says nothing of {name}, so it cannot fail", "asked")
        return self

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing that could fail."""
        given = {one for one in self.model_fields_set if getattr(self, one) is not None}
        return not (given - {"at_most", "judge"}) and not (
            self.at_most.model_fields_set - {"wall_seconds"}
        )
