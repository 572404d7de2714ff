"""What can go wrong with a crew.

CrewError
├── ConfigurationError   the files have errors; `problems` has each with its place
│   └── LostConfiguration   those that a run was started with make no crew here any more
├── UnknownRun           there is no run of this id
├── UnknownAgent         the crew has no agent of this id
├── NotPaused            the run does not wait for an answer, or another answer came first
├── AlreadyBegun         a request with the same key has begun something; `receipt` says what
├── KeyReused            a request with the same key asked for something else
├── RunEnded             the run has ended already
├── Draining             this process takes no new runs
└── StoreError           the store could not write or read
    ├── StoreUnavailable for now: the disk is full, the database is gone or held by others
    └── LostRun          another process writes the run now
"""

from collections.abc import Mapping, Sequence

from crew.config.problems import Problem, as_text
from crew.journal.store import Receipt


class CrewError(Exception):
    """Something is wrong with the crew, a run or the store."""


class ConfigurationError(CrewError):
    """The crew's files have errors."""

    def __init__(self, problems: Sequence[Problem], texts: Mapping[str, str]) -> None:
        """`texts`: the files' texts by their names, to show the lines."""
        super().__init__("\n".join(as_text(problem, texts) for problem in problems))
        self.problems, self.texts = tuple(problems), texts


class LostConfiguration(ConfigurationError):
    """What a run was started with makes no crew here any more.

    A Python tool or a variable is missing, say.
    """


class UnknownRun(CrewError):
    """There is no such run."""


class UnknownAgent(CrewError):
    """There is no such agent."""


class NotPaused(CrewError):
    """The run is not paused."""


class AlreadyBegun(CrewError):
    """A request with this key has begun a stretch of a run already."""

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(f"the key {receipt.key!r} has begun run {receipt.run_id}")
        self.receipt = receipt


class KeyReused(CrewError):
    """The key stands for another request."""


class RunEnded(CrewError):
    """The run has ended."""


class Draining(CrewError):
    """This process is shutting down and takes no new runs."""

    def __init__(self) -> None:
        super().__init__("this process is shutting down")


class StoreError(CrewError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The store cannot be used for now; the same again may succeed later."""


class LostRun(StoreError):
    """Another process has taken the run over; what this one writes is refused."""

    def __init__(self) -> None:
        super().__init__("another process has taken the run over")
