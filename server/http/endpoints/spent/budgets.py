"""How full the pots of budgets are, and more for one of them."""

from starlette.requests import Request
from starlette.responses import Response

from agents.costs.prices import nanos_of
from crew.runs.costs.pots import ShownPot, present_pots
from server.http.bodies import PotBody
from server.http.callers.rights import caller_of
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import services_of

# in an address, the pot of a budget that has one alone
ONLY = "-"


async def show_budgets(request: Request) -> Response:
    """Answer GET /api/crew/budgets: the fullest pots of the present periods, the fullest first.

    Without the scope `admin`, only pots of the caller's own user and token.
    """
    parse_parameters(request)
    services, caller = services_of(request), caller_of(request)
    store, crew = services.runs.store, services.runs.crew
    if "admin" in caller.scopes:
        pots = await present_pots(store, crew)
    else:
        found = await present_pots(store, crew, caller.owner)
        pots = [one for one in found if _is_of(one, caller.owner)]
    return JsonResponse({"budgets": [one.document() for one in pots]})


def _is_of(pot: ShownPot, owner: str) -> bool:
    return pot.pot.budget.scope in ("user", "token") and pot.state.key.value == owner


async def add_to_budget(request: Request) -> Response:
    """Answer POST /api/crew/budgets/{name}/{pot}: add to a pot, until its period is over.

    `-` names the only pot of a budget of the crew.
    """
    services = services_of(request)
    body = await parse_body(request, services.settings, PotBody)
    name, value = request.path_params["name"], request.path_params["pot"]
    store, crew = services.runs.store, services.runs.crew
    for one in await present_pots(store, crew, "" if value == ONLY else value):
        key, is_only = one.state.key, one.pot.budget.scope == "crew"
        if (key.budget, key.value or ONLY if is_only else key.value) == (name, value):
            nanos, tokens, limits = nanos_of(body.add_usd), body.add_tokens, one.pot.budget.limits
            given = (("add_usd", nanos, limits.nanos), ("add_tokens", tokens, limits.tokens))
            for field, amount, limit in given:
                if amount and limit is None:
                    text = f"budget {name} has no limit of this kind"
                    raise HttpProblem(400, f"{field}: {text}", [(field, text)])
            await store.budgets.add(key, one.pot.resets_at, nanos, tokens)
            more = f"{body.add_usd:g} USD, {tokens} tokens"
            await services.auditor.record(request, "budget", detail=f"{name}/{value}: {more}")
            pots = await present_pots(store, crew, key.value)
            (now,) = (pot for pot in pots if pot.state.key == key)
            return JsonResponse(now.document())
    raise HttpProblem(404, "there is no such pot in the present period")
