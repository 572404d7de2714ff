"""Budgets that no call is paid from, that cannot hold, and models that are no way out."""

from collections.abc import Iterator

from agents.config import AgentConfig
from agents.costs.prices import Prices
from agents.costs.usage import Usage
from crew.budgets.rules import COST_LIMITS, OF_REQUEST
from crew.config.checks.references import unknown_name
from crew.config.costs.budgets import window_of_model
from crew.config.costs.others import named_models_of_helpers
from crew.config.costs.prices import listed_name, prices_of
from crew.config.crew_files import CrewFiles
from crew.config.files.document import YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.budgets import BudgetConfig, OtherModel
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import ChosenModel, choose, client_models_of, models_of
from crew.config.memory import embeddings_of
from crew.config.problems import Problem
from crew.config.routing_plan import entry_point

# by which two models are compared: half of it comes out
SAMPLE = Usage(3000, 1000)
# names with pots of their own
TAKEN = {OF_REQUEST: "a request's max_usd", COST_LIMITS: "the agents' cost_limits"}
# what a scope needs in crew.yaml
NEEDS = {"conversation": "conversations", "schedule": "schedules", "hook": "hooks"}


def check_budgets(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield the problems of `budgets`."""
    if not files.is_whole(CREW_FILE, "budgets", "models"):
        return
    for name, budget in crew.budgets.items():
        path: YamlPath = ("budgets", name)
        if name in TAKEN:
            text = f"{name} is the budget of {TAKEN[name]}; choose another name"
            yield files.crew_document.problem(path, "bad-name", text, key=True)
        yield from _check_reach(files, crew, path, budget)
        if budget.usd is not None:
            yield from _check_prices(files, crew, path, budget)
        if isinstance(budget.then, OtherModel):
            yield from _check_model(files, crew, (*path, "then", "model"), budget, budget.then)


def _check_reach(
    files: CrewFiles, crew: CrewConfig, path: YamlPath, budget: BudgetConfig
) -> Iterator[Problem]:
    document = files.crew_document
    for place, agent in enumerate(budget.agents):
        if agent not in crew.agents:
            yield unknown_name(document, (*path, "agents", place), "agent", agent, crew.agents)
    for place, channel in enumerate(budget.notify):
        if channel not in crew.notify:
            where = (*path, "notify", place)
            yield unknown_name(document, where, "channel", channel, crew.notify)
    counted = [one for name, one in files.agents.items() if name in (budget.agents or files.agents)]
    chosen = [model for one in counted for model in _models_of(one, crew)]
    others = {one.then.model for one in crew.budgets.values() if isinstance(one.then, OtherModel)}
    known = {model.name for model in chosen} | others
    if not budget.agents:
        known |= {model.name for _, model in named_models_of_helpers(files, crew)}
        known |= {one.model for one, _ in embeddings_of(crew).values()}
    for place, model in enumerate(budget.models):
        if model not in known:
            near = document.near(model, known)
            text = f"no agent has the model {model!r}, so this budget never counts it"
            where = (*path, "models", place)
            yield document.problem(where, "budget-never", text, suggestion=near)
    if (key := NEEDS.get(budget.scope)) is not None and not getattr(crew, key):
        if key == "conversations" and crew.conversations is not None:
            return
        text = f"no call is paid from it: crew.yaml has no {key}"
        yield document.problem((*path, "scope"), "budget-never", text)


def _check_prices(
    files: CrewFiles, crew: CrewConfig, path: YamlPath, budget: BudgetConfig
) -> Iterator[Problem]:
    named: set[str] = set()
    for agent_id in budget.agents or crew.agents:
        agent = files.agents.get(agent_id)
        for model in _models_of(agent, crew) if agent is not None else ():
            name = listed_name(model.config.provider, model.config.model)
            is_counted = not budget.models or model.name in budget.models
            assert agent is not None, "it has models"
            if not is_counted or name in named or prices_of(files, agent, model) is not None:
                continue
            named.add(name)
            yield _unpriced(files, path, name, agent_id)
    for helper, model in named_models_of_helpers(files, crew) if not budget.agents else ():
        name = listed_name(model.config.provider, model.config.model)
        is_counted = not budget.models or model.name in budget.models
        entry = files.agents[entry_point(files)]
        if is_counted and name not in named and prices_of(files, entry, model) is None:
            named.add(name)
            yield _unpriced(files, path, name, f"helper {helper}")


def _unpriced(files: CrewFiles, path: YamlPath, name: str, who: str) -> Problem:
    text = f"no file says what {name} costs ({who}), so usd cannot hold: give its"
    text = f"{text} models.<name>.prices, `free: true`, tokens in place of usd, or"
    text = f"{text} settings.unpriced_usd_per_million"
    return files.crew_document.problem((*path, "usd"), "unpriced-budget", text)


def _models_of(agent: AgentConfig, crew: CrewConfig) -> Iterator[ChosenModel]:
    """Yield all that may answer for an agent, but for those that budgets give it."""
    yield from models_of(agent, crew.models)
    yield from client_models_of(agent, crew.models, crew.settings.client_models)


def _check_model(
    files: CrewFiles,
    crew: CrewConfig,
    path: YamlPath,
    budget: BudgetConfig,
    other: OtherModel,
) -> Iterator[Problem]:
    document = files.crew_document
    if other.model not in crew.models:
        near = document.near(other.model, crew.models)
        text = f"models has no {other.model!r}; name one of `models`"
        yield document.problem(path, "budget-model", text, suggestion=near)
        return
    cheaper = choose(crew.models, other.model, None, None)
    window = window_of_model(crew, cheaper.named.context_window)
    for agent_id in budget.agents or crew.agents:
        agent = files.agents.get(agent_id)
        if agent is None:
            continue
        own = next(iter(models_of(agent, crew.models)))
        wanted = window_of_model(crew, own.named.context_window)
        if window < wanted:
            text = f"{other.model} has a smaller context_window than {own.name} of {agent_id}"
            text = f"{text} ({window:,} tokens, not {wanted:,})"
            yield document.problem(path, "budget-model", text)
            return
        prices = prices_of(files, agent, cheaper), prices_of(files, agent, own)
        if not _is_cheaper(*prices):
            text = f"{other.model} has no lower known price than {own.name} of {agent_id}"
            yield document.problem(path, "budget-model", text)
            return


def _is_cheaper(other: Prices | None, own: Prices | None) -> bool:
    if other is None:
        return False
    return own is None or other.nanos(SAMPLE) < own.nanos(SAMPLE)
