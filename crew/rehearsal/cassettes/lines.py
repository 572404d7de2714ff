"""The lines of a cassette."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

# of a file
MAX_CASSETTE_BYTES = 32_000_000
# a year
LONGEST_SECONDS = 31_536_000
# what stands for a tool that was not called
By = Literal["tool", "person", "cache", "crew"]


Seconds = Annotated[float, Field(ge=0, le=LONGEST_SECONDS)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CassetteHeader(_Line):
    """The first line."""

    v: Literal[1]
    crew: str
    run: str
    revision: str
    # of the engine
    version: str
    # when the run began
    at: Annotated[str, Field(pattern=r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]
    # what the cassette has, and what it has not
    captured: dict[str, bool]


class _Moment(_Line):
    # in seconds since the start
    at: Seconds


class CassetteMessage(_Line):
    """A message before the query."""

    role: Literal["user", "assistant", "system"]
    content: str


class CassetteQuery(_Line):
    """A query."""

    text: str
    user: str = ""
    agent: str | None = None
    history: list[CassetteMessage] = []
    priority: int | None = None


class SegmentLine(_Moment):
    """The run begins, or goes on after a person's answer or the end of a process."""

    type: Literal["segment"] = "segment"
    # of the first one: as the key `query` of a rehearsal
    query: CassetteQuery | None = None
    # the process was killed during this call: a tool, and the so-many-th of its calls
    killed: tuple[str, int] | None = None


class AskedLine(_Moment):
    """A model was sent something: digests of its parts."""

    type: Literal["asked"] = "asked"
    agent: str
    prompt: str
    tools: str
    context: str
    words: str
    sampling: str


class SaidCall(_Line):
    """A call that a model wants."""

    tool: str
    arguments: dict[str, JsonValue] = {}


class SaidUsage(_Line):
    """Tokens, as the provider has counted them."""

    input: int
    output: int
    thinking: int = 0
    cache_read: int = 0


class AnsweredLine(_Moment):
    """A model has answered."""

    type: Literal["answered"] = "answered"
    # an agent, `<agent>/<task>`, or a helper
    agent: str
    say: str
    calls: list[SaidCall] = []
    seconds: Seconds = 0.0
    model: str = ""
    usage: SaidUsage | None = None


class FailedLine(_Moment):
    """A request to a model has failed."""

    type: Literal["failed"] = "failed"
    agent: str
    # of the failure; None: no answer came before a time was over
    code: str | None
    seconds: Seconds = 0.0
    # no other request was made
    is_last: bool = False


class CalledLine(_Moment):
    """A tool is called."""

    type: Literal["called"] = "called"
    agent: str
    id: str
    tool: str
    arguments: dict[str, JsonValue]


class CassetteForm(_Line):
    """What a tool needs of a person."""

    message: str
    fields: dict[str, JsonValue] = {}


class ReturnedLine(_Moment):
    """A call has its result."""

    type: Literal["returned"] = "returned"
    agent: str
    id: str
    tool: str
    status: Literal["success", "error", "timeout", "denied"]
    output: JsonValue
    # of each attempt
    seconds: Seconds = 0.0
    # the errors of attempts before the last one, and whether nothing had gone out in them
    failed: list[str] = []
    failed_unsent: bool = False
    # of a call that failed: whether anything went out, where it is known
    sent: bool | None = None
    form: CassetteForm | None = None
    # what has given the result
    by: By = "tool"


class SaidDecision(_Line):
    """What a person decides on a call."""

    agent: str
    tool: str
    decision: Literal["approve", "deny", "retry", "skip", "done"]
    reason: str = ""
    result: str = ""
    # with approve: instead of those of the call, or what is filled in
    arguments: dict[str, JsonValue] | None = None
    is_form: bool = False
    remember: Literal["run", "always"] | None = None


class PersonLine(_Moment):
    """A person answers a pause, or the wait is over."""

    type: Literal["person"] = "person"
    text: str = ""
    decisions: list[SaidDecision] = []
    by: str = ""
    # since the pause
    waited: Seconds = 0.0
    expired: bool = False


class ShownPart(_Line):
    """A block of an agent's context; no text."""

    kind: str
    name: str = ""
    ids: list[str] = []
    versions: list[int] = []


class BlocksLine(_Moment):
    """What of the context an agent was shown."""

    type: Literal["blocks"] = "blocks"
    agent: str
    blocks: list[ShownPart]


Line = (
    SegmentLine
    | AskedLine
    | AnsweredLine
    | FailedLine
    | CalledLine
    | ReturnedLine
    | PersonLine
    | BlocksLine
)
LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])


# by type of line: what people, models and tools have said in it
CONTENTS = {
    "answered": ("say",),
    "called": ("arguments",),
    "returned": ("output", "failed"),
    "person": ("text",),
}
Contents = Callable[[Any], Any]


def with_contents(line: Mapping[str, Any], change: Contents) -> dict[str, Any]:
    """Return a line, JSON, with what was said in it changed; nothing else."""
    found = {
        key: change(one) if key in CONTENTS.get(line["type"], ()) else one
        for key, one in line.items()
    }
    if (query := line.get("query")) is not None:
        said = ("text", "user", "history")
        found["query"] = {key: change(one) if key in said else one for key, one in query.items()}
    if line.get("calls"):
        found["calls"] = [{**one, "arguments": change(one["arguments"])} for one in line["calls"]]
    if line.get("form"):
        found["form"] = {**line["form"], "message": change(line["form"]["message"])}
    if line.get("decisions"):
        said = ("reason", "result", "arguments")
        found["decisions"] = [
            {key: change(one) if key in said else one for key, one in decision.items()}
            for decision in line["decisions"]
        ]
    return found


class WrongCassette(Exception):
    """A file is no cassette."""

    def __init__(self, line: int, why: str) -> None:
        """See `line`, from 1, and why."""
        super().__init__(why)
        self.line = line


@dataclass(frozen=True, slots=True)
class Cassette:
    """A run, without what its crew has done by itself."""

    header: CassetteHeader
    lines: Sequence[Line]

    def documents(self) -> Iterator[Mapping[str, Any]]:
        """Yield it line by line, as JSON objects."""
        yield self.header.model_dump(mode="json")
        for one in self.lines:
            plain = one.model_dump(mode="json", exclude_defaults=True)
            # the type is a default, too
            yield {"type": one.type, **plain}


def read_cassette(text: str) -> Cassette:
    """Read a cassette.

    Raises:
        WrongCassette: it is none, or was edited so that it is none any more.
    """
    rows = text.split("\n")
    if not text.strip():
        raise WrongCassette(1, "the file is empty")
    try:
        header = CassetteHeader.model_validate_json(rows[0])
    except ValidationError as error:
        raise WrongCassette(1, f"no first line of a cassette: {_why(error)}") from None
    lines: list[Line] = []
    for number, row in enumerate(rows[1:], 2):
        if not row.strip():
            continue
        try:
            lines.append(LINE.validate_json(row))
        except ValidationError as error:
            raise WrongCassette(number, _why(error)) from None
    if not any(isinstance(one, SegmentLine) and one.query for one in lines):
        raise WrongCassette(1, "no segment with a query follows")
    return Cassette(header, lines)


def _why(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
