"""Documents: uploaded, listed, searched, read and deleted."""

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.query import ID
from crew.runs.documents.library import require_size, require_uploads
from server.http.callers.rights import caller_of, require, user_of
from server.http.errors import HttpProblem, bad_request
from server.http.openapi.documents import DocumentAnswer, DocumentsAnswer, DocumentTextAnswer
from server.http.openapi.parameters import AFTER, LIMIT, TEXT, USER, query_parameter
from server.http.operations import API, IMAGE, JSON, ApiOperation, get_operation
from server.http.parameters import parse_parameters
from server.http.reading import read_bytes
from server.http.responses import JsonResponse, describe_document, describe_passage
from server.http.services import services_of

MAX_CHARS = 100_000


async def upload_document(request: Request) -> Response:
    """Answer PUT /api/crew/documents/{collection}/{name}: keep the bytes of the body; 202.

    They are read by and by: GET says how far that is. The same bytes again are the same document,
    200. Needs `admin` for a collection of the crew's.
    """
    services = services_of(request)
    collection, user_id, conversation_id = _place(request)
    name = request.path_params["name"]
    library = services.runs.documents
    rule = library.rule(collection)
    require_uploads(rule)
    if rule.scope == "crew":
        require(request, "admin")
    length = request.headers.get("content-length", "")
    require_size(rule, int(length) if length.isdigit() and length != "0" else 1)
    content = await read_bytes(request, rule.max_bytes)
    who = caller_of(request).owner
    document, is_new = await library.upload(
        collection, name, content, who, user_id, conversation_id
    )
    # without its name, which may be one of a person's words and outlive the document
    detail = f"{collection}, {document.document_id}"
    await services.auditor.record(request, "document", detail=detail, user_id=user_id)
    return JsonResponse(describe_document(document), 202 if is_new else 200)


async def list_collection(request: Request) -> Response:
    """Answer GET /api/crew/documents/{collection}: its documents, newest first.

    Takes `q`: then the passages that these words find, and their documents, best first.
    """
    collection, user_id, conversation_id = _place(request)
    library = services_of(request).runs.documents
    given = parse_parameters(request)
    limit, query = given["limit"], given.get("q")
    if query is not None:
        if given.get("after"):
            raise bad_request([("after", "words find the best passages: leave it out, or q")])
        services_of(request).metrics.searches.labels(collection).inc()
        found = await library.searched(collection, user_id, conversation_id, query, limit)
        documents = {one.document.document_id: one.document for one in found}
        answer = {
            "documents": [describe_document(one) for one in documents.values()],
            "passages": [describe_passage(one) for one in found],
            "next": None,
        }
        return JsonResponse(answer)
    listed = await library.listed(
        collection, user_id, conversation_id, limit + 1, given.get("after", "")
    )
    page = listed[:limit]
    following = page[-1].document_id if len(listed) > limit else None
    return JsonResponse({"documents": [describe_document(one) for one in page], "next": following})


async def show_version(request: Request) -> Response:
    """Answer GET /api/crew/documents/{collection}/{name}: the newest version, and its status."""
    collection, user_id, conversation_id = _place(request)
    library = services_of(request).runs.documents
    found = await library.get(collection, request.path_params["name"], user_id, conversation_id)
    return JsonResponse(describe_document(found))


async def show_text(request: Request) -> Response:
    """Answer GET /api/crew/documents/{collection}/{name}/text: characters of its text.

    Of the version that is searched. Takes `from` (0) and `chars` (8000).
    """
    collection, user_id, conversation_id = _place(request)
    library = services_of(request).runs.documents
    given = parse_parameters(request)
    start = given["from"]
    name = request.path_params["name"]
    document, text = await library.text(
        collection, name, user_id, conversation_id, start, given["chars"]
    )
    answer = {
        "document_id": document.document_id,
        "from": start,
        "to": start + len(text),
        "chars": document.chars,
        "text": text,
    }
    return JsonResponse(answer)


async def show_content(request: Request) -> Response:
    """Answer GET /api/crew/documents/{collection}/{name}/content: the bytes of an image."""
    collection, user_id, conversation_id = _place(request)
    library = services_of(request).runs.documents
    name = request.path_params["name"]
    found, content = await library.content(collection, name, user_id, conversation_id)
    # what is deleted is not shown by a browser that has kept it
    headers = {"Cache-Control": "private, no-cache", "Content-Security-Policy": "sandbox"}
    return Response(content, media_type=f"image/{found.kind}", headers=headers)


async def delete_document(request: Request) -> Response:
    """Answer DELETE /api/crew/documents/{collection}/{name}: delete all versions; 204."""
    services = services_of(request)
    collection, user_id, conversation_id = _place(request)
    library = services.runs.documents
    if library.rule(collection).scope == "crew":
        require(request, "admin")
    name = request.path_params["name"]
    document = await library.get(collection, name, user_id, conversation_id)
    await library.delete(collection, name, user_id, conversation_id)
    detail = f"deleted {collection}, {document.document_id}"
    await services.auditor.record(request, "document", detail=detail, user_id=user_id)
    return Response(status_code=204)


def _place(request: Request) -> tuple[str, str, str]:
    """Return the collection, the user and the conversation of a request; raises HttpProblem."""
    given = parse_parameters(request)
    collection: str = request.path_params["collection"]
    name: str = request.path_params.get("name", "")
    if "\0" in collection or "\0" in name:
        raise HttpProblem(404, "there is no such document")
    return collection, user_of(request, given.get("user_id")), given.get("conversation_id", "")


COLLECTION = f"{API}/documents/{{collection}}"
DOCUMENT = f"{COLLECTION}/{{name:encoded}}"
OF_CONVERSATION = query_parameter(
    "conversation_id",
    "Where the collection belongs to a conversation.",
    pattern=ID,
    wrong="is no id of a conversation",
)
PLACE = (USER, OF_CONVERSATION)
DOCUMENTS = (
    get_operation(
        COLLECTION,
        "read",
        list_collection,
        DocumentsAnswer,
        (404, 503),
        *PLACE,
        query_parameter("q", "Words that find passages.", **TEXT),
        query_parameter("limit", "So many at most.", **LIMIT),
        AFTER,
    ),
    ApiOperation(
        "put",
        DOCUMENT,
        "run",
        upload_document,
        {200: (JSON, DocumentAnswer), 202: (JSON, DocumentAnswer)},
        (404, 408, 409, 413, 415, 422, 503),
        PLACE,
        bytes,
    ),
    get_operation(DOCUMENT, "read", show_version, DocumentAnswer, (404, 503), *PLACE),
    ApiOperation("delete", DOCUMENT, "run", delete_document, {204: None}, (404, 409, 503), PLACE),
    ApiOperation(
        "get",
        f"{DOCUMENT}/content",
        "read",
        show_content,
        {200: (IMAGE, None)},
        (404, 503),
        PLACE,
    ),
    get_operation(
        f"{DOCUMENT}/text",
        "read",
        show_text,
        DocumentTextAnswer,
        (404, 503),
        *PLACE,
        query_parameter(
            "from",
            "The character to begin with.",
            type="integer",
            minimum=0,
            maximum=999_999_999,
            default=0,
        ),
        query_parameter(
            "chars",
            "So many characters at most.",
            type="integer",
            minimum=1,
            maximum=MAX_CHARS,
            default=8000,
        ),
    ),
)
