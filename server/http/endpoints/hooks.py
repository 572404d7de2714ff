"""Alerts and other JSON that start runs."""

from starlette.requests import Request
from starlette.responses import Response

from crew.config.keys.hooks import HookConfig
from crew.config.keys.matters import TRY_AGAIN, Matter, NotUnderstood, matter_of
from crew.errors import CrewError
from crew.journal.query import DEFAULT_PRIORITY, IdempotencyKey, Query, Source
from crew.runs.errors import AlreadyStarted, TooManyWait
from server.http.callers.rights import caller_of
from server.http.errors import RETRY_AFTER, HttpProblem, bad_request
from server.http.idempotency import owned_key
from server.http.parameters import parse_parameters
from server.http.reading import read_json
from server.http.responses import JsonResponse, accepted
from server.http.services import services_of

NOT_FIRING = {"ignored": "no alert is firing"}


async def receive(request: Request) -> Response:
    """Answer POST /api/crew/hooks/{name}: start a run as the hook says; 202 with its address.

    Takes what the hook's `kind` sends. The same matter again answers with the run that it started;
    alerts that are resolved start none: 200.
    """
    services, name = services_of(request), request.path_params["name"]
    hook = hook_named(request, name)
    try:
        return await _started(request, name, hook)
    except (HttpProblem, CrewError) as error:
        why = error.detail if isinstance(error, HttpProblem) else str(error)
        services.auditor.record_soon(request, "refused", hook_refusal(name, why))
        raise


def hook_named(request: Request, name: str) -> HookConfig:
    """Return a hook of the crew; raises HttpProblem where there is none."""
    hook = services_of(request).runs.crew.config.hooks.get(name)
    if hook is None:
        raise HttpProblem(404, f"there is no hook {name[:80]!r}; crew.yaml has them under hooks")
    return hook


def hook_refusal(name: str, why: str) -> str:
    """Return how the audit says that a hook has refused a post."""
    return f"hook {name}: {why}"


async def read_matter(request: Request, hook: HookConfig) -> tuple[Matter, Query] | None:
    """Return what a post says, and the query that it makes; None: no alert is firing.

    Raises:
        HttpProblem: it cannot be understood.
    """
    services = services_of(request)
    parse_parameters(request)
    sent = await read_json(request, services.settings)
    try:
        matter = matter_of(hook, sent, int(services.settings.max_input_size_kb * 1000))
    except NotUnderstood as error:
        raise bad_request([("body", str(error))]) from None
    if matter is None:
        return None
    priority = DEFAULT_PRIORITY if hook.priority is None else hook.priority
    priority = min(priority, caller_of(request).max_priority)
    return matter, Query(matter.query, (), hook.agent, priority=priority)


async def _started(request: Request, name: str, hook: HookConfig) -> Response:
    services = services_of(request)
    if (found := await read_matter(request, hook)) is None:
        return JsonResponse(NOT_FIRING)
    runs, caller = services.runs, caller_of(request)
    matter, query = found
    now = runs.store.now().timestamp()
    number = int(now // hook.again_after_seconds)
    keys = [
        owned_key(caller, f"hook:{name}:{matter.fingerprint}:{one}") for one in (number - 1, number)
    ]
    # it may have begun just before this period did
    earlier = await runs.store.idempotency_record(keys[0])
    if earlier is not None and await _is_recent(request, earlier.run_id, hook, now):
        return accepted(earlier.run_id, {"Idempotency-Replayed": "true"})
    try:
        key = IdempotencyKey(keys[1], matter.fingerprint)
        entry = services.auditor.entry(request, "start", detail=f"hook {name}")
        request_id, source = request.state.request_id, Source("hook", name)
        run = await runs.start(query, request_id, key, caller.owner, entry=entry, source=source)
    except AlreadyStarted as error:
        return accepted(error.record.run_id, {"Idempotency-Replayed": "true"})
    except TooManyWait as error:
        raise HttpProblem(TRY_AGAIN, str(error), headers=RETRY_AFTER) from None
    return accepted(run.id)


async def _is_recent(request: Request, run_id: str, hook: HookConfig, now: float) -> bool:
    # the first 12 digits of an id are its time
    row = await services_of(request).runs.store.row(run_id)
    return row is not None and now - int(run_id[:12], 16) / 1000 < hook.again_after_seconds
