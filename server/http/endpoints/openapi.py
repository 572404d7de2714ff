"""The OpenAPI document of this API."""

from starlette.requests import Request
from starlette.responses import Response

from server.http.responses import JsonResponse


async def show_document(request: Request) -> Response:
    """Answer GET /openapi.json: this API, as OpenAPI 3.1."""
    return JsonResponse(request.app.state.openapi_document())
