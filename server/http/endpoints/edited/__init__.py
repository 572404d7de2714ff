"""The operations on a crew's files, and on the revisions of them.

`files`, `revisions` (the endpoints), `bodies` (of requests).
"""

from server.http.endpoints.edited import files, revisions
from server.http.endpoints.edited.bodies import (
    EditBody,
    FilesBody,
    PlaceBody,
    RenameBody,
    RollbackBody,
)
from server.http.openapi.edited import (
    CheckedFilesAnswer,
    FilesAnswer,
    HoverAnswer,
    NamesAnswer,
    OffersAnswer,
    RenamedAnswer,
    RevisionAnswer,
    RevisionsAnswer,
    RevisionsDiffAnswer,
    SavedAnswer,
)
from server.http.openapi.parameters import LIMIT, query_parameter
from server.http.openapi.rehearsed import RehearsalsAnswer
from server.http.operations import (
    API,
    BODY,
    JSON,
    ApiOperation,
    get_operation,
    post_operation,
)

REVISIONS = f"{API}/revisions"
REVISION = f"{REVISIONS}/{{revision}}"
PLACE = (*BODY, 429)

EDITED = (
    get_operation(
        REVISIONS,
        "read",
        revisions.list_revisions,
        RevisionsAnswer,
        (503,),
        query_parameter("limit", "So many at most.", **LIMIT),
        query_parameter(
            "after",
            "The `next` of the page before.",
            type="integer",
            minimum=1,
            maximum=999_999_999,
        ),
    ),
    get_operation(REVISION, "read", revisions.show_revision, RevisionAnswer, (404, 503)),
    get_operation(
        f"{REVISION}/diff",
        "read",
        revisions.show_diff,
        RevisionsDiffAnswer,
        (404, 422, 503),
        query_parameter(
            "to",
            "The other revision; the current one unless given.",
            pattern=revisions.REFERENCE,
            wrong="is a number, or the beginning of a hash",
        ),
    ),
    post_operation(
        f"{REVISION}/rollback",
        "admin",
        revisions.roll_back,
        200,
        SavedAnswer,
        (404, 409, *BODY, 422, 503),
        RollbackBody,
    ),
    get_operation(f"{API}/files", "admin", files.show_files, FilesAnswer),
    post_operation(
        f"{API}/files/check",
        "admin",
        files.check_draft,
        200,
        CheckedFilesAnswer,
        (*BODY, 429),
        FilesBody,
    ),
    post_operation(
        f"{API}/files/hover", "admin", files.explain_place, 200, HoverAnswer, PLACE, PlaceBody
    ),
    post_operation(
        f"{API}/files/completion",
        "admin",
        files.complete_place,
        200,
        OffersAnswer,
        PLACE,
        PlaceBody,
    ),
    post_operation(
        f"{API}/files/names", "admin", files.find_names, 200, NamesAnswer, PLACE, PlaceBody
    ),
    post_operation(
        f"{API}/files/rename",
        "admin",
        files.rename_at,
        200,
        RenamedAnswer,
        (*PLACE, 422),
        RenameBody,
    ),
    post_operation(
        f"{API}/files/rehearsals",
        "admin",
        files.rehearse_draft,
        200,
        RehearsalsAnswer,
        (*PLACE, 422, 503),
        FilesBody,
    ),
    ApiOperation(
        "put",
        f"{API}/files",
        "admin",
        files.write_files,
        {200: (JSON, SavedAnswer)},
        (409, *BODY, 422, 503),
        body=EditBody,
    ),
)
