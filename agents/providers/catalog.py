"""Providers by name: where each agent's model is, and one client for each endpoint."""

import importlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from agents.config import ModelConfig
from agents.costs.prices import Prices
from agents.endpoint import (
    BUILTINS,
    Builtin,
    Endpoint,
    ProviderConfig,
    dialect_of,
    openai_address,
    unquoted,
)
from agents.errors import ProviderError
from agents.extras import NO_EXTRAS, ModelExtras
from agents.model import Model, VectorModel
from agents.providers.scripted import SCRIPT_FILE, Script, Scripted
from agents.quirks import QuirkTables
from agents.tokenizing.tokens import TokenRatios
from agents.wrappers.breaking import Breaking
from agents.wrappers.counting import Counting
from agents.wrappers.health import Health, Noting
from agents.wrappers.pacing import Paced
from agents.wrappers.priced import Priced, UnpricedModels
from agents.wrappers.retrying import Retrying
from tools.clock import Clock
from tools.config.common import limits_of
from tools.limits.guards import BreakerLimits, Guards
from tools.limits.retry import Jitter
from tools.text.secrets import Secrets

# an open breaker is waited for so long where there is no backup
PATIENCE_SECONDS = 60.0
ACCOUNT_HEADERS = {
    "OpenAI-Organization": "OPENAI_ORG_ID",
    "OpenAI-Project": "OPENAI_PROJECT_ID",
}
BUILTIN_PROVIDERS = tuple(BUILTINS)
# of a model, what answers in its place; gets what answers by the script, if there is one, and what
# makes the model itself
StandIn = Callable[[ModelConfig, Model | None, Callable[[], Model]], Model]


