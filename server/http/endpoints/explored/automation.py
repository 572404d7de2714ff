"""What starts runs by itself, schedules and hooks, and the channels that get their news."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.audit import AuditAction, AuditEntry, AuditFilter
from crew.journal.records.notices import ChannelState
from crew.runs.upkeep.due import RECENT, due_schedules, recent_runs
from server.http.endpoints.hooks import hook_refusal
from server.http.operations import API
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of
from tools.text.texts import map_texts

# among so many refusals those of hooks are looked for
REFUSALS = 1000
# by the hook, or for the scopes of the token; and for a token that is none
REFUSED: tuple[AuditAction, ...] = ("refused", "wrong_token")


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
    refusals: list[AuditEntry] = []
    for action in REFUSED if crew.config.hooks else ():
        refusals += await store.audit.entries(REFUSALS, AuditFilter(action=action))
    refusals.sort(key=lambda one: one.at, reverse=True)
    found = [
        {
            "name": name,
            "path": f"/api/crew/hooks/{name}",
            **hook.model_dump(mode="json"),
            "recent": await recent_runs(store, "hook", name),
            "refused": _refused(refusals, name),
        }
        for name, hook in crew.config.hooks.items()
    ]
    return JsonResponse(map_texts({"hooks": found}, crew.secrets.mask))


def _refused(refusals: Iterable[AuditEntry], name: str) -> list[dict[str, Any]]:
    """Return the newest posts that a hook has refused, and why."""
    whys = ((one.at, _why(one.detail, name)) for one in refusals)
    own = ({"at": at, "why": why} for at, why in whys if why)
    return list(islice(own, RECENT))


def _why(detail: str, name: str) -> str:
    """Return why a hook has refused a post, by an entry's detail; "" for another's."""
    by_hook, post = hook_refusal(name, ""), f"POST {API}/hooks/{name}"
    if detail.startswith(by_hook):
        return detail.removeprefix(by_hook)
    if detail == post:
        return "the token is none of the server"
    return f"the token{detail.removeprefix(post)}" if detail.startswith(f"{post} needs ") else ""


async def show_channels(request: Request) -> Response:
    """Answer GET /api/crew/channels: what came of the notices of each, and what waits."""
    parse_parameters(request)
    services = services_of(request)
    store, crew = services.runs.store, services.runs.crew
    states = await store.outbox.channels()
    found = []
    for name, channel in crew.config.notify.items():
        state = asdict(states.get(name, ChannelState()))
        # a time that there is not, or an error, is null
        known = {key: None if value == "" else value for key, value in state.items()}
        found.append({"name": name, "kind": channel.kind, "on": list(channel.on), **known})
    return JsonResponse(map_texts({"channels": found}, crew.secrets.mask))
