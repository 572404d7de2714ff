"""The addresses of OpenAI's API."""

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from server.http.callers.rights import require
from server.http.door import Door
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.protocols.openai.chat import complete
from server.protocols.openai.responses import cancel_response, create_response, show_response
from server.protocols.openai.shape import model_of, refuse_openai, require_model

PATH = "/v1"
# by OpenAI's own client
SENT = (
    *("OpenAI-Organization", "OpenAI-Project", "X-Stainless-Arch", "X-Stainless-Lang"),
    *("X-Stainless-OS", "X-Stainless-Package-Version", "X-Stainless-Retry-Count"),
    *("X-Stainless-Runtime", "X-Stainless-Runtime-Version", "X-Stainless-Timeout"),
    *("X-Stainless-Helper-Method", "OpenAI-Beta"),
    # Firefox lets pages set it, and asks
    "User-Agent",
)


def open_openai() -> Door:
    """Return the door of OpenAI's API."""
    response = f"{PATH}/responses/{{response_id}}"
    routes = [
        Route(f"{PATH}/models", list_models, methods=["GET"]),
        Route(f"{PATH}/models/{{model:path}}", show_model, methods=["GET"]),
        Route(f"{PATH}/chat/completions", complete, methods=["POST"]),
        Route(f"{PATH}/responses", create_response, methods=["POST"]),
        Route(response, show_response, methods=["GET"]),
        Route(f"{response}/cancel", cancel_response, methods=["POST"]),
    ]
    starts = re.compile(f"{PATH}/(?:chat/completions|responses)")
    return Door("openai", routes, (PATH,), refuse_openai, headers=SENT, starts=starts)


async def list_models(request: Request) -> Response:
    """Answer GET /v1/models: the crew that is served."""
    require(request, "read")
    crew = services_of(request).runs.crew
    return JsonResponse({"object": "list", "data": [model_of(crew)]})


async def show_model(request: Request) -> Response:
    """Answer GET /v1/models/{model}."""
    require(request, "read")
    require_model(request, request.path_params)
    return JsonResponse(model_of(services_of(request).runs.crew))
