"""Why files are not changed."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from crew.errors import CrewError
from crew.rehearsal.differences.differences import Difference


class EditRefused(CrewError):
    """Files are not changed; the text says why."""

    # of the answer over HTTP
    status: ClassVar[int] = 409
    # the field of the request that is wrong
    field = ""

    @property
    def more(self) -> Mapping[str, Any]:
        """Further members of the answer."""
        return {}


class WrongFile(EditRefused):
    """A file may not be changed through the server."""

    status = 400

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.field = name


class NotCurrent(EditRefused):
    """The files have changed since they were read."""

    def __init__(self, text: str, current: str, files: Sequence[dict[str, Any]]) -> None:
        """`files`: those that differ, each with both texts."""
        super().__init__(text)
        self.current, self.files = current, files

    @property
    def more(self) -> Mapping[str, Any]:
        """What is served, and both texts of each file that differs."""
        return {"current": self.current, "files": list(self.files)}


class WiderReach(EditRefused):
    """A change lets the server do what it could not do before."""

    status = 403

    def __init__(self, found: Sequence[Difference]) -> None:
        first = found[0]
        where = f" ({first.now or first.then})" if first.now or first.then else ""
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        super().__init__(
            f"this lets the server do more: {first.text}{where}{more}; "
            "CREW_EDIT=all allows it, or edit the files on the machine"
        )
        self.found = found

    @property
    def more(self) -> Mapping[str, Any]:
        """Each of its changes, with its line."""
        return {"code": "wider-reach", "refused": [one.document() for one in self.found]}


class FolderReadOnly(EditRefused):
    """The files cannot be written."""


class TooManyChecks(EditRefused):
    """Too many files are being checked."""

    status = 429

    def __init__(self) -> None:
        super().__init__("too many files are being checked at once; try again")


class UnknownRevision(EditRefused):
    """There is no such revision, or there are several."""

    status = 404
