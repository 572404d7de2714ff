"""The pots of budgets: what is used, what is reserved, and by which calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from agents.events import Warned
from crew.journal.records.remembered.people import digest_of_user
from crew.journal.records.rows import IdempotencyRecord, Notice


class PotKey(NamedTuple):
    """One pot."""

    budget: str
    # of the budget's scope: a run, a user, an agent
    value: str
    # when its period begins, as RFC 3339; "" for one without end
    period: str


# that a pot has no room is noted beside the highest part that was warned of, and hides it not
NO_ROOM = 10_000


@dataclass(frozen=True, slots=True)
class PotState:
    """What is in a pot. Amounts of money are nano-dollars."""

    key: PotKey
    # when it is empty again, as RFC 3339; "": never
    resets_at: str
    nanos: int = 0
    tokens: int = 0
    calls: int = 0
    # reserved for calls that are made now
    held_nanos: int = 0
    held_tokens: int = 0
    held_calls: int = 0
    # what people have added to the limit
    more_nanos: int = 0
    more_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """What a call reserves in one pot, and how much that may have; None: there is no limit."""

    key: PotKey
    resets_at: str
    nanos: int
    tokens: int
    max_nanos: int | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    # a call is made as long as anything is left: the last one may go over
    is_lenient: bool = False

    @property
    def least(self) -> tuple[int, int]:
        """Money and tokens for which there must be room."""
        return (1, 1) if self.is_lenient else (self.nanos, self.tokens)

    def used_thousandths(self, pot: PotState) -> float:
        """Return the largest part of its limits that is used of a pot, in thousandths."""
        parts = [0.0]
        if self.max_nanos is not None:
            parts.append(1000 * pot.nanos / (self.max_nanos + pot.more_nanos))
        if self.max_tokens is not None:
            parts.append(1000 * pot.tokens / (self.max_tokens + pot.more_tokens))
        if self.max_calls is not None:
            parts.append(1000 * pot.calls / self.max_calls)
        return max(parts)

    def fits(self, pot: PotState, *, held: bool = True) -> bool:
        """Return whether there is room for it; `held`: beside what others have reserved."""
        others = (pot.held_nanos, pot.held_tokens, pot.held_calls) if held else (0, 0, 0)
        own_nanos, own_tokens = self.least
        nanos = pot.nanos + others[0] + own_nanos
        tokens = pot.tokens + others[1] + own_tokens
        calls = pot.calls + others[2] + 1
        return (
            (self.max_nanos is None or nanos <= self.max_nanos + pot.more_nanos)
            and (self.max_tokens is None or tokens <= self.max_tokens + pot.more_tokens)
            and (self.max_calls is None or calls <= self.max_calls)
        )


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call reserves, in all its pots or in none."""

    # of the call
    id: str
    run_id: str
    shares: Sequence[Share]
    # when it ends by itself, as RFC 3339
    until: str
    # the row of the call as it is estimated, as JSON: it counts so if it is lost
    call: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """How a reservation ended: the pots as they were before it."""

    is_done: bool
    pots: Sequence[PotState]


@dataclass(frozen=True, slots=True)
class BudgetState:
    """What follows in a run from a budget without room."""

    # that answers in place of the agents' own; "": they have their own
    model: str = ""
    # no further call is made
    ends: bool = False
    # where the files say so, as `file:line`
    source: str = ""
    # all that have answered in place of the agents' own
    models: tuple[str, ...] = ()

    def after(self, event: Warned) -> "BudgetState":
        """Return it after a warning of a budget."""
        if event.code == "budget_end":
            return replace(self, ends=True, source=event.source or "")
        if not event.model:
            return self
        return replace(self, model=event.model, models=(*self.models, event.model))


NO_BUDGET = BudgetState()


# how the names of pots begin of which the value was erased
HIDDEN = "erased:"


def hidden_value(value: str) -> str:
    """Return the name of the pots of a value that was erased."""
    return HIDDEN + digest_of_user(value)


class BudgetLog(Protocol):
    """Keeps pots. A call that is written settles what was reserved for it. Raises StoreError."""

    async def reserve(self, wanted: Reservation) -> Reserved:
        """Reserve in all pots, or in none where one has no room."""
        ...

    async def pots(self, budgets: Sequence[str], value: str | None = None) -> list[PotState]:
        """Return the pots of some budgets; `value`: only with this one, else all that are kept."""
        ...

    async def fullest(self, like: Share, limit: int) -> list[PotState]:
        """Return the fullest pots of a budget, of no run that has ended.

        Args:
            like: has the budget, the period and the limits; its value is not looked at.
            limit: so many at most.
        """
        ...

    async def held(self, budgets: Sequence[str], periods: Sequence[str]) -> dict[str, int]:
        """Return the nano-dollars that are reserved in all pots of budgets, of some periods."""
        ...

    async def pot(self, key: PotKey) -> PotState | None:
        """Return one."""
        ...

    async def add(
        self,
        key: PotKey,
        resets_at: str,
        nanos: int,
        tokens: int,
        once: IdempotencyRecord | None = None,
    ) -> None:
        """Add to the limit of a pot, until its period is over.

        Args:
            key: of the pot.
            resets_at: when its period is over; it is made if it is not there.
            nanos: so much money more.
            tokens: so many more.
            once: nothing is added where its key is known; it is kept with its run.
        """
        ...

    async def warn(self, key: PotKey, thousandths: int, notices: Sequence[Notice] = ()) -> bool:
        """Note that a part of a pot's limit is used; whether that is the first time.

        Args:
            key: of the pot.
            thousandths: the part.
            notices: are to be sent if it is the first time; kept in the same transaction.
        """
        ...

    async def settle_lost(self, run_id: str) -> int:
        """Count what a run has reserved as it was estimated: no process makes these calls.

        Returns how many there were.
        """
        ...

    async def expire(self, now: str, limit: int = 100) -> int:
        """Do the same with reservations that have ended by themselves; how many there were."""
        ...

    async def hide(self, value: str, but: Sequence[str], *, begins: bool = False) -> None:
        """Give pots another name, which says nothing of a person; what was used stays.

        Args:
            value: of the pots.
            but: of these budgets none.
            begins: also with a value that begins so.
        """
        ...

    async def show(self, values: Sequence[str], budgets: Sequence[str]) -> None:
        """Give the pots of values their names again, if these were hidden; only of some budgets."""
        ...

    async def purge(self, before: str) -> None:
        """Delete pots with a period that was over before a time (RFC 3339)."""
        ...
