"""When a call of a tool needs a person's approval."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from tools.approval import ApprovalRule, Condition, OnDeadline, Remember
from tools.schemas.yaml_shape import Pattern, Shape, between_keys, form_of, resolve

Value = Annotated[Any, BeforeValidator(resolve)]
Scalar = Annotated[str | float | bool | None, BeforeValidator(resolve)]


class ConditionConfig(Shape):
    """What an argument must be; everything that is given must hold."""

    above: float | None = None
    """A number above this one."""
    below: float | None = None
    """A number below this one."""
    matches: Pattern | None = None
    """A text in which this regular expression is found."""
    not_: Annotated[Value, Field(alias="not")] = None
    """Anything but this value, or any of this list."""

    @model_validator(mode="after")
    def _require_room(self) -> Self:
        above, below = self.above, self.below
        if above is not None and below is not None and above >= below:
            text = (
                f"no number is above {above:g} and below {below:g}, so nobody would ever be asked; "
                "to ask outside of a range, write a list: [{x: {below: 1}}, {x: {above: 9}}]"
            )
            raise between_keys(text, "below")
        return self

    def live(self) -> Condition:
        """Return as the executor takes it."""
        other_than = _values(self.not_) if "not_" in self.model_fields_set else None
        return Condition(None, self.above, self.below, self.matches, other_than)


Conditions = dict[
    str,
    Annotated[
        Annotated[ConditionConfig, Tag("mapping")]
        | Annotated[list[Value], Tag("list")]
        | Annotated[Scalar, Tag("scalar")],
        Discriminator(form_of),
    ],
]


class ApprovalConfig(Shape):
    """When a call needs a person's approval, and what the person may do."""

    when: Annotated[
        Annotated[Conditions, Tag("mapping")] | Annotated[list[Conditions], Tag("list")],
        Discriminator(form_of),
    ] = []
    """Arguments for which a person is asked: a value, a list of values, or conditions; all must
    hold. Of a list of such mappings, one must. Always unless given."""
    deadline_seconds: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    """How long an answer is waited for."""
    on_deadline: OnDeadline = "refuse"
    """Then: `refuse` the call, `wait` on, or `fail` the run. A clock never approves."""
    edit: bool = True
    """Whether the person may change the arguments."""
    answer: bool = False
    """Whether the person may say what the call returns, without making it."""
    remember: list[Remember] = ["run"]
    """`run`: the person may approve the tool for the rest of the run; `always`: the same call, or
    those whose arguments are as the person says, in all runs, for 90 days."""

    def live(self) -> ApprovalRule:
        """Return as the executor takes it."""
        given = self.when if isinstance(self.when, list) else [self.when]
        when = tuple({name: _condition(one) for name, one in each.items()} for each in given)
        return ApprovalRule(
            tuple(one for one in when if one),
            self.deadline_seconds,
            self.on_deadline,
            self.edit,
            self.answer,
            tuple(self.remember),
        )


# a mapping that says when, true for each call, false for none
Approval = Annotated[
    Annotated[ApprovalConfig, Tag("mapping")] | Annotated[bool, Tag("scalar")],
    Discriminator(form_of),
]


def _require_words(value: Any) -> Any:
    if value is None:
        text = "has nothing behind it, so nobody would be asked: write true, or when; or remove it"
        raise ValueError(text)
    return value


# as a file has it
GivenApproval = Annotated[Approval | None, BeforeValidator(_require_words)]


def rule_of(given: ApprovalConfig | bool | None) -> ApprovalRule | None:
    """Return when calls need approval; None: never, or as the function says."""
    if isinstance(given, ApprovalConfig):
        return given.live()
    return ApprovalRule() if given else None


def _condition(given: Any) -> Condition:
    return given.live() if isinstance(given, ConditionConfig) else Condition(_values(given))


def _values(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list) else (given,)
