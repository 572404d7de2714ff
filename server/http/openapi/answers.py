"""The shapes of answers; tests hold what the server says against them."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from crew.journal.events import RunStatus
from crew.journal.query import SourceKind
from server.http.openapi.costs import CostAnswer, TotalsAnswer, UsageAnswer

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class ResultAnswer(TypedDict):
    """How a run stands: at its end, its pause, or now."""

    run_id: str
    status: RunStatus
    reason: str | None
    answer: str | None
    agent_id: str | None
    rounds: int
    handoffs: int
    usage: UsageAnswer
    cost: CostAnswer
    duration_seconds: float


class ListedRun(TypedDict):
    """A run in a list; a long answer is cut."""

    run_id: str
    status: RunStatus
    query: str
    reason: str | None
    answer: str | None
    agent_id: str | None
    started_at: Time
    ended_at: Time | None
    paused_agent_id: str | None
    paused_until: Time | None
    asks: str
    user_id: str
    conversation_id: str
    exchange: int
    # "" of runs that an earlier version has started
    source: SourceKind | Literal[""]
    source_name: str
    # of the crew's files, by their hash; "" where they were not kept
    revision: str
    # as far as it has ended or paused since they were called
    tools: list[str]
    usage: UsageAnswer
    cost: CostAnswer
    duration_seconds: float


class RunsAnswer(TypedDict):
    """Runs, newest first."""

    runs: list[ListedRun]
    next: str | None
    totals: NotRequired[TotalsAnswer]


class WaitingAnswer(TypedDict):
    """What a run asks a person: the metadata of its `pause` event."""

    run_id: str
    seq: int
    agent_id: str
    paused_agent_id: str
    # the name of who asks
    agent: str
    since: Time
    answer_until: NotRequired[Time]
    question: NotRequired[str]
    calls: NotRequired[list[dict[str, Any]]]
    form: NotRequired[dict[str, Any]]


class WaitingRun(ListedRun):
    """A run that waits for a person."""

    waiting: WaitingAnswer | None


class RunAnswer(ResultAnswer):
    """One run."""

    query: str
    started_at: Time
    ended_at: Time | None
    paused_agent_id: str | None
    crew: str
    request_id: str
    owner: str
    priority: int
    paused_until: Time | None
    asks: str
    user_id: str
    conversation_id: str
    exchange: int
    pause: int | None
    waiting: WaitingAnswer | None


class AddressAnswer(TypedDict):
    """Where a run is to be seen."""

    run_id: str
    url: str
    events: str


class IgnoredAnswer(TypedDict):
    """Nothing was started, and why."""

    ignored: str


class TicketAnswer(TypedDict):
    """What an EventSource shows as `?ticket=`."""

    ticket: str
    expires_in_seconds: int


class HealthAnswer(TypedDict):
    """The process answers."""

    status: Literal["ok"]
    version: str


class ToolsAnswer(TypedDict):
    """The tools, and what each may do."""

    tools: list[dict[str, Any]]
    # since when calls are counted, and whether there were too many to count all
    usage_since: NotRequired[Time]
    usage_partial: NotRequired[bool]


class ClientModelAnswer(TypedDict):
    """A model that a request may name."""

    name: str
    provider: str
    model: str
    context_window: int
    agents: list[str]


class ClientModelsAnswer(TypedDict):
    """The models that a request may name."""

    models: list[ClientModelAnswer]


class ReadyAnswer(TypedDict):
    """Runs can be started."""

    # degraded: MCP servers are down, or models have failed last
    status: Literal["ready", "degraded"]
    mcp_down: NotRequired[list[str]]
    models_failing: NotRequired[list["FailingModelAnswer"]]
    crew: str
    config: dict[str, Any]
    runs_unplayable: int
    # the database is nearly full
    storage: NotRequired[str]
    workers: NotRequired[int]
    runs_waiting: NotRequired[int]


class NotReadyAnswer(TypedDict):
    """Runs cannot be started."""

    status: Literal["draining", "store failing"]
    detail: NotRequired[str]


class WarningAnswer(TypedDict):
    """A warning of the crew's files."""

    file: str
    line: int
    code: str
    message: str


class ReloadAnswer(TypedDict):
    """The files were read again."""

    changed: bool
    revision: str
    loaded_at: Time
    last_reload: dict[str, Any]
    warnings: list[WarningAnswer]


class EdgeAnswer(TypedDict("EdgeAnswer", {"from": str})):
    """A way from one agent to another."""

    to: str
    kind: str
    label: str


class FailureAnswer(TypedDict):
    """The last failure of a model."""

    code: str
    reason: str
    at: str
    # it has answered since
    is_over: bool


class FailingModelAnswer(FailureAnswer):
    """A model that has not answered since its last failure."""

    provider: str
    model: str


class QuirkAnswer(TypedDict):
    """What is not usual of a model."""

    value: Any
    by: Literal["declared", "known", "learned"]


class ModelAnswer(TypedDict):
    """A model of a provider."""

    model: str
    quirks: dict[str, QuirkAnswer]
    last_failure: FailureAnswer | None


class ProviderAnswer(TypedDict):
    """A provider of models that was asked in this process."""

    # its name in the configuration, and its address
    name: str
    answers: bool
    # why it is not asked now
    reason: str | None
    models: list["ModelAnswer"]


class CallerAnswer(TypedDict):
    """Who has sent the request, and what they may do."""

    name: str
    scopes: list[str]


class CrewAnswer(TypedDict):
    """The crew: its agents, routing and limits, without secrets."""

    name: str
    description: str
    entry_point: str
    agents: list[dict[str, Any]]
    groups: dict[str, dict[str, Any]]
    routing: list[EdgeAnswer]
    limits: dict[str, Any]
    hooks: dict[str, dict[str, Any]]
    notify: dict[str, dict[str, Any]]
    schedules: dict[str, dict[str, Any]]
    # None: its runs are in no conversations
    conversations: dict[str, Any] | None
    # not there: it remembers nothing of people
    memory: NotRequired[dict[str, Any]]
    documents: NotRequired[list[dict[str, Any]]]
    warnings: list[WarningAnswer]
    # what each may do
    tools: list[dict[str, Any]]
    providers: list[ProviderAnswer]
    config: dict[str, Any]
    # of the program
    version: str
    # what this server can do that others may not
    features: list[str]
    caller: CallerAnswer


class GrantAnswer(TypedDict):
    """Calls that a person has approved for all runs."""

    id: str
    tool: str
    # the tool's digest: of another one it is another tool
    definition: str
    agent_id: str
    # what the arguments must be
    arguments: dict[str, Any]
    # globs on the texts of the others
    patterns: dict[str, str]
    by: str
    # whose runs it holds for
    owner: str
    # the person of the run in which it was given
    user_id: str
    run_id: str
    given_at: Time
    until: Time


class GrantsAnswer(TypedDict):
    """All of them, newest first."""

    grants: list[GrantAnswer]


class FieldError(TypedDict):
    """What is wrong with one field."""

    field: str
    message: str


class ProblemAnswer(TypedDict):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: NotRequired[list[FieldError]]
    # of the crew's files
    problems: NotRequired[list[dict[str, Any]]]
    # of the kind of problem, where a program may want to know it
    code: NotRequired[str]
    # the run that keeps a conversation busy, and what it asks
    run_id: NotRequired[str]
    asks: NotRequired[str]


MetricsAnswer = dict[str, list[dict[str, Any]]]
