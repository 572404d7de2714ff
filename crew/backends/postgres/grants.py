"""Approvals that outlive their run, in the database of a store."""

from collections.abc import Sequence

from pydantic import TypeAdapter

from crew.backends.postgres.server import PostgresServer
from crew.journal.grants import Grant

GRANT: TypeAdapter[Grant] = TypeAdapter(Grant)
INSERT = """
INSERT INTO crew_grants SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[],
    $5::text[]) ON CONFLICT (id) DO NOTHING
"""
SELECT = """
SELECT document FROM crew_grants
WHERE until > $1 AND ($2::text[] IS NULL OR definition = ANY($2))
ORDER BY given_at DESC, id
"""


class PostgresGrants:
    """See GrantLog."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def add(self, grants: Sequence[Grant]) -> None:
        """See GrantLog."""
        rows = [
            (one.id, one.definition, one.given_at, one.until, GRANT.dump_json(one).decode())
            for one in grants
        ]
        async with self._server.connection(writes=True) as connection:
            await connection.execute(INSERT, *map(list, zip(*rows, strict=True)))

    async def find(self, now: str, definitions: Sequence[str] | None = None) -> list[Grant]:
        """See GrantLog."""
        async with self._server.connection() as connection:
            found = await connection.fetch(SELECT, now, definitions)
        return [GRANT.validate_json(document) for (document,) in found]

    async def revoke(self, grant_id: str) -> bool:
        """See GrantLog."""
        return await self._delete("id = $1", grant_id) > 0

    async def purge(self, now: str) -> int:
        """See GrantLog."""
        return await self._delete("until <= $1", now)

    async def _delete(self, condition: str, value: str) -> int:
        sql = f"DELETE FROM crew_grants WHERE {condition}"  # noqa: S608 # ours
        async with self._server.connection(writes=True) as connection:
            done: str = await connection.execute(sql, value)
        return int(done.rpartition(" ")[2])
