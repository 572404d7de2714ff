"""What the models of a crew cost, wherever its files say it; pure."""

from collections.abc import Mapping
from decimal import Decimal

from agents.config import AgentConfig
from agents.costs.prices import FREE, Prices, Rates
from agents.costs.shape import PricesConfig
from crew.config.crew_files import CrewFiles
from crew.config.keys.models import ChosenModel, primary_of

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
    listed = files.prices.models if files.prices is not None else NO_LISTED
    if (found := listed.get(listed_name(chosen))) is not None:
        return found.prices("prices.json")
    if chosen.config.provider == "scripted":
        return FREE
    otherwise = files.crew.settings.unpriced_usd_per_million if files.crew is not None else None
    if otherwise is None:
        return None
    rate = Decimal(str(otherwise))
    return Prices(Rates(rate, rate), "settings")


def prices_by_agent(files: CrewFiles) -> dict[str, Prices | None]:
    """Return what the model of each agent costs; None: no file says so."""
    models = files.crew.models if files.crew is not None else {}
    return {
        name: prices_of(files, agent, primary_of(agent, models))
        for name, agent in files.agents.items()
    }


def listed_name(chosen: ChosenModel) -> str:
    """Return the name of a model in prices.json."""
    return f"{chosen.config.provider}/{chosen.config.model}"
