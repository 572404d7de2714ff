"""Revisions: listed, shown, compared, and gone back to."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.config.errors import ConfigurationError
from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources
from crew.config.files.yaml_reader import read
from crew.config.problems import has_failed
from crew.config.report import problems_document
from crew.journal.records.revisions import KEPT_REVISIONS, Load, Loading
from crew.rehearsal.differences.differences import Difference, differences
from server.editing.drafts import shown_files
from server.editing.editor import text_diffs
from server.http.callers.rights import caller_of
from server.http.endpoints.edited.bodies import RollbackBody
from server.http.endpoints.edited.files import describe_saved, record_edit, require_editing
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import Services, services_of
from tools.text.texts import map_texts

# a number, or the beginning of a hash
REFERENCE = "^[0-9a-f]{1,16}$"
# keys of texts that models are sent
PROMPTS = frozenset({"system_prompt", "backstory", "prompt", "instructions", "text", "file"})


async def list_revisions(request: Request) -> Response:
    """Answer GET /api/crew/revisions: what was served since when, newest first."""
    given, services = parse_parameters(request), services_of(request)
    limit: int = given["limit"]
    found = list(await services.runs.store.revisions.loads(limit + 1, given.get("after")))
    current = await _current(services)
    document = {
        "revisions": [_load(one, is_current=one.number == current) for one in found[:limit]],
        "next": found[limit - 1].number if len(found) > limit else None,
    }
    return JsonResponse(map_texts(document, services.runs.crew.secrets.mask))


async def show_revision(request: Request) -> Response:
    """Answer GET /api/crew/revisions/{id}: its files, without secrets, and their problems."""
    parse_parameters(request)
    services = services_of(request)
    load, sources = await services.editor.revision(request.path_params["revision"])
    checked = await asyncio.to_thread(services.editor.check_stored, sources)
    texts = _seen(request, services, sources)
    names = sorted({*sources.files} & {*shown_files(sources)})
    document = {
        **_load(load, is_current=load.number == await _current(services)),
        "files": [{"path": name, "text": texts.get(name)} for name in names],
        **problems_document(checked.problems),
        "programs": dict(load.programs),
    }
    return JsonResponse(map_texts(document, services.runs.crew.secrets.mask))


async def show_diff(request: Request) -> Response:
    """Answer GET /api/crew/revisions/{id}/diff: what differs from it to another revision."""
    given, services = parse_parameters(request), services_of(request)
    then, old = await services.editor.revision(request.path_params["revision"])
    new = services.runs.crew.sources
    number: int | None = None
    if "to" in given:
        load, new = await services.editor.revision(given["to"])
        number = load.number
    found: list[Difference] = []
    both = [
        await asyncio.to_thread(services.editor.check_stored, sources) for sources in (old, new)
    ]
    for checked in both:
        if has_failed(checked.problems):
            raise ConfigurationError(checked.problems, checked.files.texts)
    found = differences(*both)
    if not _sees_prompts(request, services):
        found = [one for one in found if not PROMPTS.intersection(one.path[-1:])]
    texts = [_seen(request, services, sources) for sources in (old, new)]
    # one that is hidden in one of them is no file that was added, or deleted
    shown = [name for name in {**texts[0], **texts[1]} if _is_seen(name, (old, new), texts)]
    texts = [{name: seen[name] for name in shown if name in seen} for seen in texts]
    document = {
        "from": {"number": then.number, "hash": then.revision},
        "to": {"number": number, "hash": new.revision},
        "diff": [one.document() for one in found],
        "files": list(text_diffs(*texts)),
    }
    return JsonResponse(map_texts(document, services.runs.crew.secrets.mask))


async def roll_back(request: Request) -> Response:
    """Answer POST /api/crew/revisions/{id}/rollback: write its files, as a new revision."""
    editor = require_editing(request)
    body = await parse_body(request, services_of(request).settings, RollbackBody)
    name = caller_of(request).name
    saved = await editor.roll_back(request.path_params["revision"], body.base, name, body.reason)
    await record_edit(request, saved, Loading("rollback", name, body.reason))
    return JsonResponse(map_texts(describe_saved(saved), editor.crew.secrets.mask))


async def _current(services: Services) -> int:
    """Return the number of the load that is served; a folder may have been rolled back since."""
    loads = await services.runs.store.revisions.loads(KEPT_REVISIONS)
    return next((one.number for one in loads if one.revision == services.runs.crew.revision), 0)


def _is_seen(name: str, both: Sequence[Sources], seen: Sequence[Mapping[str, str]]) -> bool:
    """Return whether a file is shown of each revision that has it."""
    pairs = zip(both, seen, strict=True)
    return all(name in texts or name not in sources.files for sources, texts in pairs)


def _load(load: Load, *, is_current: bool) -> dict[str, Any]:
    return {
        "number": load.number,
        "hash": load.revision,
        "loaded_at": load.loaded_at,
        "by": load.loading.by or None,
        "why": load.loading.why or None,
        "source": load.loading.source,
        "current": is_current,
        "runs": {"live": load.live_runs, "total": load.runs},
        "warnings": load.warnings,
    }


def _sees_prompts(request: Request, services: Services) -> bool:
    return services.settings.show_prompts or "admin" in caller_of(request).scopes


def _seen(request: Request, services: Services, sources: Sources) -> dict[str, str]:
    """Return the texts that the caller may see, without secrets."""
    texts = shown_files(sources)
    if _sees_prompts(request, services):
        return texts
    return {name: text for name, text in texts.items() if not _has_prompts(sources, name)}


def _has_prompts(sources: Sources, name: str) -> bool:
    """Return whether a file may have texts that models are sent."""
    if name not in (sources.find(CREW_FILE), sources.find(TOOLS_FILE)):
        return True
    document = read(name, sources.files[name])
    return document.data is None or any(PROMPTS.intersection(path[-1:]) for path in document.values)
