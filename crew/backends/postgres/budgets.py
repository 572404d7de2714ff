"""The pots of budgets in PostgreSQL, where a reservation takes one trip to the server."""

from pydantic_core import to_json

from crew.backends.sql.spent.budgets import SqlBudgets, pot_state
from crew.backends.sql.statements import sql
from crew.journal.records.spent.budgets import Reservation, Reserved

RESERVE = sql("SELECT is_done, pots FROM crew_reserve($1, $2, $3, $4, $5)")


class PostgresBudgets(SqlBudgets):
    """See BudgetLog."""

    async def reserve(self, wanted: Reservation) -> Reserved:
        """See BudgetLog."""
        shares = [
            {
                "number": number,
                **one.key._asdict(),
                "resets_at": one.resets_at,
                "nanos": one.nanos,
                "tokens": one.tokens,
                "least_nanos": one.least[0],
                "least_tokens": one.least[1],
                "max_nanos": one.max_nanos,
                "max_tokens": one.max_tokens,
                "max_calls": one.max_calls,
            }
            for number, one in enumerate(wanted.shares)
        ]
        values = wanted.id, wanted.run_id, wanted.until, wanted.call, to_json(shares)
        ((is_done, pots),) = await self._database.fetch(RESERVE, *values, writes=True, brief=True)
        return Reserved(is_done, [pot_state(row) for row in pots])
