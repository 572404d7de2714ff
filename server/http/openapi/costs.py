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
