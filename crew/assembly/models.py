"""The models of agents and helpers, with what is around each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

from agents.config import AgentConfig, ModelConfig
from agents.costs.prices import Prices
from agents.errors import ProviderError
from agents.model import Model
from agents.providers.catalog import BUILTIN_PROVIDERS, Catalog
from agents.wrappers.fallback import Fallback
from agents.wrappers.offline import OfflineModel
from agents.wrappers.places import Limited
from agents.wrappers.short import ShortCalls
from crew.assembly.given import Given
from crew.config.costs.prices import prices_of
from crew.config.crew_files import CrewFiles
from crew.config.keys.conversations import HELPERS
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import ChosenModel
from tools.text.suggest import nearest


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What all requests of a crew have."""

    # a part of the key by which providers find what they have cached
    revision: str
    # what models think is wanted, for people
    shows_thinking: bool
    # of an agent's model: what it costs
    prices: Callable[[AgentConfig, ChosenModel], Prices | None]

    @classmethod
    def of(cls, files: CrewFiles) -> "ModelUse":
        """Return that of a crew without errors."""
        assert files.crew is not None, "a crew with errors is not assembled"
        shows_thinking = files.crew.settings.show_thinking
        return cls(files.sources.revision, shows_thinking, partial(prices_of, files))


def require_provider(name: str, catalog: Catalog) -> None:
    """Raise ProviderError for a provider, given by the caller, that the crew does not have."""
    known = (*BUILTIN_PROVIDERS, *catalog.providers)
    if name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
    raise ProviderError(f"there is no provider {name!r}; {hint}")


def named_model(crew: CrewConfig, name: str) -> ModelConfig:
    """Return the model that a command names: one of `models`, or PROVIDER/MODEL.

    Raises:
        ProviderError: it is neither.
    """
    if name in crew.models:
        return ModelConfig(model=name)
    provider, _, model = name.partition("/")
    known = (*BUILTIN_PROVIDERS, *crew.providers)
    if model and provider in known:
        return ModelConfig(model=model, provider=provider)
    near = nearest(name, crew.models)
    if near is None and model:
        near = nearest(provider, known)
    hint = f"did you mean {near!r}?" if near else "name one of models, or PROVIDER/MODEL"
    raise ProviderError(f"there is no model {name!r}; {hint}")


def replace_models(files: CrewFiles, model: ModelConfig) -> None:
    """Give one model to all agents and helpers, without backups."""
    for agent_id, agent in files.agents.items():
        changed: dict[str, Any] = {"primary": model, "backup": None, "thinking": None}
        files.agents[agent_id] = agent.model_copy(update=changed)
    if (crew := files.crew) is None:
        return
    none = dict.fromkeys(("model", "provider", "provider_url"))
    helpers = {
        name: given.model_copy(update=none)
        for name in (*HELPERS, "default")
        if (given := getattr(crew.helpers, name)) is not None
    }
    files.crew = crew.model_copy(update={"helpers": crew.helpers.model_copy(update=helpers)})


def make_model(
    agent_id: str,
    config: AgentConfig,
    chosen: Sequence[ChosenModel],
    catalog: Catalog,
    given: Given,
    use: ModelUse,
) -> Model:
    """Make the model of an agent or a helper.

    Args:
        agent_id: by which it counts.
        config: has its limits.
        chosen: its model and, if it has one, its backup.
        catalog: makes the models.
        given: what the program gives.
        use: what all requests of the crew have.

    Raises:
        ProviderError: a provider cannot be used.
    """
    primary, *backups = (one.config for one in chosen)
    # the agent's own thinking is that of its own model
    own = (config.thinking, *repeat(None, len(chosen) - 1))
    cache_key = f"{use.revision}-{agent_id}"
    extras = [
        one.extras(thinking, cache_key, shows_thinking=use.shows_thinking)
        for one, thinking in zip(chosen, own, strict=True)
    ]
    prices = [use.prices(config, one) for one in chosen]
    if not given.asks:
        return OfflineModel(primary.provider, primary.model)
    if given.provider is not None:
        other = ModelConfig(model=primary.model, provider=given.provider)
        model = catalog.model(other, prices=prices[0])
    elif backups:
        first = catalog.model(primary, extras[0], prices=prices[0], has_backup=True)
        model = Fallback(first, catalog.model(backups[0], extras[1], prices=prices[1]))
    else:
        model = catalog.model(primary, extras[0], prices=prices[0])
    if config.max_concurrent is not None:
        model = Limited(model, config.max_concurrent, given.places)
    limits = config.cost_limits
    return model if limits.max_tokens_per_call is None else ShortCalls(model, limits)
