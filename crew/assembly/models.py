"""The models of agents and helpers, with what is around each."""

from agents.budget import Budget, DailyUsage
from agents.config import AgentConfig, ModelConfig
from agents.errors import ProviderError
from agents.fallback import Fallback
from agents.model import Model
from agents.places import Limited
from agents.providers.catalog import BUILTIN_PROVIDERS, Catalog
from crew.assembly.given import Given
from tools.suggest import nearest


def require_provider(name: str, catalog: Catalog) -> None:
    """A provider that replaces every agent's own is the caller's word, not that of a file."""
    known = (*BUILTIN_PROVIDERS, *catalog.providers)
    if name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
    raise ProviderError(f"there is no provider {name!r}; {hint}")


def make_model(config: AgentConfig, catalog: Catalog, given: Given) -> Model:
    """The model that a configuration names; raises ProviderError."""
    primary = primary_of(config)
    if given.provider is not None:
        model = catalog.model(ModelConfig(model=primary.model, provider=given.provider))
    elif config.backup is not None:
        model = Fallback(catalog.model(primary, has_backup=True), catalog.model(config.backup))
    else:
        model = catalog.model(primary)
    if config.max_concurrent is not None:
        model = Limited(model, config.max_concurrent, given.places)
    usage = given.daily_usage.setdefault(config.id, DailyUsage())
    return Budget(model, config.cost_limits, usage, given.clock)


def primary_of(config: AgentConfig) -> ModelConfig:
    """The model of an agent, however its file names it."""
    return config.primary or ModelConfig(
        model=config.model, provider=config.provider, provider_url=config.provider_url
    )
