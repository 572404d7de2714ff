"""Approvals that outlive their run, in the database of a store."""

from collections.abc import Sequence
from itertools import chain

from pydantic import TypeAdapter

from crew.backends.sql.statements import Statement, insert, sql
from crew.backends.sql.transactions import SqlDatabase
from crew.journal.records.grants import Grant

GRANT: TypeAdapter[Grant] = TypeAdapter(Grant)
COLUMNS = "id, definition, given_at, until, document"
SELECT = sql("""
SELECT document FROM crew_grants
WHERE until > $1 AND ($2::text[] IS NULL OR definition = ANY($2))
ORDER BY given_at DESC, id
""")
OF_USER = sql("""
SELECT document FROM crew_grants WHERE document::json ->> 'user_id' = $1 AND $1 <> ''
ORDER BY given_at, id
""")
REVOKE = sql("DELETE FROM crew_grants WHERE id = $1 RETURNING 1")
PURGE = sql("DELETE FROM crew_grants WHERE until <= $1 RETURNING 1")


class SqlGrants:
    """See GrantLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def add(self, grants: Sequence[Grant]) -> None:
        """See GrantLog."""
        if not grants:
            return
        rows = [
            (one.id, one.definition, one.given_at, one.until, GRANT.dump_json(one).decode())
            for one in grants
        ]
        statement = insert("grants", COLUMNS, len(rows))
        await self._database.fetch(statement, *chain.from_iterable(rows), writes=True)

    async def find(self, now: str, definitions: Sequence[str] | None = None) -> list[Grant]:
        """See GrantLog."""
        found = await self._database.fetch(SELECT, now, definitions)
        return [GRANT.validate_json(document) for (document,) in found]

    async def of_user(self, user_id: str) -> list[Grant]:
        """See GrantLog."""
        found = await self._database.fetch(OF_USER, user_id)
        return [GRANT.validate_json(document) for (document,) in found]

    async def revoke(self, grant_id: str) -> bool:
        """See GrantLog."""
        return await self._delete(REVOKE, grant_id) > 0

    async def purge(self, now: str) -> int:
        """See GrantLog."""
        return await self._delete(PURGE, now)

    async def _delete(self, statement: Statement, value: str) -> int:
        return len(await self._database.fetch(statement, value, writes=True))
