"""The shapes of answers about a crew's files, and revisions of them."""

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from crew.journal.records.revisions import LoadSource
from server.http.openapi.answers import Time


class RevisionRuns(TypedDict):
    """Runs that were started with a revision."""

    live: int
    total: int


class ListedRevision(TypedDict):
    """Files that were served from some time on."""

    number: int
    hash: str
    # when they were loaded last
    loaded_at: Time
    by: str | None
    why: str | None
    source: LoadSource
    current: bool
    runs: RevisionRuns
    # how many its files have
    warnings: int


class RevisionsAnswer(TypedDict):
    """Revisions, newest first."""

    revisions: list[ListedRevision]
    next: int | None


class RevisionFile(TypedDict):
    """A file, without the secrets in it."""

    path: str
    # null where the caller may not see the prompts in it
    text: str | None


class RevisionAnswer(ListedRevision):
    """A revision with its files."""

    files: list[RevisionFile]
    problems: list[dict[str, Any]]
    # the SHA-256 of files that it used and that are no part of it
    programs: dict[str, str]


class DifferenceAnswer(TypedDict):
    """One thing that differs, in the crew's words."""

    text: str
    # `file:line`
    source_then: str | None
    source_now: str | None
    # it lets the crew do more than before
    more: bool


class NamedRevision(TypedDict):
    """Which revision it is."""

    number: int | None
    hash: str


class FileDiff(TypedDict):
    """A unified diff."""

    path: str
    diff: str


class RevisionsDiffAnswer(TypedDict("RevisionsDiffAnswer", {"from": NamedRevision})):
    """What differs between two revisions."""

    to: NamedRevision
    diff: list[DifferenceAnswer]
    files: list[FileDiff]


class FileAnswer(TypedDict):
    """A file as it is edited."""

    path: str
    # with `***` where a secret stands, which a write puts back
    text: str
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class FilesAnswer(TypedDict):
    """The files that the crew reads."""

    # the revision that a PUT names
    base: str
    writable: bool
    # why not
    reason: str | None
    files: list[FileAnswer]


class FileText(TypedDict):
    """A file, and a text for it."""

    path: str
    text: str


class HoverAnswer(TypedDict):
    """What stands at a place; "" where nothing is known."""

    text: str


class OfferAnswer(TypedDict):
    """Something that may be written at a place."""

    label: str
    insert: str
    kind: Literal["key", "value", "name", "shape"]
    detail: str
    # Markdown
    documentation: str
    # what is written already, and replaced
    written: str
    # the same with what it must have, on lines that are relative to the first one's indentation;
    # "": nothing more
    shape: str
    # where something is to be filled in, as places in the shape
    stops: list[int]


class OffersAnswer(TypedDict):
    """What may be written at a place."""

    offers: list[OfferAnswer]


class NamedPlace(TypedDict):
    """Where a name stands; line and column from 1, in characters."""

    path: str
    line: int
    column: int
    # here it is given to what it names
    is_made: bool


class NamesAnswer(TypedDict):
    """What is named at a place, and where else; null where nothing is."""

    kind: str | None
    name: str | None
    places: list[NamedPlace]


class RenamedAnswer(TypedDict):
    """Files as they would be with another name; nothing is written."""

    files: list[FileText]
    delete: list[str]


class CheckedFilesAnswer(TypedDict):
    """What files that are not written would come to."""

    problems: list[dict[str, Any]]
    # as `crew validate --fix` would write them
    fixes: list[FileText]
    # null where there are errors
    graph: dict[str, Any] | None
    diff: list[DifferenceAnswer]
    # what lets the server do more, and is not allowed here
    refused: list[DifferenceAnswer]


class SavedAnswer(TypedDict):
    """What is served now."""

    revision: str
    number: int
    # new runs get something else than before
    changed: bool
    diff: list[DifferenceAnswer]
    # after a rollback: files that are no part of a revision, and differ since
    others: list[str]
