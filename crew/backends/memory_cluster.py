"""What a store knows of other processes that has none."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from crew.journal.records.cluster import Watch
from crew.journal.records.rows import Finding, HeldWork


class OneProcess:
    """The part of a store that ends with its process; see Cluster and StoreHealth."""

    def claim_process(self, *, serves: bool) -> bool:
        """See Cluster."""
        return True

    def alone(self) -> bool:
        """See Cluster."""
        return True

    async def hold(self, taken_at: str, *, runs: bool = True) -> HeldWork:
        """See Restoring: what ends with its process has no old state."""
        return HeldWork()

    async def listen(self) -> None:
        """See Cluster: no other process writes."""

    def watch(self, run_id: str) -> AbstractContextManager[Watch]:
        """See Cluster."""
        return nullcontext(Watch())

    def publish_ephemeral(self, run_id: str, encoded: str) -> None:
        """See Cluster: there is no other process."""

    async def announce_listeners(
        self, process: str, run_ids: Sequence[str], seconds: float
    ) -> None:
        """See Cluster: there is no other process."""

    async def has_listeners(self, run_id: str, process: str) -> bool:
        """See Cluster."""
        return False

    async def examine(self) -> list[Finding]:
        """See Health."""
        return [Finding("warning", "runs are kept in memory: they end with their process")]

    async def probe(self) -> None:
        """See Health."""
