"""Sums of what calls have cost, as commands and the API show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from agents.costs.prices import Prices
from agents.costs.usage import NANOS, Usage
from crew.journal.records.spent.costs import CostKey, CostQuery, CostSum
from crew.journal.store import RunStore
from tools.clock import rfc3339

MODEL: tuple[CostKey, CostKey] = ("provider", "model")
# rows that are read to be priced anew
MAX_ROWS = 100_000
# by (provider, model): today's prices
PriceList = Mapping[tuple[str, str], Prices]


@dataclass(frozen=True, slots=True)
class CostReport:
    """Sums, and what they all come to."""

    by: Sequence[CostKey]
    rows: Sequence[CostSum]
    total: CostSum

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        rows = [{**dict(zip(self.by, one.keys, strict=True)), **_amounts(one)} for one in self.rows]
        return {"rows": rows, "total": _amounts(self.total)}


def no_costs(by: Sequence[CostKey]) -> CostReport:
    """Return the sums of no calls."""
    return CostReport(by, (), _total(()))


async def cost_report(
    store: RunStore,
    by: Sequence[CostKey],
    zone: ZoneInfo,
    *,
    since: timedelta | None = None,
    caller: str | None = None,
    top: int = 20,
    prices: PriceList | None = None,
) -> CostReport:
    """Add up what calls have cost, the dearest first.

    Args:
        store: has them.
        by: how they are grouped.
        zone: in which days begin.
        since: not longer ago; None: from the beginning. Of whole days: since the first one began.
        caller: only of this token, or for this user.
        top: so many rows; the total is of all.
        prices: count by these, in place of the prices of then.

    Raises:
        StoreError: the store failed.
    """
    wanted = CostQuery(tuple(by), caller=caller, limit=top)
    if since is not None:
        first = store.now() - since
        day, is_exact = first.astimezone(zone).date().isoformat(), bool(since % timedelta(days=1))
        wanted = replace(wanted, since=rfc3339(first), since_day=day, is_exact=is_exact)
    if prices is None:
        rows = await store.costs.sums(wanted)
        # of the same calls: those of a moment, or of whole days
        grouped = replace(wanted, by=wanted.by if wanted.reads_calls else (), limit=MAX_ROWS)
        return CostReport(by, rows, _total(await store.costs.sums(grouped)))
    detailed = replace(wanted, by=(*by, *MODEL), limit=MAX_ROWS)
    found = await store.costs.sums(detailed)
    priced = [_priced(one, prices.get((one.keys[-2], one.keys[-1]))) for one in found]
    groups: dict[Sequence[str], list[CostSum]] = {}
    for one in priced:
        groups.setdefault(one.keys[: len(by)], []).append(one)
    sums = [replace(_total(members), keys=keys) for keys, members in groups.items()]
    sums.sort(key=lambda one: (-one.nanos, -one.calls, one.keys))
    return CostReport(by, sums[:top], _total(priced))


def _total(rows: Sequence[CostSum]) -> CostSum:
    def sum_of(name: str) -> int:
        return sum(getattr(one, name) for one in rows)

    parts = ("calls", "input", "output", "thinking", "cache_read", "cache_write")
    counts = ("nanos", "unpriced", "estimated")
    return CostSum((), *map(sum_of, parts), *map(sum_of, counts))


def _priced(one: CostSum, prices: Prices | None) -> CostSum:
    """Return a sum by other prices, but for the prices of calls with much input."""
    if prices is None:
        return replace(one, nanos=0, unpriced=one.calls)
    usage = Usage(
        one.input,
        one.output,
        thinking_tokens=one.thinking,
        cache_read_tokens=one.cache_read,
        cache_write_tokens=one.cache_write,
    )
    requests = replace(prices.rates, request=prices.rates.request * one.calls)
    return replace(one, nanos=requests.nanos(usage), unpriced=0)


def _amounts(one: CostSum) -> dict[str, Any]:
    usage = {
        "input": one.input,
        "output": one.output,
        "thinking": one.thinking,
        "cache_read": one.cache_read,
        "cache_write": one.cache_write,
    }
    cost = {"usd": one.nanos / NANOS, "unpriced": one.unpriced, "estimated": one.estimated}
    return {"calls": one.calls, "usage": usage, "cost": cost}
