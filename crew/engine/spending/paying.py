"""What the requests of a run to models have cost: a row for each, written with what follows."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from agents.costs.prices import nanos_of
from agents.events import ModelCalled
from agents.model import PaidAttempt, RequestEnded
from crew.budgets.estimates import AnswerLengths, Estimate
from crew.journal.branches import Branch
from crew.journal.records.rows import RunRow
from crew.journal.records.spent.costs import CallRow
from crew.journal.state import RunState
from tools.clock import rfc3339


def call_row(
    request: RequestEnded,
    agent_id: str,
    ended_at: datetime,
    zone: ZoneInfo,
    *,
    run_id: str = "",
    seq: int = 0,
    attempt: int = 1,
    user_id: str = "",
    owner: str = "",
    conversation_id: str = "",
) -> CallRow:
    """Return the row of a request.

    Args:
        request: that has ended.
        agent_id: who has made it.
        ended_at: when.
        zone: of the crew.
        run_id: in which run; "" beside runs.
        seq: the event before which it was made.
        attempt: which attempt of that step it is.
        user_id: the user that it is for.
        owner: the token's name.
        conversation_id: of the run.
    """
    usage, at = request.usage, ended_at - timedelta(seconds=request.duration_seconds)
    return CallRow(
        request.id,
        rfc3339(at),
        at.astimezone(zone).date().isoformat(),
        run_id,
        seq,
        attempt,
        agent_id,
        request.provider,
        request.model,
        user_id,
        owner,
        conversation_id,
        request.outcome,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.thinking_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        None if usage.unpriced else nanos_of(usage.cost_usd),
        request.prices.source if request.prices is not None else "",
        usage.estimated,
        0,
    )


def lost_row(
    attempt: PaidAttempt, dearest: Estimate, now: datetime, zone: ZoneInfo, row: RunRow, seq: int
) -> CallRow:
    """Return the row by which a call counts if its process ends before it does.

    Args:
        attempt: the call.
        dearest: what it is estimated to take, at most.
        now: when it begins.
        zone: of the crew.
        row: of the run.
        seq: the event before which it is made.
    """
    ended = RequestEnded(attempt.provider, attempt.model, "lost", 0.0, id=attempt.id)
    made = call_row(
        ended,
        attempt.agent_id,
        now,
        zone,
        run_id=row.run_id,
        seq=seq,
        user_id=row.user_id,
        owner=row.owner,
        conversation_id=row.conversation_id,
    )
    return replace(
        made,
        input=dearest.input,
        output=dearest.output,
        nanos=dearest.nanos,
        price=attempt.prices.source if attempt.prices is not None else "",
        estimated=1,
        lost=1,
    )


class Paying:
    """Keeps what the requests of one run have cost."""

    def __init__(
        self,
        state: RunState,
        row: RunRow,
        zone: ZoneInfo,
        lengths: AnswerLengths,
        keep: Callable[[CallRow], None],
        settled: Callable[[RequestEnded], Awaitable[None]],
    ) -> None:
        """Of a run.

        Args:
            state: of the run.
            row: of the run.
            zone: of the crew.
            lengths: learns how long answers are.
            keep: gets each row.
            settled: then gets the request.
        """
        self.state, self.row, self.zone, self.keep = state, row, zone, keep
        self.lengths, self.settled = lengths, settled
        self._attempts: Counter[tuple[int, str]] = Counter()

    async def note(self, event: ModelCalled, now: datetime) -> None:
        """Keep a request that has ended."""
        branch = self._branch(event)
        seq = branch.started_seq if branch is not None else self.state.seq
        key = seq, event.agent_id
        self._attempts[key] += 1
        request, row = event.request, self.row
        if request.outcome == "success":
            length = request.usage.completion_tokens
            self.lengths.add((event.agent_id, request.provider, request.model), length)
        call = call_row(
            event.request,
            event.agent_id,
            now,
            self.zone,
            run_id=row.run_id,
            seq=seq,
            attempt=self._attempts[key],
            user_id=row.user_id,
            owner=row.owner,
            conversation_id=row.conversation_id,
        )
        self.keep(call)
        await self.settled(request)

    def _branch(self, event: ModelCalled) -> Branch | None:
        """Return the branch of the agent that has made it; None: a helper has."""
        wanted = event.agent_id, event.task, event.within
        for one in self.state.branches:
            if (one.agent_id, one.task, one.within) == wanted:
                return one
        return None
