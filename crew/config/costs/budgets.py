"""The budgets of a crew, as its files say them."""

from agents.config import AgentConfig
from agents.costs.prices import nanos_of
from agents.helper import PREFIX
from crew.budgets.rules import COST_LIMITS, Act, Budget, BudgetLimits
from crew.config.crew_files import CrewFiles
from crew.config.keys.budgets import BudgetConfig, OtherModel, thousandths
from crew.config.keys.conversations import HELPERS
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import models_of
from crew.config.routing_plan import entry_point, file_line


def budgets_of(files: CrewFiles) -> tuple[Budget, ...]:
    """Return the budgets of crew.yaml, and the limits of a day that agents have."""
    crew = files.crew
    if crew is None:
        return ()
    named = (
        budget_of(name, one, file_line(files.crew_document, ("budgets", name), key=True))
        for name, one in crew.budgets.items()
    )
    entry = entry_point(files)
    # each helper has the limits of the entry agent, by itself
    helpers = ((f"{PREFIX}{name}", entry) for name in HELPERS)
    agents = ((name, name) for name in crew.agents)
    own = (_limits_of_day(files, *one) for one in (*agents, *helpers))
    return (*named, *(one for one in own if one is not None))


def _limits_of_day(files: CrewFiles, name: str, agent_id: str) -> Budget | None:
    """Return the budget that the `cost_limits` of an agent are; None: it has none of a day."""
    agent = files.agents.get(agent_id)
    if agent is None:
        return None
    given = agent.cost_limits
    usd, tokens = given.max_cost_per_day_usd, given.max_tokens_per_day
    if usd is None and tokens is None:
        return None
    return Budget(
        COST_LIMITS,
        "agent",
        "day",
        BudgetLimits(None if usd is None else nanos_of(usd), tokens),
        file_line(files.agent_files[agent_id], ("cost_limits",), key=True),
        frozenset({name}),
        warn=(round(given.alert_threshold * 1000),),
        then="block" if given.block_on_cost_exceed else "warn",
        is_lenient=True,
    )


def budget_of(name: str, config: BudgetConfig, source: str) -> Budget:
    """Return a budget; `source`: where the files say it."""
    act: Act = "model" if isinstance(config.then, OtherModel) else config.then
    nanos = None if config.usd is None else nanos_of(config.usd)
    return Budget(
        name,
        config.scope,
        config.per or "total",
        BudgetLimits(nanos, config.tokens, config.calls),
        source,
        frozenset(config.agents),
        frozenset(config.models),
        tuple(sorted(map(thousandths, config.warn))),
        tuple(config.notify),
        act,
        config.then.model if isinstance(config.then, OtherModel) else "",
        config.reserve,
        config.wait_seconds,
    )


def window_of_model(crew: CrewConfig, given: int | None) -> int:
    """Return how many tokens fit into a model; `given`: as `models` says it, if it does."""
    return given or crew.settings.max_context_window


def other_models(crew: CrewConfig, agent: AgentConfig) -> list[str]:
    """Return the models that budgets, or a person at a pause of one, may give to an agent."""
    counted = [one for one in crew.budgets.values() if not one.agents or agent.id in one.agents]
    found = [one.then.model for one in counted if isinstance(one.then, OtherModel)]
    if any(one.then == "pause" for one in counted):
        own = next(iter(models_of(agent, crew.models)))
        least = window_of_model(crew, own.named.context_window)
        found += [
            name
            for name, model in crew.models.items()
            # at an unknown price a person would not know what they choose
            if name != own.name
            and model.prices
            and window_of_model(crew, model.context_window) >= least
        ]
    return [name for name in dict.fromkeys(found) if name in crew.models]
