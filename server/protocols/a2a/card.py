"""The card by which other agents know the crew."""

import hashlib
from importlib.metadata import version
from typing import Any

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from server.http.services import services_of
from server.settings import ServerSettings

CARD = "/.well-known/agent-card.json"
RPC, REST = "/a2a", "/a2a/rest"
VERSION = "1.0"
TEXT, DATA = "text/plain", "application/json"


async def show_card(request: Request) -> Response:
    """Answer GET /.well-known/agent-card.json; it needs no token."""
    body = to_json(card_of(request))
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "public, max-age=60"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=DATA, headers=headers)


def card_of(request: Request) -> dict[str, Any]:
    """Return the crew's card."""
    crew = services_of(request).runs.crew
    settings: ServerSettings = request.app.state.settings
    base = settings.base_for(str(request.base_url))
    entry = crew.agents.get(crew.entry_point)
    role = entry.role if entry is not None else crew.name
    text = crew.config.description or role
    interfaces = [
        {"url": f"{base}{RPC}", "protocolBinding": "JSONRPC", "protocolVersion": VERSION},
        {"url": f"{base}{REST}", "protocolBinding": "HTTP+JSON", "protocolVersion": VERSION},
    ]
    card: dict[str, Any] = {
        "name": crew.name,
        "description": text,
        "supportedInterfaces": interfaces,
        "version": crew.revision or version("crewline"),
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": [TEXT, DATA],
        "defaultOutputModes": [TEXT, DATA],
        "skills": [{"id": crew.name, "name": crew.name, "description": text, "tags": ["crew"]}],
    }
    if settings.tokens.are_needed:
        card["securitySchemes"] = {"token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
        card["securityRequirements"] = [{"schemes": {"token": {"list": []}}}]
    return card
