"""What starts runs by itself: schedules and hooks."""

from starlette.requests import Request
from starlette.responses import Response

from crew.runs.upkeep.due import due_schedules, recent_runs
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of
from tools.text.texts import map_texts


async def show_schedules(request: Request) -> Response:
    """Answer GET /api/crew/schedules: when each is due next, and what it has started last."""
    parse_parameters(request)
    services = services_of(request)
    store, crew = services.runs.store, services.runs.crew
    found = await due_schedules(store, crew)
    return JsonResponse(map_texts({"schedules": found}, crew.secrets.mask))


async def show_hooks(request: Request) -> Response:
    """Answer GET /api/crew/hooks: where each takes its posts, and what it has started last."""
    parse_parameters(request)
    services = services_of(request)
    store, crew = services.runs.store, services.runs.crew
    found = [
        {
            "name": name,
            "path": f"/api/crew/hooks/{name}",
            **hook.model_dump(mode="json"),
            "recent": await recent_runs(store, "hook", name),
        }
        for name, hook in crew.config.hooks.items()
    ]
    return JsonResponse(map_texts({"hooks": found}, crew.secrets.mask))
