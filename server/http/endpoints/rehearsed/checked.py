"""What a reload would come to, without one."""

import asyncio
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.assembly.checked import Checked
from crew.config.files.sources import read_sources
from crew.config.problems import has_failed
from crew.config.report import problems_document
from crew.crew import Crew
from crew.rehearsal.differences.differences import differences
from server.gate import Reported, rehearsed, replayed
from server.http.errors import HttpProblem
from server.http.reading import require_no_body
from server.http.responses import JsonResponse
from server.http.services import services_of
from tools.clock import rfc3339
from tools.text.texts import map_texts

# of the replays
SAMPLE, SECONDS = 200, 60.0
# rehearsals that are played at the same time: each takes all processors
PLACES = asyncio.Semaphore(1)


async def check_files(crew: Crew) -> dict[str, Any]:
    """Check the files of the folder as they are now, beside a crew that is served."""
    now, then = await asyncio.to_thread(_check, crew)
    document: dict[str, Any] = {
        "problems": problems_document(now.problems)["problems"],
        "diff": [],
        "rehearsals": None,
        "replays": None,
    }
    if not has_failed(now.problems):
        document["diff"] = [one.document() for one in differences(then, now)]
        folder = crew.sources.folder
        both = (_summary(rehearsed(folder)), _summary(replayed(folder, SAMPLE, SECONDS)))
        document["rehearsals"], document["replays"] = await asyncio.gather(*both)
    masked: dict[str, Any] = map_texts(document, crew.secrets.mask)
    return masked


def _check(crew: Crew) -> tuple[Checked, Checked]:
    recipe = crew.recipe
    now = recipe.check(read_sources(crew.sources.folder))
    return now, recipe.check(crew.sources, literals=crew.literals)


async def play_rehearsals(request: Request) -> Response:
    """Answer POST /api/crew/rehearsals: play what the folder has now; 422 with its problems.

    In processes beside the server; no model is called.
    """
    services = services_of(request)
    await require_no_body(request, services.settings, "rehearsals")
    crew = services.runs.crew
    found = await played(crew, crew.sources.folder)
    at, number = rfc3339(crew.clock.now()), services.reloader.details()["revision"]
    services.last.rehearsals = {**found, "played_at": at, "revision": number}
    return JsonResponse(found)


async def show_newest_rehearsals(request: Request) -> Response:
    """Answer GET /api/crew/rehearsals: what those came to that this process has played last."""
    return JsonResponse({"newest": services_of(request).last.rehearsals})


async def played(crew: Crew, folder: Path) -> dict[str, Any]:
    """Play the rehearsals of a folder, and return what they come to; raises HttpProblem."""
    try:
        async with PLACES:
            found = await rehearsed(folder)
    except TimeoutError:
        raise HttpProblem(503, "the rehearsals took too long") from None
    if found.summary is None:
        wrong = found.lines[0].get("problems", []) if found.lines else []
        first = f"{wrong[0]['file']}:{wrong[0]['line']}: {wrong[0]['message']}" if wrong else ""
        text = f"the rehearsals cannot be played; {first or 'crew test says why'}"
        raise HttpProblem(422, crew.secrets.mask(text))
    failed = [one["id"] for one in found.lines if one.get("status") in ("failed", "error")]
    masked: dict[str, Any] = map_texts({**found.summary, "failures": failed}, crew.secrets.mask)
    return masked


async def _summary(reporting: Any) -> dict[str, Any] | None:
    try:
        found: Reported = await reporting
    except TimeoutError:
        return None
    return found.summary
