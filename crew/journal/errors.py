"""What can go wrong with the store.

CrewError
└── StoreError           the store could not write or read
    ├── StoreUnavailable for now: the disk is full, the database is away or locked by others
    ├── LostRun          another process has claimed the run
    ├── OlderSchema      an older version made the database
    ├── LostEvents       the database has lost its last commits
    └── Unreadable       another version wrote an event
"""

from crew.errors import CrewError


class StoreError(CrewError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The store cannot be used for now; the same again may succeed later."""


class OlderSchema(StoreError):
    """An older version made the database, and who only looks does not bring it up to date."""

    def __init__(self, database: str, version: int, newest: int) -> None:
        """`database`: its path or address; both numbers are of schemas."""
        super().__init__(
            f"the database {database} is of version {version}, older than this program's {newest}: "
            "crew serve, crew worker and crew run bring it up to date; stop the processes of the "
            "older version first, which cannot use it then"
        )


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
