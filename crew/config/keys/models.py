"""The shape of `models`; and which model an agent or a helper has, however the files name it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import AfterValidator, Field

from agents.config import AgentConfig, ModelConfig, ThinkingBudgetConfig, ThinkingSetting
from agents.context.shape import Tokens
from agents.costs.shape import PricesConfig
from agents.extras import ModelExtras, PromptCache
from crew.config.files.document import YamlPath
from crew.config.keys.conversations import HelpersConfig
from tools.schemas.yaml_shape import JsonObject, Shape

NO_TOKENIZER = "estimate"
TIKTOKEN = "tiktoken:"
DEFAULT_PROVIDER: str = ModelConfig.model_fields["provider"].default


def _require_known(tokenizer: str) -> str:
    encoding = tokenizer.removeprefix(TIKTOKEN)
    if tokenizer != NO_TOKENIZER and encoding in ("", tokenizer):
        raise ValueError(
            f"must be {NO_TOKENIZER}, or {TIKTOKEN} and the name of an encoding, "
            f"such as {TIKTOKEN}o200k_base"
        )
    return tokenizer


class NamedModelConfig(Shape):
    """A model by a name that agents may have as their `model`; their own keys come first."""

    provider: Annotated[str, Field(min_length=1)] | None = None
    """A built-in provider or one of `providers`; the agent's unless given."""
    model: Annotated[str, Field(min_length=1)] | None = None
    """The model's name at its provider; the name it has here unless given."""
    context_window: Tokens | None = None
    """How many tokens fit; `settings.max_context_window` unless given."""
    tokenizer: Annotated[str, AfterValidator(_require_known)] = NO_TOKENIZER
    """`tiktoken:<encoding>` counts tokens exactly; the extra `tiktoken` must be installed."""

    thinking: ThinkingSetting | None = None
    """How much it thinks before it answers: `none`, `low`, `medium`, `high`, `max`, or
    `{budget_tokens}`."""
    images: bool = True
    """Whether it takes images; it is told in words of those that it does not take."""
    prompt_cache: PromptCache = "5m"
    """How long dialect `anthropic` keeps the beginnings of requests: `5m`, `1h`, or `off`; of
    dialect `responses` no key is sent with `off`."""
    prices: PricesConfig | None = None
    """What its tokens cost, in USD a million: `{input, output}` and more; `{free: true}`."""
    body: JsonObject = {}
    """JSON that is added to the body of each request, such as `{chat_template_kwargs: {…}}`."""

    @property
    def encoding(self) -> str | None:
        """Tiktoken's; None where tokens are estimated."""
        if self.tokenizer == NO_TOKENIZER:
            return None
        return self.tokenizer.removeprefix(TIKTOKEN)


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model that a file names."""

    # the model at its provider
    config: ModelConfig
    # the name that the file has for it: maybe one of `models`
    name: str
    named: NamedModelConfig
    # where the file says this
    path: YamlPath = ()
    # not `models`
    says_provider: bool = True

    def extras(
        self, thinking: ThinkingSetting | None, cache_key: str, *, shows_thinking: bool
    ) -> ModelExtras:
        """Return what is added to its requests.

        Args:
            thinking: of the agent's own file.
            cache_key: the same for all requests of the agent.
            shows_thinking: what it thinks is wanted, for people.
        """
        wanted = self.named.thinking if thinking is None else thinking
        budget = wanted.budget_tokens if isinstance(wanted, ThinkingBudgetConfig) else None
        effort = None if isinstance(wanted, ThinkingBudgetConfig) else wanted
        return ModelExtras(
            effort,
            budget,
            self.named.prompt_cache,
            cache_key,
            shows_thinking,
            self.name if self.named is not UNNAMED else "",
            self.named.images,
            self.named.body,
        )

    @property
    def place(self) -> YamlPath:
        """Where the file names the provider of the model."""
        return (*self.path, "provider" if self.says_provider else "model")


Models = Mapping[str, NamedModelConfig]
UNNAMED = NamedModelConfig()


def choose(
    models: Models,
    name: str,
    provider: str | None,
    provider_url: str | None,
    *,
    path: YamlPath = (),
    otherwise: str = DEFAULT_PROVIDER,
) -> ChosenModel:
    """Return the model that a file means.

    Args:
        models: of crew.yaml.
        name: one of these, or the model's own.
        provider: which the file says beside it, if it does.
        provider_url: the same.
        path: where.
        otherwise: the provider where none is named.
    """
    named = models.get(name, UNNAMED)
    known = provider if provider is not None else named.provider
    model = ModelConfig(
        model=named.model or name,
        provider=otherwise if known is None else known,
        provider_url=provider_url,
    )
    says_provider = provider is not None or named.provider is None
    return ChosenModel(model, name, named, path, says_provider)


def primary_of(agent: AgentConfig, models: Models) -> ChosenModel:
    """Return the model of an agent."""
    if agent.primary is not None:
        return _of(agent.primary, models, ("primary",))
    return _of(agent, models, ())


def backup_of(agent: AgentConfig, models: Models) -> ChosenModel | None:
    """Return the model that is called when that has failed."""
    return None if agent.backup is None else _of(agent.backup, models, ("backup",))


def models_of(agent: AgentConfig, models: Models) -> Iterator[ChosenModel]:
    """Yield the model of an agent, and its backup."""
    yield primary_of(agent, models)
    if (backup := backup_of(agent, models)) is not None:
        yield backup


def client_models_of(
    agent: AgentConfig, models: Models, client_models: Sequence[str]
) -> Iterator[ChosenModel]:
    """Yield the models that requests may name for an agent.

    Args:
        agent: of the models.
        models: of crew.yaml.
        client_models: `settings.client_models`; what is none of `models` is left out.
    """
    for name in client_models if agent.model_from_client else ():
        if name in models:
            yield choose(models, name, None, None, path=("models", name))


def models_of_helper(
    helpers: HelpersConfig, name: str, entry: AgentConfig, models: Models
) -> list[ChosenModel]:
    """Return the model of a helper, and its backup.

    As the entry agent has them, but for its own keys.
    """
    known = primary_of(entry, models)
    said = {key: helpers.said(name, key) for key in ("model", "provider", "provider_url")}
    if all(one is None for one in said.values()):
        return list(models_of(entry, models))
    model, provider, url = said["model"], said["provider"], said["provider_url"]
    own = getattr(helpers, name)
    if own is not None and own.model in models and own.provider is None:
        # whose model it is comes before what `default` says of others
        provider = provider if models[model].provider is None else None
    if model is None and provider is None:
        # the entry agent may say another provider than `models` does
        provider = known.config.provider
    is_own = own is not None and (own.model, own.provider) != (None, None)
    chosen = choose(
        models,
        known.name if model is None else model,
        provider,
        url,
        path=("helpers", name if is_own else "default"),
        otherwise=known.config.provider,
    )
    is_theirs = said["provider"] is None and chosen.config.provider == known.config.provider
    if url is None and is_theirs:
        # the address of another provider would be another one's
        shared = {"provider_url": known.config.provider_url}
        chosen = replace(chosen, config=chosen.config.model_copy(update=shared))
    return [chosen]


def _of(given: AgentConfig | ModelConfig, models: Models, path: YamlPath) -> ChosenModel:
    provider = given.provider if "provider" in given.model_fields_set else None
    return choose(models, given.model, provider, given.provider_url, path=path)
