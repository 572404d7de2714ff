"""The crew: what it is, and reading its files again."""

import importlib.metadata
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from crew.journal.records.revisions import Loading
from crew.routing.render import RENDERERS
from server.history.usage import tools_usage
from server.http.callers.rights import caller_of
from server.http.endpoints.description import (
    describe_crew,
    describe_models,
    describe_tool,
    tools_of,
    warning,
)
from server.http.endpoints.lists import filter_of
from server.http.endpoints.rehearsed.checked import check_files
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.reading import require_no_body
from server.http.responses import JsonResponse
from server.http.services import services_of
from tools.text.texts import map_texts

# what a client of another version may look for
FEATURES = (
    *("answer", "audit", "budgets", "compare", "costs", "delete", "export", "files", "revisions"),
    *("search", "totals", "why"),
)


async def show_crew(request: Request) -> Response:
    """Answer GET /api/crew: the crew: its agents, routing and limits, and the state of its files.

    With `prompts=1` the prompts too, where `settings.show_prompts` is true.
    """
    services = services_of(request)
    prompts = parse_parameters(request)["prompts"]
    if prompts and not services.settings.show_prompts:
        text = "settings.show_prompts is false"
        raise HttpProblem(403, f"prompts: {text}", [("prompts", text)])
    crew, caller = services.runs.crew, caller_of(request)
    document = {
        **describe_crew(crew, prompts=prompts),
        "config": services.reloader.details(),
        "version": importlib.metadata.version("crewline"),
        "features": list(FEATURES),
        "caller": {"name": caller.name, "scopes": sorted(caller.scopes)},
    }
    # a description in tools.yaml may be read from the environment
    return JsonResponse(map_texts(document, crew.secrets.mask))


async def show_tools(request: Request) -> Response:
    """Answer GET /api/crew/tools: the tools, what each may do, and which agents have it.

    With `usage=1` how often each was called in the last day, in runs that the caller may see.
    """
    runs = services_of(request).runs
    crew, tools = runs.crew, [describe_tool(tool, agents) for tool, agents in tools_of(runs.crew)]
    document: dict[str, Any] = {"tools": tools}
    if parse_parameters(request)["usage"]:
        used = await tools_usage(runs.store, crew.clock, filter_of(request, {}))
        for one in tools:
            known = used.by_tool.get(one["tool"])
            one["usage"] = known.document() if known is not None else None
        document |= {"usage_since": used.since, "usage_partial": used.is_partial}
    return JsonResponse(map_texts(document, crew.secrets.mask))


async def show_models(request: Request) -> Response:
    """Answer GET /api/crew/models: those that a request may name, and the agents that take them."""
    crew = services_of(request).runs.crew
    return JsonResponse(map_texts({"models": describe_models(crew)}, crew.secrets.mask))


async def show_graph(request: Request) -> Response:
    """Answer GET /api/crew/graph: the routing, drawn as text, mermaid, dot or JSON."""
    crew, form = services_of(request).runs.crew, parse_parameters(request)["format"]
    return PlainTextResponse(crew.secrets.mask(RENDERERS[form](crew.graph, ())))


async def reload_files(request: Request) -> Response:
    """Answer POST /api/crew/reload: read the files again, for new runs; 422 with every problem.

    With `check=1` nothing is changed: what differs, and what rehearsals and replays come to. With
    `force=1` files are taken that do not pass `reload_gate`.
    """
    services = services_of(request)
    given = parse_parameters(request)
    await require_no_body(request, services.settings, "reload", frozenset(given))
    if given["check"]:
        return JsonResponse(await check_files(services.runs.crew))
    loading = Loading("reload", caller_of(request).name)
    changed = await services.reloader.reload(
        "asked for over HTTP", force=given["force"], loading=loading
    )
    revision = services.runs.crew.revision
    detail = f"{revision}, forced" if given["force"] else revision
    await services.auditor.record(request, "reload", detail=detail)
    warnings = [warning(problem) for problem in services.runs.crew.warnings]
    summary = services.reloader.summary()
    return JsonResponse({"changed": changed, **summary, "warnings": warnings})
