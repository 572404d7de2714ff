"""Core memory, in the database of a store."""

from collections.abc import Sequence

from pydantic import TypeAdapter

from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.exchanges import ExchangeEnd
from crew.journal.records.remembered.core import (
    KEPT_VERSIONS,
    CoreVersion,
    conversation_of,
    conversation_owner,
    filled,
)

VERSION: TypeAdapter[CoreVersion] = TypeAdapter(CoreVersion)
NEWEST = sql("""
SELECT document FROM crew_core AS one WHERE owner = ANY($1) AND version = (
    SELECT max(version) FROM crew_core AS other
    WHERE other.owner = one.owner AND other.block = one.block
)
ORDER BY owner, block
""")
VERSIONS = sql(
    "SELECT document FROM crew_core WHERE owner = $1 AND block = $2 ORDER BY version DESC"
)
# others wait with a deletion, or a change, until the transaction's end
CONVERSATION = sql("""
SELECT 1 FROM crew_conversations WHERE owner = $1 AND conversation_id = $2 FOR UPDATE
""")
# of two that add the same version, one finds it there
ADD = sql("""
INSERT INTO crew_core SELECT $1, $2, $3::int, $4 WHERE $3::int = 1 + (
    SELECT coalesce(max(version), 0) FROM crew_core WHERE owner = $1 AND block = $2
)
ON CONFLICT DO NOTHING RETURNING 1
""")
OLD = sql("DELETE FROM crew_core WHERE owner = $1 AND block = $2 AND version <= $3")
DELETE = sql("DELETE FROM crew_core WHERE owner = $1")


def delete_core(owner: str) -> Steps[None]:
    """Delete all that belongs to an owner."""
    yield DELETE, (owner,)


def fill_core(ended: ExchangeEnd) -> Steps[None]:
    """Write what the end of an exchange adds, within its transaction."""
    if not ended.core:
        return
    owner, exchange = conversation_owner(ended.owner, ended.conversation_id), ended.exchange
    # nothing comes between: a change of a block locks its conversation first
    found = yield NEWEST, ([owner],)
    newest = {one.block: one for one in (VERSION.validate_json(text) for (text,) in found)}
    for fill in ended.core:
        known = newest.get(fill.block)
        version = filled(known, fill, owner, exchange.run_id, exchange.ended_at)
        if version is not None:
            yield from add_version(version)


def has_place(owner: str) -> Steps[bool]:
    """Return whether there is the conversation that things of an owner belong to, if they do.

    It stays until the transaction's end.
    """
    conversation = conversation_of(owner)
    return conversation is None or bool((yield CONVERSATION, conversation))


def add_version(one: CoreVersion) -> Steps[bool]:
    """Add the next version of a block, within a transaction; see CoreLog.add."""
    if not (yield from has_place(one.owner)):
        # it was deleted meanwhile
        return False
    place, document = (one.owner, one.block), VERSION.dump_json(one).decode()
    if not (yield ADD, (*place, one.version, document)):
        return False
    yield OLD, (*place, one.version - KEPT_VERSIONS)
    return True


class SqlCore:
    """See CoreLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def newest(self, owners: Sequence[str]) -> list[CoreVersion]:
        """See CoreLog."""
        found = await self._database.fetch(NEWEST, list(owners), brief=True)
        return [VERSION.validate_json(document) for (document,) in found]

    async def versions(self, owner: str, block: str) -> list[CoreVersion]:
        """See CoreLog."""
        found = await self._database.fetch(VERSIONS, owner, block)
        return [VERSION.validate_json(document) for (document,) in found]

    async def add(self, version: CoreVersion) -> bool:
        """See CoreLog."""
        return await self._database.transact(lambda: add_version(version))
