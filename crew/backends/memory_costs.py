"""What calls have cost, of a store that ends with its process."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from crew.journal.records.spent.costs import NEWEST_CALLS, CallRow, CostKey, CostQuery, CostSum

PARTS = tuple(one.name for one in fields(CostSum))[1:]


def _key_of(call: CallRow, key: CostKey) -> str:
    match key:
        case "hour":
            return call.at[:13]
        case "token":
            return call.owner
        case "day" | "provider" | "model":
            return str(getattr(call, key))
        case _:
            return str(getattr(call, f"{key}_id"))


class MemoryCosts:
    """See CostLog."""

    def __init__(self) -> None:
        self._calls: dict[str, CallRow] = {}
        # called with each call that is new
        self.on_new: Callable[[CallRow], None] | None = None

    def add(self, calls: Sequence[CallRow]) -> None:
        """Keep calls; one that is known stays as it is."""
        for one in calls:
            if one.id not in self._calls:
                self._calls[one.id] = one
                if self.on_new is not None:
                    self.on_new(one)

    async def record(self, calls: Sequence[CallRow]) -> None:
        """See CostLog."""
        self.add(calls)

    async def calls_of(self, run_id: str) -> list[CallRow]:
        """See CostLog."""
        found = (one for one in self._calls.values() if one.run_id == run_id)
        return sorted(found, key=lambda one: (one.at, one.id))

    async def of_user(
        self, user_id: str, after: tuple[str, str] = ("", ""), limit: int = 100
    ) -> list[CallRow]:
        """See CostLog."""
        own = [one for one in self._calls.values() if user_id and one.user_id == user_id]
        in_order = sorted(own, key=lambda one: (one.at, one.id))
        return [one for one in in_order if (one.at, one.id) > after][:limit]

    async def answer_tokens(
        self, agent_id: str, provider: str, model: str, limit: int
    ) -> list[int]:
        """See CostLog."""
        newest = sorted(self._calls.values(), key=lambda one: one.at)[-NEWEST_CALLS:]
        wanted = (agent_id, provider, model, "success")
        found = (
            one.output
            for one in newest
            if (one.agent_id, one.provider, one.model, one.outcome) == wanted
        )
        return list(found)[-limit:]

    async def sums(self, wanted: CostQuery) -> list[CostSum]:
        """See CostLog."""
        found: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(PARTS))
        for one in self._calls.values():
            is_new = one.at >= wanted.since if wanted.reads_calls else one.day >= wanted.since_day
            is_of = wanted.caller in (None, one.user_id, one.owner)
            if not (is_new and is_of):
                continue
            sums = found[tuple(_key_of(one, key) for key in wanted.by)]
            for place, name in enumerate(PARTS):
                sums[place] += _part(one, name)
        all_sums = [CostSum(keys, *sums) for keys, sums in found.items()]
        return sorted(all_sums, key=lambda one: (-one.nanos, -one.calls, one.keys))[: wanted.limit]

    async def forget_user(self, user_id: str) -> None:
        """See CostLog."""
        self.forget(user_id)

    def forget(self, user_id: str) -> None:
        """Remove what names a user."""
        for one in self._calls.values():
            if user_id and one.user_id == user_id:
                owner = "" if one.owner == user_id else one.owner
                self._calls[one.id] = replace(one, user_id="", conversation_id="", owner=owner)

    async def purge(self, calls_before: str, days_before: str, limit: int = 1000) -> int:
        """See CostLog; there are no sums by themselves, so that calls are kept as long as these."""
        old = [one.id for one in self._calls.values() if one.day < days_before][:limit]
        for one in old:
            del self._calls[one]
        return len(old)


def _part(call: CallRow, name: str) -> int:
    if name == "calls":
        return 1
    if name == "unpriced":
        return call.nanos is None
    return int(getattr(call, name) or 0)
