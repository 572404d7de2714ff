"""The files of a crew, checked once for each environment and each set of other values."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.config import ModelConfig
from agents.model import Model
from agents.wrappers.offline import OfflineModel
from crew.assembly.checked import Checked
from crew.assembly.recipe import Recipe
from crew.config.files.changes import Change
from crew.config.files.document import YamlPath
from crew.config.files.environment import SECRET_NAME
from crew.config.files.sources import Sources, read_sources
from tools.definition import Tool


@dataclass(frozen=True, slots=True)
class LoadedCrew:
    """Files that were checked."""

    recipe: Recipe
    sources: Sources
    checked: Checked


@dataclass(frozen=True, slots=True)
class RealModels:
    """The models themselves answer."""

    # for all agents: one of `models`, or PROVIDER/MODEL; None: each has its own
    name: str | None = None


@dataclass(frozen=True, slots=True)
class _NoDoubles:
    """Of a crew that is only checked: nothing is replaced."""

    # the keys of models are needed
    calls_models: bool

    def model(
        self, config: ModelConfig, script: Model | None, itself: Callable[[], Model]
    ) -> Model:
        """See Doubles."""
        return OfflineModel(config.provider, config.model)

    def helps(self, helper: str) -> bool:
        """See Doubles."""
        return False

    def tool(self, tool: Tool, result: str | None) -> Tool:
        """See Doubles."""
        return tool


@dataclass(slots=True)
class CrewLoader:
    """Loads the crew of a folder as rehearsals want it."""

    sources: Sources
    tools: tuple[Tool, ...] = ()
    # variables that are not given are those of the process: of replays
    uses_environment: bool = False
    # None: something stands in for models
    real: RealModels | None = None
    _loaded: dict[str, LoadedCrew] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, real: RealModels | None = None) -> "CrewLoader":
        """Return the loader of a folder."""
        return cls(read_sources(folder), real=real)

    def load(self, env: Mapping[str, str], values: Mapping[str, Any]) -> LoadedCrew:
        """Return the checked files, with an environment and values in place of theirs.

        Raises:
            ProviderError: there is no model of the name that all agents are to have.
        """
        key = json.dumps([env, values], sort_keys=True, default=str)
        if key not in self._loaded:
            changes = tuple(Change(dotted_path(dotted), value) for dotted, value in values.items())
            recipe = Recipe(
                self.tools,
                environment=self._environment(env),
                doubles=_NoDoubles(self.real is not None),
                model=self.real.name if self.real is not None else None,
            )
            sources = replace(self.sources, changes=(*self.sources.changes, *changes))
            self._loaded[key] = LoadedCrew(recipe, sources, recipe.check(sources))
        return self._loaded[key]

    def _environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a rehearsal, and what it needs of the process."""
        if self.real is None:
            return {**(os.environ if self.uses_environment else {}), **given}
        # a rehearsal has words in place of keys
        keys = {name: one for name, one in os.environ.items() if SECRET_NAME.search(name)}
        return {**os.environ, **given, **keys}


def dotted_path(dotted: str) -> YamlPath:
    """Return the path that is written with dots; parts that are numbers are places of lists."""
    return tuple(int(part) if part.isdecimal() else part for part in dotted.split("."))
