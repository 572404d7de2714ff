"""The files of crews, and when each was loaded, in the database of a store."""

from collections.abc import Sequence

from pydantic_core import from_json, to_json

from crew.backends.sql.statements import Statement, sql
from crew.backends.sql.transactions import SqlDatabase
from crew.journal.errors import StoreError
from crew.journal.records.revisions import Load, Loading, LoadSource

# the clocks of several machines differ
KEEP = sql("""
INSERT INTO crew_revisions VALUES ($1, $2, $3)
ON CONFLICT (revision) DO UPDATE SET kept_at = greatest(crew_revisions.kept_at, excluded.kept_at)
""")
FILES = sql("SELECT files FROM crew_revisions WHERE revision = $1")
ADD = sql("""
INSERT INTO crew_loads
SELECT 1 + coalesce((SELECT max(number) FROM crew_loads), 0), $1::text, $2::text, $3::text,
    $4::text, $5::text, $6::integer, $7::text
WHERE $1::text <> coalesce(
    (SELECT revision FROM crew_loads ORDER BY number DESC LIMIT 1), ''
) ON CONFLICT DO NOTHING RETURNING 1
""")
TOUCH = sql("""
UPDATE crew_loads SET loaded_at = greatest(loaded_at, $2)
WHERE number = (SELECT max(number) FROM crew_loads) AND revision = $1 RETURNING 1
""")
# other processes may note theirs at the same time
TRIES = 10
COLUMNS = """
SELECT number, revision, loaded_at, source, name, why, warnings, programs,
    (SELECT count(*) FROM crew_runs WHERE crew_runs.revision = one.revision
        AND status IN ('running', 'paused') AND status <> 'completed'),
    (SELECT count(*) FROM crew_runs WHERE crew_runs.revision = one.revision
        AND ended_at IS NOT NULL)
FROM crew_loads AS one
"""
LOADS = sql(f"""
{COLUMNS} WHERE number < coalesce($2::bigint, 9223372036854775807)
ORDER BY number DESC LIMIT $1
""")
BY_NUMBER = sql(f"{COLUMNS} WHERE number = $1")
BY_HASH = sql(f"""
{COLUMNS} WHERE number IN (
    SELECT max(number) FROM crew_loads WHERE substr(revision, 1, length($1::text)) = $1::text
    GROUP BY revision
) ORDER BY number DESC LIMIT 2
""")  # noqa: S608 # ours
MAX_DIGITS = 9


class SqlRevisions:
    """See RevisionLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def keep(self, revision: str, files: str, now: str) -> None:
        """See RevisionLog."""
        await self._database.fetch(KEEP, revision, files, now, writes=True)

    async def files(self, revision: str) -> str | None:
        """See RevisionLog."""
        found = await self._database.fetch(FILES, revision)
        return str(found[0][0]) if found else None

    async def note(self, load: Load) -> None:
        """See RevisionLog."""
        revision, now, loading = load.revision, load.loaded_at, load.loading
        programs = to_json(load.programs).decode()
        values = (revision, now, loading.source, loading.by, loading.why, load.warnings, programs)
        for _ in range(TRIES):
            if await self._database.fetch(ADD, *values, writes=True):
                return
            if await self._database.fetch(TOUCH, revision, now, writes=True):
                return
        raise StoreError(f"revision {revision} could not be noted: others note theirs")

    async def loads(self, limit: int, before: int | None = None) -> Sequence[Load]:
        """See RevisionLog."""
        return await self._loads(LOADS, limit, before)

    async def find(self, reference: str) -> Sequence[Load]:
        """See RevisionLog."""
        if reference.isascii() and reference.isdigit() and len(reference) <= MAX_DIGITS:
            found = await self._loads(BY_NUMBER, int(reference))
            if found:
                return found
        return await self._loads(BY_HASH, reference)

    async def _loads(self, statement: Statement, *values: object) -> list[Load]:
        found = await self._database.fetch(statement, *values)
        return [_load(*row) for row in found]


def _load(
    number: int,
    revision: str,
    at: str,
    source: LoadSource,
    by: str,
    why: str,
    warnings: int,
    programs: str,
    live: int,
    ended: int,
) -> Load:
    loading = Loading(source, by, why)
    return Load(number, revision, at, loading, warnings, from_json(programs), live, live + ended)
