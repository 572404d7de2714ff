"""What stands for the answers of people."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from crew.rehearsal.keys.durations import Duration
from tools.schemas.yaml_shape import JsonObject, Shape, between_keys, resolve

# what a person can do; one of them
DEEDS = ("say", "approve", "deny", "edit", "done", "skip", "retry", "form", "unanswered")


def _as_words(value: Any) -> Any:
    return {"say": value} if isinstance(value, str) else value


def _as_reason(value: Any) -> Any:
    found = resolve(value)
    # any other word is a reason
    return found if isinstance(found, bool) else value


class Person(Shape):
    """One answer of a person to a pause; a text alone is one in words."""

    say: str | None = None
    """Words."""
    approve: bool = False
    """The call is made, or the plan begins."""
    deny: Annotated[bool | str, BeforeValidator(_as_reason)] = False
    """The call is not made; a text is the reason."""
    edit: JsonObject | None = None
    """The call is made with these arguments instead."""
    done: str | None = None
    """The person has done it; the text is the result of the call."""
    skip: bool = False
    """A call that may have acted is not made again."""
    retry: bool = False
    """A call that may have acted is made again."""
    form: JsonObject | None = None
    """What is filled into the form of a tool."""
    unanswered: Annotated[Duration | None, Field(alias="nobody")] = None
    """No one answers for so long."""
    call: str | None = None
    """Only about the calls of this tool, or the call with this id; all that the pause asks about
    unless given."""
    by: str = ""
    """Who answers."""
    after: Duration = 0.0
    """The person needs so long."""
    remember: Literal["run", "always"] | None = None
    """With approve: later calls of the tool in the run, or the same call in all runs, are approved
    too."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [deed_key(name) for name in DEEDS if _is_given(getattr(self, name))]
        if not given:
            raise between_keys(f"an answer has one of {', '.join(map(deed_key, DEEDS))}")
        if len(given) > 1:
            raise between_keys(f"an answer has either {given[0]} or {given[1]}", given[1])
        if self.remember is not None and not self.approve:
            raise between_keys("remember goes with approve", "remember")
        if self.unanswered is not None and (self.call or self.by or self.after):
            raise between_keys("nobody answers, so nothing else goes with it", "nobody")
        return self


def deed_key(name: str) -> str:
    """Return the key of a deed."""
    return "nobody" if name == "unanswered" else name


def _is_given(value: Any) -> bool:
    return value is not None and value is not False


PersonConfig = Annotated[Person, BeforeValidator(_as_words, json_schema_input_type=str | Person)]
