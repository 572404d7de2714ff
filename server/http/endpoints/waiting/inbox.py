"""Runs that wait for a person, and who looks at them."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from crew.journal.query import ID
from crew.journal.records.viewers import Viewer
from server.http.bodies import Body
from server.http.callers.rights import caller_of, own_run
from server.http.endpoints.lists import filter_of, page_of_runs
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse, describe_inbox_run, describe_viewers
from server.http.services import services_of
from tools.clock import rfc3339

# of a viewer that does not say again that it is there
VIEWED_SECONDS = 15


class ViewerBody(Body):
    """A page that shows a run."""

    viewer: Annotated[str, Field(pattern=ID)]
    """What the page calls itself: an id of its own."""


async def list_inbox(request: Request) -> Response:
    """Answer GET /api/crew/inbox: runs that wait for a person, oldest first, with what they ask.

    Takes `agent_id`, `owner`, `tool` (a call of it is to be decided; a page may then have fewer),
    `limit` (50; 100 at most) and `after` (a run_id; the `next` of the page before). `viewers` are
    the pages that show the run now.
    """
    given = parse_parameters(request)
    of = {"agent_id": given.get("agent_id"), "owner": given.get("owner")}
    wanted = filter_of(request, {"status": "paused", **of})
    page, following = await page_of_runs(request, given, wanted, oldest_first=True)
    runs = services_of(request).runs
    pauses = await asyncio.gather(*(runs.pause_of(row) for row in page))
    now = rfc3339(runs.store.now())
    viewers = await runs.store.viewers.find([row.run_id for row in page], now) if page else []
    found = [
        describe_inbox_run(row, pause, [one for one in viewers if one.run_id == row.run_id])
        for row, pause in zip(page, pauses, strict=True)
    ]
    if (tool := given.get("tool")) is not None:
        found = [one for one in found if _asks_about(one["waiting"], tool)]
    return JsonResponse({"runs": found, "next": following})


def _asks_about(waiting: Mapping[str, Any] | None, tool: str) -> bool:
    """Return whether a person is to decide on a call of a tool."""
    return waiting is not None and any(one["tool"] == tool for one in waiting.get("calls") or ())


async def announce_viewer(request: Request) -> Response:
    """Answer POST /api/crew/runs/{id}/viewers: a page shows the run, for VIEWED_SECONDS more.

    Answers with all pages that do, this one too.
    """
    services, run_id = services_of(request), request.path_params["run_id"]
    await own_run(request, run_id)
    body = await parse_body(request, services.settings, ViewerBody)
    store = services.runs.store
    now = store.now()
    until = rfc3339(now + timedelta(seconds=VIEWED_SECONDS))
    name = caller_of(request).name
    await store.viewers.announce(Viewer(run_id, body.viewer, name, rfc3339(now), until))
    found = await store.viewers.find([run_id], rfc3339(now))
    return JsonResponse({"viewers": describe_viewers(found)})
