"""Approvals that outlive their run, in the file of a store."""

from collections.abc import Sequence

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.sqlite.file import SqliteFile
from crew.journal.grants import Grant

GRANT: TypeAdapter[Grant] = TypeAdapter(Grant)
INSERT = "INSERT INTO grants VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
SELECT = """
SELECT document FROM grants
WHERE until > ? AND (? IS NULL OR definition IN (SELECT value FROM json_each(?)))
ORDER BY given_at DESC, id
"""


class SqliteGrants:
    """See GrantLog."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def add(self, grants: Sequence[Grant]) -> None:
        """See GrantLog."""
        rows = [
            (one.id, one.definition, one.given_at, one.until, GRANT.dump_json(one).decode())
            for one in grants
        ]
        await self._file.do(lambda c: c.executemany(INSERT, rows).rowcount, writes=True)

    async def find(self, now: str, definitions: Sequence[str] | None = None) -> list[Grant]:
        """See GrantLog."""
        wanted = to_json(definitions).decode() if definitions is not None else None
        values = (now, wanted, wanted)
        found = await self._file.do(lambda c: c.execute(SELECT, values).fetchall())
        return [GRANT.validate_json(document) for (document,) in found]

    async def revoke(self, grant_id: str) -> bool:
        """See GrantLog."""
        return await self._delete("id = ?", grant_id) > 0

    async def purge(self, now: str) -> int:
        """See GrantLog."""
        return await self._delete("until <= ?", now)

    async def _delete(self, condition: str, value: str) -> int:
        sql = f"DELETE FROM grants WHERE {condition}"  # noqa: S608 # ours
        return await self._file.do(lambda c: c.execute(sql, (value,)).rowcount, writes=True)
