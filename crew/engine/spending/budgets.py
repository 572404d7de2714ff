"""The budgets of one run: what its calls reserve, and what follows where there is no room."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from agents.costs.prices import nanos_of
from agents.costs.refusal import BudgetRefusal
from agents.endpoint import ProviderConfig
from agents.errors import BudgetExceeded, ModelError
from agents.events import Warned
from agents.model import Meter, PaidAttempt, RequestEnded, RequestRoom
from crew.budgets.estimates import (
    AnswerLengths,
    Estimate,
    estimate,
    input_tokens,
    output_tokens,
)
from crew.budgets.lines import LinePlace
from crew.budgets.room import (
    LEAST_OUTPUT,
    FullPot,
    full_pots,
    output_left,
    share_of,
)
from crew.budgets.rules import Budget, Payer, Pot, pots_of
from crew.crew import Crew
from crew.engine.spending.bounds import bound_of_request, require_price, with_bound
from crew.engine.spending.next_calls import know_lengths
from crew.engine.spending.paying import lost_row
from crew.engine.spending.raising import agreed_amounts, raise_pot
from crew.engine.spending.warnings import BudgetWarnings, notify_full
from crew.journal.errors import StoreError
from crew.journal.questions import BudgetQuestion
from crew.journal.records.rows import RunRow
from crew.journal.records.spent.budgets import PotState, Reservation, Share
from crew.journal.records.spent.costs import CALL
from crew.journal.state import RunState
from crew.journal.store import RunStore
from tools.clock import rfc3339

OpenCall = tuple[str, Sequence[Pot], Sequence[Share], Sequence[PotState]]
# between two looks at a pot in which others have reserved
LOOK_SECONDS = 0.1
# a reservation ends so long after its request must have ended
LOST_SECONDS = 60.0


class RunBudgets:
    """What bounds the costs of one run."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        row: RunRow,
        store: RunStore,
        record: Callable[[Warned], None],
        written: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Of a run.

        Args:
            crew: has the budgets.
            state: of the run.
            row: of the run: it says from which pots it is paid.
            store: has the pots.
            record: records warnings.
            written: waits until all events are in the store, and raises StoreError; None: there
                are none.
        """
        self.crew, self.state, self.row = crew, state, row
        self.store = store
        self.payer = Payer.of(row)
        # why a call was not made; the first one, with its agent
        self.held: tuple[str, BudgetRefusal] | None = None
        self._warnings = BudgetWarnings(crew, row, store, record)
        # calls that are made now: what was in their pots before
        self._open: dict[str, OpenCall] = {}
        # calls that have ended may be reserved still: their events are on their way to the store
        self._written, self._ended = written, 0

    @property
    def budgets(self) -> Sequence[Budget]:
        """All of the crew, and that of the run's request."""
        own = bound_of_request(self.state.query)
        found = self.crew.present_budgets
        return found if own is None else (*found, own)

    @property
    def bounds_something(self) -> bool:
        """Whether any budget counts calls of the run."""
        return bool(self.budgets)

    def meter(self, agent_id: str) -> Meter | None:
        """Return what reserves for an agent's calls; None: nothing bounds them."""
        return _AgentMeter(self, agent_id) if self.bounds_something else None

    async def settle_lost(self) -> None:
        """Count calls that an earlier process was making as they were estimated."""
        if self.bounds_something:
            await self.store.budgets.settle_lost(self.row.run_id)

    async def settled(self, request: RequestEnded) -> None:
        """Tell of parts of limits that are used, now that a call has ended."""
        if (known := self._open.pop(request.id, None)) is None:
            return
        self._ended += 1
        agent_id, pots, shares, states = known
        usage = request.usage
        after = [
            replace(
                one,
                nanos=one.nanos + nanos_of(usage.cost_usd),
                tokens=one.tokens + usage.total_tokens,
                calls=one.calls + 1,
            )
            for one in states
        ]
        # what the store does not take now is told with the next call
        with contextlib.suppress(StoreError):
            await self._warnings.tell(agent_id, pots, shares, after, is_over=False)

    def hold(self, agent_id: str, refusal: BudgetRefusal) -> None:
        """Note that a call of an agent was not made."""
        self.crew.recipe.budget_refusals[refusal.budget, refusal.then] += 1
        if self.held is None:
            self.held = agent_id, refusal

    @contextlib.contextmanager
    def holding(self, agent_id: str) -> Iterator[None]:
        """Note a call of an agent that is not made in this block."""
        try:
            yield
        except BudgetExceeded as error:
            self.hold(agent_id, error.refusal)

    async def begin(self, agent_id: str, attempt: PaidAttempt) -> RequestRoom:
        """See Meter."""
        now = self.store.now()
        pots = pots_of(
            self.budgets, self.payer, attempt.agent_id, attempt.alias, now, self.crew.zone
        )
        if not pots:
            return RequestRoom()
        attempt = with_bound(attempt, pots)
        require_price(attempt, pots)
        try:
            await self._know_lengths(attempt, pots)
            with self.crew.recipe.budget_lines.place() as place:
                return await self._reserve(agent_id, attempt, pots, place)
        except StoreError as error:
            if all(one.budget.then == "warn" for one in pots):
                return RequestRoom()
            text = f"the store does not say what is used of budgets: {error}"
            raise ModelError("budget_unknown", text) from None

    async def _know_lengths(self, attempt: PaidAttempt, pots: Sequence[Pot]) -> None:
        """Read once how long answers of this model were; raises StoreError."""
        key = attempt.agent_id, attempt.provider, attempt.model
        if any(one.budget.reserve != "worst" for one in pots):
            await know_lengths(self.store, self.crew.recipe.answer_lengths, key)

    async def _reserve(
        self, agent_id: str, attempt: PaidAttempt, pots: Sequence[Pot], place: LinePlace
    ) -> RequestRoom:
        """Reserve in all pots; raises BudgetExceeded, StoreError."""
        # each of several calls waits itself until what has ended is counted
        came_at, ended = self.crew.clock.monotonic(), 0
        while True:
            others = place.behind([one.key for one in pots])
            ahead = [one for one in pots if one.key in others]
            text = f"earlier calls wait for budget {ahead[0].budget.name}" if ahead else ""
            if ahead and await self._waits(agent_id, ahead, place, came_at, text):
                continue
            estimates = [self._estimate(attempt, one.budget) for one in pots]
            shares = [share_of(one, made) for one, made in zip(pots, estimates, strict=True)]
            dearest = max(estimates, key=lambda one: one.tokens)
            reservation = self._reservation(attempt, shares, dearest)
            reserved = await self.store.budgets.reserve(reservation)
            if reserved.is_done:
                self._open[attempt.id] = agent_id, pots, shares, reserved.pots
                await self._warnings.tell(agent_id, pots, shares, reserved.pots)
                is_last = self._is_last(pots, shares, reserved.pots)
                if is_last:
                    text = "a budget has room for no further call: it answers with what it has"
                    self._warnings.warn(agent_id, "budget_end", text, is_last)
                return RequestRoom(attempt.max_tokens, bool(is_last))
            if ended < self._ended and self._written is not None:
                ended = self._ended
                await self._written()
                continue
            full = full_pots(pots, shares, reserved.pots)
            come_in = max(one.input for one in estimates)
            left = output_left(shares, reserved.pots, come_in, attempt.prices)
            if (
                LEAST_OUTPUT + attempt.thinking_tokens
                <= left
                < max(one.output for one in estimates)
            ):
                budget = full[0].pot.budget
                text = f"the answer may have {left:,} tokens: budget {budget.name} has no more room"
                self._warnings.warn(agent_id, "budget_clipped", text, budget.source)
                attempt = replace(attempt, max_tokens=left)
                continue
            used_up = [one for one in full if not one.is_held]
            text = f"other calls have reserved: {full[0].text}"
            held = [one.pot for one in full]
            if not used_up and await self._waits(agent_id, held, place, came_at, text):
                continue
            # what others may give back decides only where nothing else does
            first = (used_up or full)[0]
            # that there is no room is more than what a channel is sent of it
            with contextlib.suppress(StoreError):
                await notify_full(self.store, self.crew, self.row, first)
            raise BudgetExceeded(self._refusal(first))

    async def _waits(
        self, agent_id: str, pots: Sequence[Pot], place: LinePlace, came_at: float, text: str
    ) -> bool:
        """Wait a little for room in some pots; False: for so long as one of them allows."""
        clock, most = self.crew.clock, min(one.budget.wait_seconds for one in pots)
        if clock.monotonic() >= came_at + most:
            return False
        if not place.joined:
            self._warnings.warn(agent_id, "budget_wait", text, pots[0].budget.source)
        place.join([one.key for one in pots])
        await clock.sleep(LOOK_SECONDS)
        return True

    def _estimate(self, attempt: PaidAttempt, budget: Budget) -> Estimate:
        counted = attempt.prompt_tokens
        if budget.then == "end":
            counted += attempt.last_tokens
        come_in = input_tokens(counted, is_exact=attempt.is_exact)
        return estimate(come_in, self._output(attempt, budget), attempt.prices)

    def _output(self, attempt: PaidAttempt, budget: Budget) -> int:
        lengths: AnswerLengths = self.crew.recipe.answer_lengths
        key = attempt.agent_id, attempt.provider, attempt.model
        return output_tokens(budget.reserve, attempt.max_tokens, lengths.likely(key))

    def _reservation(
        self, attempt: PaidAttempt, shares: Sequence[Share], dearest: Estimate
    ) -> Reservation:
        now, row = self.store.now(), self.row
        # a built-in provider is none of the files
        given = self.crew.config.providers.get(attempt.provider, ProviderConfig())
        seconds = LOST_SECONDS + given.timeout_seconds
        lost = lost_row(attempt, dearest, now, self.crew.zone, row, self.state.seq)
        until = rfc3339(now + timedelta(seconds=seconds))
        return Reservation(attempt.id, row.run_id, shares, until, CALL.dump_json(lost).decode())

    def _is_last(
        self, pots: Sequence[Pot], shares: Sequence[Share], states: Sequence[PotState]
    ) -> str:
        """Return the budget that ends runs and has no room for another such call; "": none."""
        for pot, share, state in zip(pots, shares, states, strict=True):
            if pot.budget.then != "end":
                continue
            after = replace(
                state,
                held_nanos=state.held_nanos + share.nanos,
                held_tokens=state.held_tokens + share.tokens,
                held_calls=state.held_calls + 1,
            )
            if not share.fits(after):
                return pot.budget.source
        return ""

    def _refusal(self, full: FullPot) -> BudgetRefusal:
        budget = full.pot.budget
        then = budget.then
        if then == "model" and budget.model in self.state.budget.models:
            # there was no room for that one, either
            then = "block"
        return BudgetRefusal(
            budget.name,
            full.pot.key.value,
            full.pot.key.period,
            then,
            full.text,
            full.unit,
            full.used,
            full.limit,
            full.wants,
            budget.source,
            full.pot.resets_at,
            budget.model,
        )

    async def apply_answer(self) -> None:
        """Do what a person has decided on a budget; before it is recorded. Raises StoreError."""
        if self.state.untold is None:
            return
        question, answer = self.state.untold
        if not isinstance(question, BudgetQuestion):
            return
        asked, full = question.calls[0], question.full
        given = agreed_amounts(question, answer)
        if given is None:
            text = f"a person has not agreed: {full.text}"
            self._warnings.warn(asked.agent_id, "budget_end", text, full.source)
            return
        assert self.state.pause_seq is not None, "it was paused"
        await raise_pot(self.store, question, given, self.row.run_id, self.state.pause_seq)
        if model := str(given.get("model", "")):
            text = f"{model} answers from now on, as a person has decided"
            self._warnings.warn(asked.agent_id, "budget_model", text, full.source, model)

    def switch(self, agent_id: str, refusal: BudgetRefusal) -> None:
        """Let another model answer from now on."""
        text = f"{refusal.model} answers from now on: {refusal.text}"
        self._warnings.warn(agent_id, "budget_model", text, refusal.source, refusal.model)

    def end(self, agent_id: str, refusal: BudgetRefusal) -> None:
        """Make no further call."""
        self._warnings.warn(agent_id, "budget_end", refusal.text, refusal.source)


class _AgentMeter:
    """See Meter."""

    def __init__(self, budgets: RunBudgets, agent_id: str) -> None:
        self._budgets, self._agent_id = budgets, agent_id

    async def begin(self, attempt: PaidAttempt) -> RequestRoom:
        """See Meter."""
        return await self._budgets.begin(self._agent_id, attempt)
