"""What people do with what starts runs by itself, and with channels."""

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.query import Source
from crew.journal.records.notices import ChannelNews
from crew.runs.errors import ScheduleBusy, UnknownSchedule
from crew.runs.upkeep.by_hand import pause_schedule, resume_schedule, start_now
from crew.runs.upkeep.due import due_schedules
from server.http.callers.rights import caller_of
from server.http.endpoints.explored.bodies import PausedBody
from server.http.endpoints.hooks import NOT_FIRING, hook_named, read_matter
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse, accepted
from server.http.services import services_of
from server.notices.delivery import NotDelivered, delivery
from server.notices.messages import test_notice
from server.settings import ServerSettings
from tools.clock import rfc3339
from tools.text.texts import map_texts


async def run_schedule(request: Request) -> Response:
    """Answer POST /api/crew/schedules/{name}/run: start a run of it now; 202 with its address."""
    parse_parameters(request)
    services, name = services_of(request), request.path_params["name"]
    entry = services.auditor.entry(request, "start", detail=f"schedule {name}, by hand")
    try:
        run_id = await start_now(services.runs, name, request.state.request_id, entry)
    except UnknownSchedule as error:
        raise HttpProblem(404, str(error)) from None
    except ScheduleBusy as error:
        raise HttpProblem(409, str(error), more={"run_id": error.run_id}) from None
    return accepted(run_id)


async def pause_or_resume(request: Request) -> Response:
    """Answer POST /api/crew/schedules/{name}/pause: start nothing at its times, or go on."""
    services, name = services_of(request), request.path_params["name"]
    body = await parse_body(request, services.settings, PausedBody)
    runs, crew = services.runs, services.runs.crew
    try:
        if body.paused:
            await pause_schedule(runs, name, caller_of(request).name)
        else:
            await resume_schedule(runs, name)
    except UnknownSchedule as error:
        raise HttpProblem(404, str(error)) from None
    done = "paused" if body.paused else "goes on"
    await services.auditor.record(request, "schedule", detail=f"schedule {name} {done}")
    shown = await due_schedules(runs.store, crew)
    (found,) = (one for one in shown if one["name"] == name)
    return JsonResponse(map_texts(found, crew.secrets.mask))


async def test_hook(request: Request) -> Response:
    """Answer POST /api/crew/hooks/{name}/test: start a run as if the hook had got this post.

    Each time a new one, whatever the hook has got before.
    """
    services, name = services_of(request), request.path_params["name"]
    hook = hook_named(request, name)
    if (found := await read_matter(request, hook)) is None:
        return JsonResponse(NOT_FIRING)
    entry = services.auditor.entry(request, "start", detail=f"hook {name}, as a test")
    request_id, source = request.state.request_id, Source("hook", name)
    owner = caller_of(request).owner
    run = await services.runs.start(found[1], request_id, None, owner, entry=entry, source=source)
    return accepted(run.id)


async def test_channel(request: Request) -> Response:
    """Answer POST /api/crew/channels/{name}/test: send a test message, and say how that ended."""
    parse_parameters(request)
    services, name = services_of(request), request.path_params["name"]
    runs, crew = services.runs, services.runs.crew
    channel = crew.config.notify.get(name)
    if channel is None:
        text = f"there is no channel {name[:80]!r}; crew.yaml has them under notify"
        raise HttpProblem(404, text)
    settings: ServerSettings = request.app.state.settings
    notice, error = test_notice(crew.name, name, crew.clock.now()), ""
    async with delivery(crew.clock, settings.link_base) as sending:
        try:
            await sending.deliver(channel, notice)
        except NotDelivered as failure:
            error = str(failure)
    at = rfc3339(runs.store.now())
    news = ChannelNews(name, at, "failed" if error else "sent", error)
    await runs.store.outbox.finish(notice.id, news)
    services.metrics.count_notice(name, news.outcome)
    ended = f": {error}" if error else ""
    await services.auditor.record(request, "test", detail=f"channel {name}{ended}")
    return JsonResponse({"sent": not error, "error": error or None})
