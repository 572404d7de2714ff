"""Probes and metrics."""

import asyncio
import importlib.metadata
import logging
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from crew.journal.errors import StoreError
from crew.runs.costs.pots import fullest_ratios
from server.http.endpoints.description import failure_of
from server.http.errors import RETRY_AFTER
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of

log = logging.getLogger(__name__)

# a probe does not wait for a database that hangs
ASK_SECONDS = 2.0


async def health(request: Request) -> Response:
    """Answer GET /health: whether the process answers."""
    version = importlib.metadata.version("crewline")
    return JsonResponse({"status": "ok", "version": version})


async def ready(request: Request) -> Response:
    """Answer GET /ready: whether runs can be started; else 503."""
    services = services_of(request)
    if services.runs.draining:
        return _not_ready({"status": "draining"})
    if (failing := services.runs.store.failing) is not None:
        log.debug("not ready: %s", failing)
        detail = "runs cannot be stored; the log says why"
        return _not_ready({"status": "store failing", "detail": detail})
    document: dict[str, Any] = {
        "status": "ready",
        "crew": services.runs.crew.name,
        "config": services.reloader.summary(),
        "runs_unplayable": len(services.runs.live.declined),
    }
    down = [one.name for one in services.runs.crew.recipe.servers.statuses if one.state == "down"]
    if down:
        # other tools work, and so do runs without these
        document |= {"status": "degraded", "mcp_down": down}
    if models := services.runs.crew.recipe.health.failing:
        document["status"] = "degraded"
        document["models_failing"] = [
            {"provider": provider, "model": model, **(failure_of(one) or {})}
            for (provider, model), one in sorted(models.items())
        ]
    if services.storage.warning:
        document["storage"] = services.storage.warning
    if (queue := services.runs.queue) is not None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                document["workers"], document["runs_waiting"] = await queue.counts()
        except TimeoutError:
            detail = "the queue does not answer"
            return _not_ready({"status": "store failing", "detail": detail})
        except StoreError as error:
            log.warning("not ready: %s", error)
            detail = "the queue cannot be used; the log says why"
            return _not_ready({"status": "store failing", "detail": detail})
    return JsonResponse(document)


def _not_ready(document: dict[str, Any]) -> Response:
    return JsonResponse(document, 503, headers=RETRY_AFTER)


async def metrics(request: Request) -> Response:
    """Answer GET /metrics: the metrics as Prometheus text, or with `format=json` as JSON."""
    services = services_of(request)
    numbers, runs = services.metrics, services.runs
    recipe = runs.crew.recipe
    numbers.set_breakers(recipe.guards.open, recipe.model_guards.open)
    numbers.set_token_ratios(recipe.token_ratios.known)
    numbers.set_embeddings(recipe.embedding_counts)
    numbers.set_mcp(runs.crew.recipe.servers.statuses)
    # what cannot be asked keeps its last value: a database that is away must not hide the rest
    try:
        async with asyncio.timeout(ASK_SECONDS):
            numbers.set_chores(await runs.store.chores.counts())
            pots = await fullest_ratios(runs.store, runs.crew)
            numbers.set_budgets(pots, recipe.budget_refusals)
            numbers.pauses.set(await runs.store.count("paused"))
            waiting = runs.slots.waiting()
            if runs.queue is not None:
                workers, waiting = await runs.queue.counts()
                numbers.set_workers(workers)
            numbers.waiting.set(waiting)
    except (StoreError, TimeoutError):
        numbers.is_away = True
    else:
        numbers.is_away = False
    if parse_parameters(request)["format"] == "json":
        return JsonResponse(numbers.as_json())
    return Response(generate_latest(numbers.registry), media_type=CONTENT_TYPE_LATEST)
