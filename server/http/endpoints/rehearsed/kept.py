"""A stored run as a file: a cassette, or a rehearsal; no secret is in it."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.rehearsal.keeping.keeping import Keeper, KeptRun, rehearsals_of
from crew.rehearsal.replaying.recording import NotKept, read_recording
from server.http.callers.rights import own_run
from server.http.errors import HttpProblem
from server.http.operations import NDJSON, YAML
from server.http.parameters import parse_parameters
from server.http.services import services_of
from tools.text.yaml_text import to_yaml


async def show_cassette(request: Request) -> Response:
    """Answer GET /api/crew/runs/{id}/cassette: what models, tools and people have said.

    A JSON object a line. Secrets, e-mail addresses and telephone numbers are replaced by
    placeholders; 409 while the run goes on, and where its events are no longer kept.
    """
    kept = await _keep(request)
    lines = (json.dumps(one, ensure_ascii=False) for one in kept.cassette.documents())
    return _file(request, "\n".join((*lines, "")), NDJSON, "jsonl")


async def show_rehearsal(request: Request) -> Response:
    """Answer GET /api/crew/runs/{id}/rehearsal: the run as a file for the crew's tests/.

    The same placeholders; 409 as for its cassette.
    """
    kept = await _keep(request)
    return _file(request, to_yaml(rehearsals_of([kept])), YAML, "yaml")


async def _keep(request: Request) -> KeptRun:
    services = services_of(request)
    parse_parameters(request)
    row = await own_run(request, request.path_params["run_id"])
    crew = services.runs.crew
    tools = (tool for agent in crew.agents.values() for tool in agent.tools.values())
    keeper = Keeper.of(crew.config, crew.secrets, tools)
    try:
        return keeper.keep(await read_recording(services.runs.store, row))
    except NotKept as error:
        raise HttpProblem(409, str(error)) from None


def _file(request: Request, text: str, media_type: str, ending: str) -> Response:
    name = f"{request.path_params['run_id']}.{ending}"
    headers: dict[str, Any] = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=headers)
