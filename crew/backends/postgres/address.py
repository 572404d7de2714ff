"""Where a database is: an operator's URL, and how to connect to its server or pooler."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from crew.backends.postgres.shown import without_secrets
from crew.journal.errors import StoreError

# a parameter of the URL: `off` behind a pooler that gives each transaction another connection
PARAMETER = "prepared_statements"
# in a stricter isolation than the statements are made for, those that meet would fail
SESSION = {"default_transaction_isolation": "read committed"}
# The queue's commits do not wait for the disk. A plan that was made while few jobs waited is kept
# when many do, so it must read by an index; where there is none, it would then be compiled.
QUEUE_SESSION = {
    **SESSION,
    "synchronous_commit": "off",
    "enable_seqscan": "off",
    "jit": "off",
}
POOLER = (
    "a pooler stands before the database: name the server itself, or write "
    f"CREW_DATABASE_URL=postgresql://…?{PARAMETER}=off"
)
# what a pooler says of the parameters of a session, and a server of another one's statements
POOLER_ERRORS = (
    asyncpg.ProtocolViolationError,
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
)


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Of a database."""

    # as asyncpg takes it
    url: str
    # without what may be secret in it
    name: str
    # Without prepared statements, each use of a connection is one transaction, so that all of it
    # reaches the same server process; and there is no LISTEN, which needs a session.
    prepares: bool = True

    @classmethod
    def of(cls, url: str) -> "DatabaseAddress":
        """Read a URL.

        Raises:
            StoreError: its parameter has a value that is not known.
        """
        name = without_secrets(url)
        try:
            parts = urlsplit(url)
            pairs = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError:
            # asyncpg says what is wrong
            return cls(url, name)
        if PARAMETER not in dict(pairs):
            return cls(url, name)
        match dict(pairs)[PARAMETER]:
            case "on" | "off" as word:
                rest = urlencode([pair for pair in pairs if pair[0] != PARAMETER])
                return cls(urlunsplit(parts._replace(query=rest)), name, word == "on")
            case _:
                raise StoreError(f"CREW_DATABASE_URL: {PARAMETER} is on or off")

    def options(self, application: str, *, of_queue: bool = False) -> dict[str, Any]:
        """Return how to connect: keyword arguments of asyncpg's.

        Args:
            application: as which.
            of_queue: with the settings of the queue's connections.
        """
        settings = {"application_name": application}
        if not self.prepares:
            # a pooler knows no other settings
            return {"server_settings": settings, "statement_cache_size": 0}
        settings |= QUEUE_SESSION if of_queue else SESSION
        return {"server_settings": settings}

    def explain(self, error: Exception) -> str:
        """Explain what an error of the database means for the operator."""
        reason = str(error) or type(error).__name__
        if self.prepares and isinstance(error, POOLER_ERRORS):
            return f"{reason}; {POOLER}"
        return reason
