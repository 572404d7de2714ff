"""What can go wrong with the store.

CrewError
└── StoreError           the store could not write or read
    ├── StoreUnavailable for now: the disk is full, the database is away or locked by others
    ├── LostRun          another process has claimed the run
    ├── LostEvents       the database has lost its last commits
    └── Unreadable       another version wrote an event
"""

from crew.errors import CrewError


class StoreError(CrewError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The store cannot be used for now; the same again may succeed later."""


class LostRun(StoreError):
    """Another process has claimed the run; what this one writes is refused."""

    def __init__(self) -> None:
        super().__init__("another process has claimed the run")


class Unreadable(StoreError):
    """Another version wrote an event; its run can be neither continued nor ended by this one."""

    def __init__(self, run_id: str, seq: int) -> None:
        super().__init__(
            f"event {seq} of run {run_id} was written by another version, and cannot be read"
        )


class LostEvents(StoreError):
    """The database came back without its last commits; what does not join on is refused."""

    def __init__(self, run_id: str, seq: int) -> None:
        super().__init__(
            f"the database has lost its last commits: event {seq} of run {run_id} is not there; "
            "the run goes on from what is there"
        )
