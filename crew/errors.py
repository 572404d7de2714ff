"""What can go wrong with a crew.

CrewError
├── ConfigurationError   the files have errors; `problems` has each with its place
├── UnknownRun           there is no run of this id
├── NotPaused            the run does not wait for an answer, or another answer came first
├── RunEnded             the run has ended already
├── Draining             this process takes no new runs
└── StoreError           the store could not write or read
"""

from collections.abc import Mapping, Sequence

from crew.problems import Problem, as_text


class CrewError(Exception):
    """Something is wrong with the crew, a run or the store."""


class ConfigurationError(CrewError):
    """The crew's files have errors."""

    def __init__(self, problems: Sequence[Problem], texts: Mapping[str, str]) -> None:
        """`texts`: the files' texts by their names, to show the lines."""
        super().__init__("\n".join(as_text(problem, texts) for problem in problems))
        self.problems, self.texts = tuple(problems), texts


class UnknownRun(CrewError):
    """There is no such run."""


class NotPaused(CrewError):
    """The run is not paused."""


class RunEnded(CrewError):
    """The run has ended."""


class Draining(CrewError):
    """This process is shutting down and takes no new runs."""


class StoreError(CrewError):
    """The store failed."""
