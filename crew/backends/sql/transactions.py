"""What a database does for a role: transactions, written once as steps.

A step is a statement with its values, and gets the rows that it finds. SQLite plays the steps in
one go, PostgreSQL waits for each.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeVar

from crew.backends.sql.statements import Statement

T = TypeVar("T")
# each a sequence of values
Rows = list[Any]
Step = tuple[Statement, Sequence[Any]]
Steps = Generator[Step, Rows, T]


class SqlDatabase(Protocol):
    """Plays the steps of a role. Its methods raise StoreError."""

    async def fetch(
        self, statement: Statement, *values: Any, writes: bool = False, brief: bool = False
    ) -> Rows:
        """Do one statement, and return its rows.

        Args:
            statement: what to do.
            values: of it.
            writes: it changes something.
            brief: it takes microseconds, however much the database has.
        """
        ...

    async def transact(self, make: Callable[[], Steps[T]], *, brief: bool = False) -> T:
        """Play steps in one transaction.

        Args:
            make: begins them, again where they are played again.
            brief: see `fetch`.
        """
        ...

    async def forget_deleted(self) -> None:
        """Remove what was deleted from files that still have it."""
        ...
