"""What new files must pass before they are served."""

from collections.abc import Sequence
from typing import Protocol

from crew.config.problems import Problem
from crew.crew import Crew


class Gate(Protocol):
    """Looks at the files of a reload."""

    async def refusals(self, crew: Crew) -> Sequence[Problem]:
        """Return why the files of a crew may not be served; nothing: they may."""
        ...


class OpenGate:
    """Lets all files pass."""

    async def refusals(self, crew: Crew) -> Sequence[Problem]:
        """See Gate."""
        return ()
