"""What clients are shown of the tokens and the costs of runs."""

from typing import NotRequired

from typing_extensions import TypedDict


class UsageAnswer(TypedDict):
    """Tokens, as the provider counted them: thinking is a part of output, caches of input."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    input: int
    output: int
    thinking: int
    cache_read: int
    cache_write: int
    cost_usd: NotRequired[float]
    estimated: NotRequired[bool]


class CostAnswer(TypedDict):
    """What it costs; a lower bound where answers have no known price."""

    usd: float
    # answers without a known price
    unpriced: int
    # answers that we have counted ourselves
    estimated: int


class PartsAnswer(TypedDict):
    """Tokens of calls: thinking is a part of output, caches of input."""

    input: int
    output: int
    thinking: int
    cache_read: int
    cache_write: int


class CostSumAnswer(TypedDict):
    """What some calls have cost together, and a value for each key of `by`."""

    calls: int
    usage: PartsAnswer
    cost: CostAnswer
    day: NotRequired[str]
    agent: NotRequired[str]
    provider: NotRequired[str]
    model: NotRequired[str]
    user: NotRequired[str]
    token: NotRequired[str]
    run: NotRequired[str]
    conversation: NotRequired[str]
    hour: NotRequired[str]


class CostsAnswer(TypedDict):
    """What calls of models have cost, the dearest first, and what all come to."""

    rows: list[CostSumAnswer]
    total: CostSumAnswer


class AmountsAnswer(TypedDict):
    """How much, of each kind."""

    usd: float
    tokens: int
    calls: int


class PotLimits(TypedDict):
    """How much there may be, of each kind, with what people have added; null: no limit."""

    usd: float | None
    tokens: int | None
    calls: int | None


class PotAnswer(TypedDict):
    """A pot of a budget, in its present period."""

    budget: str
    scope: str
    per: str
    # of the scope: a user, an agent; "" of the crew
    pot: str
    period: str | None
    resets_at: str | None
    used: AmountsAnswer
    reserved: AmountsAnswer
    limit: PotLimits
    # the largest part of a limit that is used
    ratio: float
    # at the end of the period, if it goes on so
    forecast: AmountsAnswer | None
    then: str | dict[str, str]
    source: str


class BudgetsAnswer(TypedDict):
    """The pots of the present periods, the fullest first."""

    budgets: list[PotAnswer]


class TotalsAnswer(TypedDict):
    """What the runs of a filter come to."""

    # by status
    statuses: dict[str, int]
    count: int
    tokens: int
    cost_usd: float
    # the cost is at least this
    is_unpriced: bool
    # of those that have ended
    p50_seconds: float | None
    p95_seconds: float | None
    # there are more than 100,000
    has_more: bool