class Catalog:
    """Makes the models of a crew's agents; owns their clients."""

    def __init__(
        self,
        providers: Mapping[str, ProviderConfig],
        script: Script | None,
        backoff_min_seconds: float,
        backoff_max_seconds: float,
        clock: Clock,
        secrets: Secrets,
        guards: Guards,
        ratios: TokenRatios,
        quirk_tables: QuirkTables | None = None,
        health: Health | None = None,
        jitter: Jitter = random.random,
        embedding_counts: Counter[tuple[str, str]] | None = None,
        stand_in: StandIn | None = None,
        *,
        warns_unpriced: bool = False,
    ) -> None:
        """Of one crew.

        Args:
            providers: of crew.yaml.
            script: of script.yaml, if there is one.
            backoff_min_seconds: the first wait before a request is made again.
            backoff_max_seconds: the longest.
            clock: of the crew.
            secrets: gets the endpoints' secrets.
            guards: has the breakers of providers.
            ratios: learns how providers count tokens.
            quirk_tables: learn what endpoints refuse.
            health: gets the failures of models.
            jitter: random numbers from 0 to 1, for waits before retries.
            embedding_counts: count requests for vectors, by model and outcome.
            stand_in: makes what answers in place of every model; None: nothing does.
            warns_unpriced: runs are warned of models without a known price, once a day.
        """
        self.providers, self.script, self.clock = providers, script, clock
        self.secrets, self.guards, self.ratios = secrets, guards, ratios
        self.backoff_min_seconds = backoff_min_seconds
        self.backoff_max_seconds = backoff_max_seconds
        self.quirk_tables = QuirkTables() if quirk_tables is None else quirk_tables
        self.health = Health() if health is None else health
        self.jitter, self.stand_in = jitter, stand_in
        self.clients: dict[Endpoint, Any] = {}
        self.embedding_counts = Counter() if embedding_counts is None else embedding_counts
        self.unpriced = UnpricedModels(clock) if warns_unpriced and stand_in is None else None
        self._embedders: dict[tuple[Endpoint, str, int | None], VectorModel] = {}

    def model(
        self,
        config: ModelConfig,
        extras: ModelExtras = NO_EXTRAS,
        *,
        prices: Prices | None = None,
        has_backup: bool = False,
        is_itself: bool = False,
    ) -> Model:
        """Return the model that a configuration names.

        Args:
            config: names it.
            extras: what the files add to its requests.
            prices: of its tokens; None: not known.
            has_backup: whether another one is called when it fails.
            is_itself: nothing stands in for it.

        Raises:
            ProviderError: there is no such provider, no key, or no script.
        """
        given = self.providers.get(config.provider, ProviderConfig())
        stand_in = None if is_itself else self.stand_in
        asked, name = self._asked(config, extras, stand_in)
        thinking = extras.thinking_tokens or 0
        one = Priced(asked, prices, self.unpriced, extras.alias, thinking)
        model = self._paced(one, name, given)
        limits = limits_of(given.breaker, unless_given=config.provider != "scripted")
        model = self._breaking(model, name, limits, has_backup)
        return self._retrying(model, given.max_retries)

    def _asked(
        self, config: ModelConfig, extras: ModelExtras, stand_in: StandIn | None
    ) -> tuple[Model, str]:
        """Return what answers, and the name by which its endpoint is known.

        Raises what `model` does.
        """
        if stand_in is not None:
            script = self._scripted(extras) if self.script is not None else None
            itself = partial(self._itself, config, extras)
            # of another address it is another one, also where they have one name
            name = f"{config.provider} {config.provider_url or ''}"
            return stand_in(config, script, itself), name
        if config.provider == "scripted":
            return self._scripted(extras), "scripted"
        endpoint = self.endpoint(config)
        # takes its time to import, which no scripted crew should wait for
        remote = importlib.import_module("agents.providers.remote")
        if endpoint not in self.clients:
            endpoint.tell(self.secrets)
            self.clients[endpoint] = remote.Client(
                endpoint, self.clock, self.secrets, self.quirk_tables
            )
        asked = remote.RemoteModel(self.clients[endpoint], config.model, extras)
        noted = Noting(asked, self.health, self.clock)
        return Counting(noted, self.ratios), f"{config.provider} {endpoint.path_url}"

    def _itself(self, config: ModelConfig, extras: ModelExtras) -> Model:
        return self._asked(config, extras, None)[0]

    def _scripted(self, extras: ModelExtras) -> Scripted:
        if self.script is None:
            raise ProviderError(f"provider scripted needs a {SCRIPT_FILE} beside crew.yaml")
        return Scripted(self.script, extras.alias or "scripted", self.clock)

    def embedder(
        self, provider: str, model: str, dimensions: int | None, prices: Prices | None = None
    ) -> VectorModel:
        """Return what makes vectors of texts; raises ProviderError as `model` does.

        Args:
            provider: its name.
            model: as the provider names it.
            dimensions: how many numbers a vector is to have; None: as many as the model gives.
            prices: of its tokens; None: not known.
        """
        endpoint = self.endpoint(ModelConfig(provider=provider, model=model))
        key = endpoint, model, dimensions
        if key not in self._embedders:
            endpoint.tell(self.secrets)
            # takes its time to import, as a client does
            module = importlib.import_module("agents.providers.embeddings")
            made = module.Embedder(*key, self.clock, self.secrets, self.embedding_counts, prices)
            self._embedders[key] = made
        return self._embedders[key]

    def _paced(self, model: Model, name: str, given: ProviderConfig) -> Model:
        if given.limits is None:
            return model
        return Paced(model, self.guards.of(f"{name} limits", given.limits.live(), None))

    def _breaking(
        self,
        model: Model,
        name: str,
        limits: BreakerLimits | None,
        has_backup: bool,  # of a method of ours
    ) -> Model:
        if limits is None:
            return model
        breaker = self.guards.of(name, None, limits).breaker
        assert breaker is not None, "it has limits"
        patience = 0.0 if has_backup else PATIENCE_SECONDS
        return Breaking(model, breaker, patience, self.clock)

    def _retrying(self, model: Model, retries: int) -> Model:
        shortest, longest = self.backoff_min_seconds, self.backoff_max_seconds
        return Retrying(model, retries, shortest, longest, self.clock, self.jitter)

    def endpoint(self, config: ModelConfig) -> Endpoint:
        """Return where a model is.

        `provider_url`, else the provider's `base_url`, else the built-in one.

        Raises:
            ProviderError: there is no such provider, or no key for its own servers.
        """
        name = config.provider
        if name not in self.providers and name not in BUILTIN_PROVIDERS:
            raise ProviderError(f"there is no provider {name!r}")
        given = self.providers.get(name, ProviderConfig())
        url = config.provider_url or given.base_url
        key = given.api_key.get_secret_value() if given.api_key else ""
        builtin = BUILTINS.get(name, Builtin())
        usual = _openai_address() if name == "openai" and not url else builtin.url
        url = url or usual
        if builtin.key:
            key = key or unquoted(os.environ.get(builtin.key, ""))
            if not key and url == builtin.url:
                text = f"provider {name} needs a key: set {builtin.key}"
                raise ProviderError(f"{text}, or use --provider scripted")
        if name == "ollama":
            url = url.rstrip("/")
            url = url if url.endswith("/v1") else url + "/v1"
        if not url:
            raise ProviderError(f"provider {name} needs a base_url")
        headers = tuple((key, value.get_secret_value()) for key, value in given.headers.items())
        if name == "openai":
            own = {header.lower() for header, _ in headers}
            account = (pair for pair in _account_headers() if pair[0].lower() not in own)
            headers = (*account, *headers)
        declared = given.quirks.declared() if given.quirks is not None else {}
        quirks = tuple(declared.items())
        seconds, retries = given.timeout_seconds, given.max_retries
        dialect = dialect_of(name, given)
        return Endpoint(name, url, key, headers, seconds, retries, quirks, dialect)

    async def aclose(self) -> None:
        """Close the clients."""
        async with AsyncExitStack() as closing:
            for client in (*self.clients.values(), *self._embedders.values()):
                closing.push_async_callback(client.aclose)


def _openai_address() -> str:
    try:
        return openai_address(os.environ)
    except ValueError as error:
        raise ProviderError(str(error)) from None


def _account_headers() -> Iterator[tuple[str, str]]:
    """Yield the account that OpenAI counts for, by the variables of its own package."""
    for header, variable in ACCOUNT_HEADERS.items():
        if value := os.environ.get(variable):
            yield header, value
