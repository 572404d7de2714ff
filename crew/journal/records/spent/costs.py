"""What calls of models have cost: a row for each, and sums by day that are kept longer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, cast, get_args

from pydantic import TypeAdapter

# by what sums are grouped; token: the owner, which is a token's name
CostKey = Literal[
    "day", "agent", "provider", "model", "user", "token", "run", "conversation", "hour"
]
# for these the calls themselves are read, which are kept for a shorter time
OF_CALLS: frozenset[CostKey] = frozenset({"run", "conversation", "hour"})
KEYS: tuple[CostKey, ...] = get_args(CostKey)


def parse_keys(text: str) -> tuple[CostKey, ...]:
    """Parse keys with commas between them; raises ValueError, which says what is wrong."""
    found = tuple(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    unknown = [one for one in found if one not in KEYS]
    if unknown:
        raise ValueError(f"there is no {unknown[0]!r}; known: {', '.join(KEYS)}")
    return cast(tuple[CostKey, ...], found)


@dataclass(frozen=True, slots=True)
class CallRow:
    """One request to a model that has ended. Times are RFC 3339, UTC."""

    id: str
    # when it began
    at: str
    # the same day in the crew's time zone, as YYYY-MM-DD
    day: str
    # "" for work beside runs
    run_id: str
    # of the `agent_start` that it belongs to, and which attempt of that it is, from 1
    seq: int
    attempt: int
    agent_id: str
    provider: str
    model: str
    user_id: str
    owner: str
    conversation_id: str
    # "success", "cancelled" or the code of the error
    outcome: str
    input: int
    output: int
    thinking: int
    cache_read: int
    cache_write: int
    # nano-dollars; None: there is no known price
    nanos: int | None
    # where the price is said
    price: str
    # the tokens are counted by us
    estimated: int
    # its process has ended before it: it is counted as it was estimated
    lost: int


# a row as JSON, by which a call counts whose process ends before it does
CALL: TypeAdapter[CallRow] = TypeAdapter(CallRow)


# among so many calls the answers of an agent are looked for
NEWEST_CALLS = 20_000


@dataclass(frozen=True, slots=True)
class CostQuery:
    """Which sums are wanted."""

    by: Sequence[CostKey] = ()
    # the first time, as RFC 3339, and its day in the crew's time zone; "": from the beginning
    since: str = ""
    since_day: str = ""
    # since the first time itself, not since its day began
    is_exact: bool = False
    # only of this token, or for this user; None: of all
    caller: str | None = None
    # the dearest so many
    limit: int = 1000

    @property
    def reads_calls(self) -> bool:
        """Whether the calls themselves are read, and not their sums by day."""
        return self.is_exact or not OF_CALLS.isdisjoint(self.by)


@dataclass(frozen=True, slots=True)
class CostSum:
    """What some calls have cost together."""

    # a value for each key
    keys: Sequence[str]
    calls: int
    input: int
    output: int
    thinking: int
    cache_read: int
    cache_write: int
    # nano-dollars, of those with a price
    nanos: int
    # calls without a known price, and those that we have counted ourselves
    unpriced: int
    estimated: int


class CostLog(Protocol):
    """Keeps what calls have cost. Methods raise StoreError."""

    async def record(self, calls: Sequence[CallRow]) -> None:
        """Keep calls that no event of a run is written with; one that is known stays as it is."""
        ...

    async def calls_of(self, run_id: str) -> list[CallRow]:
        """Return the calls of a run, by the time they began."""
        ...

    async def of_user(
        self, user_id: str, after: tuple[str, str] = ("", ""), limit: int = 100
    ) -> list[CallRow]:
        """Return calls of a user, by the time they began; `after`: time and id of the last one."""
        ...

    async def answer_tokens(
        self, agent_id: str, provider: str, model: str, limit: int
    ) -> list[int]:
        """Return how many tokens the newest answers of a model to an agent have, oldest first.

        Looked for among the newest NEWEST_CALLS of all.
        """
        ...

    async def sums(self, wanted: CostQuery) -> list[CostSum]:
        """Return sums, the dearest first."""
        ...

    async def forget_user(self, user_id: str) -> None:
        """Remove a user's id and conversations from calls and sums, which stay.

        The name of the token, too, where it is the id.
        """
        ...

    async def purge(self, calls_before: str, days_before: str, limit: int = 1000) -> int:
        """Delete some calls and sums that are old; how many there were.

        Args:
            calls_before: calls that began before this time, as RFC 3339.
            days_before: sums of days before this one.
            limit: of each.
        """
        ...
