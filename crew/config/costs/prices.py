"""What the models of a crew cost, wherever its files say it; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from agents.config import AgentConfig
from agents.costs.prices import FREE, Prices, Rates
from agents.costs.shape import PricesConfig
from agents.endpoint import ProviderConfig
from crew.config.costs.others import models_beside
from crew.config.crew_files import CrewFiles
from crew.config.keys.models import ChosenModel, client_models_of, models_of, primary_of
from crew.config.memory import embeddings_of
from crew.config.routing_plan import entry_point

# who makes vectors of texts, in lists of costs
EMBEDDINGS = "embeddings"
NO_LISTED: Mapping[str, PricesConfig] = {}


def prices_of(files: CrewFiles, agent: AgentConfig, chosen: ChosenModel) -> Prices | None:
    """Return what a model of an agent costs; None: no file says so.

    `models` says it first, then the agent's `cost_limits`, prices.json, and
    `settings.unpriced_usd_per_million`. A script costs nothing.

    Args:
        files: of the crew.
        agent: of the model; of a helper, the agent that it is made as.
        chosen: the model.
    """
    if chosen.named.prices is not None:
        return chosen.named.prices.prices("models")
    if (own := agent.cost_limits.prices()) is not None:
        return own
    return listed_prices(files, chosen.config.provider, chosen.config.model)


def _alias(chosen: ChosenModel, files: CrewFiles) -> str:
    return chosen.name if files.crew is not None and chosen.name in files.crew.models else ""


def listed_prices(files: CrewFiles, provider: str, model: str) -> Prices | None:
    """Return what a model costs by prices.json, or by the crew's settings; None: not known."""
    listed = files.prices.models if files.prices is not None else NO_LISTED
    if (found := listed.get(listed_name(provider, model))) is not None:
        return found.prices("prices.json")
    if provider == "scripted":
        return FREE
    otherwise = files.crew.settings.unpriced_usd_per_million if files.crew is not None else None
    if otherwise is None:
        return None
    rate = Decimal(str(otherwise))
    return Prices(Rates(rate, rate), "settings")


def knows_prices(files: CrewFiles) -> bool:
    """Return whether a crew's files say what any of its models costs."""
    if files.crew is None:
        return False
    agents = (files.agents[one] for one in files.crew.agents if one in files.agents)
    return (
        files.prices is not None
        or any(one.prices is not None for one in files.crew.models.values())
        or any(one.cost_limits.has_prices for one in agents)
    )


@dataclass(frozen=True, slots=True)
class UsedModel:
    """A model that the agents of a crew may have, and what it costs."""

    provider: str
    model: str
    # where it is; "" for the provider's own address
    address: str
    # None: no file says so
    prices: Prices | None
    # who has it
    agents: tuple[str, ...]
    # its name in `models`; "": it is named by an agent alone
    alias: str = ""


def used_models(files: CrewFiles) -> list[UsedModel]:
    """Return the models of all agents, backups and those that requests may name; each once."""
    found: dict[tuple[str, str], UsedModel] = {}
    crew = files.crew
    for agent_id, agent in files.agents.items() if crew is not None else ():
        assert crew is not None, "else there is no agent here"
        client = client_models_of(agent, crew.models, crew.settings.client_models)
        for chosen in (*models_of(agent, crew.models), *client):
            key = chosen.config.provider, chosen.config.model
            given = crew.providers.get(chosen.config.provider)
            base = given.base_url if given is not None else None
            address = chosen.config.provider_url or base or ""
            known = found.get(key)
            prices = prices_of(files, agent, chosen)
            agents = (*known.agents, agent_id) if known is not None else (agent_id,)
            if known is not None and known.prices is not None:
                prices = known.prices
            of = tuple(dict.fromkeys(agents))
            found[key] = UsedModel(*key, str(address), prices, of, _alias(chosen, files))
    for name, chosen in models_beside(files) if crew is not None else ():
        assert crew is not None, "else no file names one"
        key = chosen.config.provider, chosen.config.model
        given = crew.providers.get(chosen.config.provider, ProviderConfig())
        address = str(chosen.config.provider_url or given.base_url or "")
        # it is made as the entry agent
        prices = prices_of(files, files.agents[entry_point(files)], chosen)
        known = found.get(key, UsedModel(*key, address, prices, (), _alias(chosen, files)))
        found[key] = replace(known, agents=tuple(dict.fromkeys((*known.agents, name))))
    for one, _ in embeddings_of(crew).values() if crew is not None else ():
        assert crew is not None, "else nothing makes vectors"
        key = one.provider, one.model
        given = crew.providers.get(one.provider, ProviderConfig())
        prices = listed_prices(files, *key)
        found.setdefault(key, UsedModel(*key, str(given.base_url or ""), prices, (EMBEDDINGS,)))
    return list(found.values())


def prices_by_agent(files: CrewFiles) -> dict[str, Prices | None]:
    """Return what the model of each agent costs; None: no file says so."""
    models = files.crew.models if files.crew is not None else {}
    return {
        name: prices_of(files, agent, primary_of(agent, models))
        for name, agent in files.agents.items()
    }


def listed_name(provider: str, model: str) -> str:
    """Return the name of a model in prices.json."""
    return f"{provider}/{model}"
