"""A crew's files: shown, checked before they are written, and written."""

import asyncio
import hashlib
from dataclasses import asdict
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from crew.config.files.masking import hidden
from crew.config.report import problems_document
from crew.journal.records.audit import AuditAction
from crew.journal.records.revisions import Loading
from server.authoring.completion import offers
from server.authoring.features import hover, name_at, references
from server.authoring.renaming import RenameRefused, rename, texts_after
from server.editing.drafts import shown_files
from server.editing.editor import CheckedDraft, Editor, Saved
from server.http.callers.rights import caller_of
from server.http.endpoints.edited.bodies import (
    MAX_FILES_BYTES,
    EditBody,
    FilesBody,
    PlaceBody,
    RenameBody,
)
from server.http.endpoints.rehearsed.checked import played
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import services_of
from tools.text.texts import map_texts

OFF = "files are not edited through this server: CREW_EDIT is not set"
# of the differences, in the audit
MAX_DETAIL = 2000
MAX_OFFERS = 500
P = TypeVar("P", bound=PlaceBody)


def require_editing(request: Request) -> Editor:
    """Return the editor, for a caller that may edit; raises HttpProblem."""
    editor, caller = services_of(request).editor, caller_of(request)
    if editor.mode == "off":
        raise HttpProblem(403, OFF, more={"code": "editing-off"})
    if caller.ticket is not None:
        raise HttpProblem(403, "a ticket edits no files; it needs a token")
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        # whatever CREW_CORS_ORIGINS allows
        raise HttpProblem(403, "Origin: a page of another site edits no files")
    return editor


async def show_files(request: Request) -> Response:
    """Answer GET /api/crew/files: the files that the crew reads, without the secrets in them.

    `base` is what a PUT gives back.
    """
    parse_parameters(request)
    editor = require_editing(request)
    texts = shown_files(await editor.present())
    reason = editor.read_only()
    document = {
        "base": editor.crew.revision,
        "writable": not reason,
        "reason": reason or None,
        "files": [
            {"path": name, "text": text, "digest": _digest(text)} for name, text in texts.items()
        ],
    }
    return JsonResponse(map_texts(document, editor.crew.secrets.mask))


async def check_draft(request: Request) -> Response:
    """Answer POST /api/crew/files/check: what files that are not written would come to."""
    editor = require_editing(request)
    body = await parse_body(
        request, services_of(request).settings, FilesBody, max_bytes=MAX_FILES_BYTES
    )
    found = await editor.check(body.files, body.delete)
    return JsonResponse(map_texts(_checked(found), editor.crew.secrets.mask))


async def explain_place(request: Request) -> Response:
    """Answer POST /api/crew/files/hover: what stands at a place, as Markdown."""
    editor, body = require_editing(request), await _place(request, PlaceBody)
    view = await editor.view(body.files, body.delete)
    text = await asyncio.to_thread(hover, view, body.path, body.line, body.column)
    return JsonResponse({"text": editor.crew.secrets.mask(text)})


async def complete_place(request: Request) -> Response:
    """Answer POST /api/crew/files/completion: what may be written at a place."""
    editor, body = require_editing(request), await _place(request, PlaceBody)
    view = await editor.view(body.files, body.delete)
    text = body.files.get(body.path, "")
    found = await asyncio.to_thread(
        lambda: list(offers(view, body.path, text, body.line, body.column))
    )
    document = {"offers": [asdict(one) for one in found[:MAX_OFFERS]]}
    return JsonResponse(map_texts(document, editor.crew.secrets.mask))


async def find_names(request: Request) -> Response:
    """Answer POST /api/crew/files/names: where what is named at a place is made, and named."""
    editor, body = require_editing(request), await _place(request, PlaceBody)
    view = await editor.view(body.files, body.delete)
    named = await asyncio.to_thread(name_at, view, body.path, body.line, body.column)
    found = references(view, named) if named is not None else []
    places = [
        {"path": one.file, "line": one.line, "column": one.column, "is_made": one.is_made}
        for one in found
    ]
    known = {"kind": named.kind, "name": named.name} if named else {"kind": None, "name": None}
    return JsonResponse(map_texts({**known, "places": places}, editor.crew.secrets.mask))


async def rename_at(request: Request) -> Response:
    """Answer POST /api/crew/files/rename: the files with another name for what is at a place."""
    editor, body = require_editing(request), await _place(request, RenameBody)
    view = await editor.view(body.files, body.delete)
    named = await asyncio.to_thread(name_at, view, body.path, body.line, body.column)
    try:
        if named is None:
            raise RenameRefused("there is no name here that can be another one")
        made = await asyncio.to_thread(rename, view, named, body.name)
    except RenameRefused as error:
        raise HttpProblem(422, f"name: {error}") from None
    texts = texts_after(view, made)
    document = {
        "files": [{"path": name, "text": hidden(name, text)} for name, text in texts.items()],
        "delete": [made.moved[0]] if made.moved is not None else [],
    }
    return JsonResponse(map_texts(document, editor.crew.secrets.mask))


async def _place(request: Request, kind: type[P]) -> P:
    settings = services_of(request).settings
    return await parse_body(request, settings, kind, max_bytes=MAX_FILES_BYTES)


async def rehearse_draft(request: Request) -> Response:
    """Answer POST /api/crew/files/rehearsals: play the rehearsals with files that are not written.

    In processes beside the server; no model is called.
    """
    editor = require_editing(request)
    settings = services_of(request).settings
    body = await parse_body(request, settings, FilesBody, max_bytes=MAX_FILES_BYTES)
    async with editor.copied(body.files, body.delete) as folder:
        return JsonResponse(await played(editor.crew, folder))


async def write_files(request: Request) -> Response:
    """Answer PUT /api/crew/files: write files as a whole, and serve new runs with them."""
    editor = require_editing(request)
    body = await parse_body(
        request, services_of(request).settings, EditBody, max_bytes=MAX_FILES_BYTES
    )
    loading = Loading("edit", caller_of(request).name, body.why)
    saved = await editor.save(body.base, body.files, body.delete, loading)
    await record_edit(request, saved, loading)
    return JsonResponse(map_texts(describe_saved(saved), editor.crew.secrets.mask))


async def record_edit(request: Request, saved: Saved, loading: Loading) -> None:
    """Keep who has changed the files, why, and what."""
    differences = "; ".join(one.text for one in saved.differences)
    detail = f"{saved.load.revision}: {loading.why}; {differences}"[:MAX_DETAIL]
    services = services_of(request)
    action: AuditAction = "edit" if loading.source == "edit" else "rollback"
    await services.auditor.record(request, action, detail=services.runs.crew.secrets.mask(detail))


def describe_saved(saved: Saved) -> dict[str, Any]:
    """Return what was written, as clients get it."""
    return {
        "revision": saved.load.revision,
        "number": saved.load.number,
        "changed": saved.changed,
        "diff": [one.document() for one in saved.differences],
        "others": list(saved.others),
    }


def _checked(found: CheckedDraft) -> dict[str, Any]:
    return {
        **problems_document(found.checked.problems),
        "fixes": [{"path": name, "text": text} for name, text in found.fixes.items()],
        "graph": found.graph,
        "diff": [one.document() for one in found.differences],
        "refused": [one.document() for one in found.refused],
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
