"""The files of crews, and when each was loaded, in a store that ends with its process."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from crew.journal.records.revisions import KEPT_REVISIONS, Load
from crew.journal.records.rows import RunRow


class MemoryRevisions:
    """See RevisionLog."""

    def __init__(self, rows: Mapping[str, RunRow]) -> None:
        """`rows`: the runs of the store."""
        self._rows = rows
        # files and the time they were kept, by revision
        self._files: dict[str, tuple[str, str]] = {}
        self._loads: list[Load] = []

    async def keep(self, revision: str, files: str, now: str) -> None:
        """See RevisionLog."""
        self._files[revision] = (files, now)

    async def files(self, revision: str) -> str | None:
        """See RevisionLog."""
        found = self._files.get(revision)
        return found[0] if found is not None else None

    def purge(self, used: AbstractSet[str], before: str) -> None:
        """Forget the files that no run uses, that are not among the newest, and are old."""
        used |= {one.revision for one in self._loads[-KEPT_REVISIONS:]}
        self._files = {
            revision: (files, kept_at)
            for revision, (files, kept_at) in self._files.items()
            if revision in used or kept_at >= before
        }
        old = [one for one in self._loads[:-KEPT_REVISIONS] if one.revision in self._files]
        self._loads = [*old, *self._loads[-KEPT_REVISIONS:]]

    async def note(self, load: Load) -> None:
        """See RevisionLog."""
        newest = self._loads[-1] if self._loads else None
        if newest is not None and newest.revision == load.revision:
            self._loads[-1] = replace(newest, loaded_at=max(load.loaded_at, newest.loaded_at))
            return
        self._loads.append(replace(load, number=1 if newest is None else newest.number + 1))

    async def loads(self, limit: int, before: int | None = None) -> Sequence[Load]:
        """See RevisionLog."""
        found = [one for one in reversed(self._loads) if before is None or one.number < before]
        return [self._counted(one) for one in found[:limit]]

    async def find(self, reference: str) -> Sequence[Load]:
        """See RevisionLog."""
        newest = {one.revision: one for one in self._loads}
        by_number = [one for one in self._loads if str(one.number) == reference]
        by_hash = [one for one in newest.values() if one.revision.startswith(reference)]
        return [self._counted(one) for one in (by_number or by_hash)[:2]]

    def _counted(self, load: Load) -> Load:
        rows = [row for row in self._rows.values() if row.revision == load.revision]
        live = sum(row.ended_at is None for row in rows)
        return replace(load, live_runs=live, runs=len(rows))
