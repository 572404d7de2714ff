"""The bodies of requests about a crew's files."""

from typing import Annotated

from pydantic import AfterValidator, Field

from server.http.bodies import WHOLE, Body, Text

# of the files of one request
MAX_FILES_BYTES = 2_000_000
MIN_WHY, MAX_WHY = 3, 500
FileName = Annotated[str, Field(min_length=1, max_length=200)]
Revision = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


def _without_blanks(text: str) -> str:
    """Return a reason without blanks around it; raises ValueError where that is none."""
    kept = text.strip()
    if len(kept) < MIN_WHY:
        raise ValueError(f"must say why, in {MIN_WHY} characters at least")
    return kept


Why = Annotated[
    Text, Field(min_length=MIN_WHY, max_length=MAX_WHY), AfterValidator(_without_blanks)
]


class FilesBody(Body):
    """Files of a crew that are not written."""

    files: Annotated[dict[FileName, Text], Field(max_length=1000)] = {}
    """Their texts, by their paths below the crew's folder; `***` stands for a secret there."""
    delete: Annotated[list[FileName], Field(max_length=1000)] = []
    """Files that would not be there."""


class PlaceBody(FilesBody):
    """A place in a file of a crew that is not written."""

    path: FileName
    """The file."""
    line: Annotated[int, Field(ge=1, le=1_000_000), WHOLE]
    """From 1."""
    column: Annotated[int, Field(ge=1, le=1_000_000), WHOLE]
    """From 1, in characters."""


class RenameBody(PlaceBody):
    """Another name for what is named at a place."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    """The new one: the id of an agent, or a signal as it is written."""


class EditBody(FilesBody):
    """Files of a crew that are to be written."""

    base: Revision
    """The revision that they were made from: `base` of GET /api/crew/files."""
    why: Why
    """The reason, for those who look at it later."""


class RollbackBody(Body):
    """Going back to a revision."""

    reason: Why
    """Why, for those who look at it later."""
    base: Revision | None = None
    """The revision that must be served now; any unless given."""
