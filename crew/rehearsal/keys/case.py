"""The shape of a rehearsal."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from crew.journal.query import DEFAULT_PRIORITY, MAX_PRIORITY
from crew.rehearsal.keys.expected import Expect
from crew.rehearsal.keys.faults import Fault
from crew.rehearsal.keys.models import SaidConfig
from crew.rehearsal.keys.persons import PersonConfig
from crew.rehearsal.keys.results import Results
from tools.schemas.yaml_shape import JsonObject, Shape, between_keys, resolve
from tools.virtual_clock import VIRTUAL_START

# what a rehearsal plays; one of them
STARTS = ("query", "turns", "hook")


def _as_query(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _as_answers(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


def _as_moment(value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError("expected a time, such as 2026-01-01T08:00:00Z") from None
    return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)


class Earlier(Shape):
    """A message that a client sends before the query."""

    role: Literal["user", "assistant", "system"]
    """Who has said it."""
    content: str
    """What."""


class Question(Shape):
    """A query; a text alone is one."""

    text: str
    """The query."""
    user: str = ""
    """The person it is for."""
    agent: str | None = None
    """Who starts; the entry point unless given."""
    history: list[Earlier] = []
    """Messages before it."""
    priority: Annotated[int, Field(ge=0, le=MAX_PRIORITY)] = DEFAULT_PRIORITY
    """Where runs wait, higher ones go first."""


QuestionConfig = Annotated[
    Question, BeforeValidator(_as_query, json_schema_input_type=str | Question)
]
People = Annotated[list[PersonConfig], BeforeValidator(_as_answers)]


class AskedTurn(Shape):
    """A query of a conversation."""

    query: QuestionConfig
    """What is asked."""
    answers: People = []
    """What people answer in it."""
    expect: Expect = Expect()
    """What must hold at its end."""


class HookCall(Shape):
    """What another program posts."""

    name: str
    """The hook."""
    body: JsonObject
    """What it sends."""


class Rehearsal(Shape):
    """A case: a query, what stands for models, tools and people, and what must hold."""

    name: Annotated[str, Field(min_length=1)]
    """Unique in its file."""
    query: QuestionConfig | None = None
    """What is asked."""
    turns: list[AskedTurn] = []
    """Queries of one conversation, one after the other, instead of `query`."""
    hook: HookCall | None = None
    """What another program posts, instead of `query`."""
    cassette: str | None = None
    """A file that `crew record` has written, beside this one: it has the query, and all that is not
    given here."""
    at: Annotated[datetime, BeforeValidator(_as_moment, json_schema_input_type=str)] = VIRTUAL_START
    """Where the clock starts."""
    env: dict[str, str] = {}
    """Variables of the environment; there are no others."""
    set: dict[str, Annotated[JsonValue, BeforeValidator(resolve)]] = {}
    """Values of the crew's files by path, such as `settings.max_rounds`."""
    says: dict[str, Annotated[list[SaidConfig], BeforeValidator(_as_answers)]] = {}
    """By agent, `<agent>/<task>` of a plan, or `helper-<name>`: the answers of its model, in
    order."""
    otherwise: Literal["script", "fail", "last"] = "script"
    """Who answers for an agent without `says`: script.yaml, or no one; `last`: its last answer once
    more."""
    returns: dict[str, Results] = {}
    """By tool: its result, or its results in order."""
    answers: People = []
    """What people answer, in order."""
    faults: list[Fault] = []
    """What goes wrong."""
    expect: Expect = Expect()
    """What must hold."""
    tags: list[str] = []
    """By which `crew test -k` finds it."""
    skip: str | None = None
    """Why it is not played."""
    fails: str | None = None
    """Why it fails: it must."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [name for name in STARTS if getattr(self, name)]
        if not given:
            known = ", ".join((*STARTS, "cassette"))
            raise between_keys(f"a rehearsal has one of {known}")
        if len(given) > 1:
            # a cassette has a query
            first = "cassette" if self.cassette else given[0]
            raise between_keys(f"a rehearsal has either {first} or {given[1]}", given[1])
        if self.turns and self.answers:
            raise between_keys("each of the turns has its own answers", "answers")
        return self
