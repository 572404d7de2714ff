"""The files of a crew, checked once for each environment and each set of other values."""

import json
import os
from collections.abc import Mapping
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
from crew.config.files.sources import Sources, read_sources
from tools.definition import Tool


@dataclass(frozen=True, slots=True)
class LoadedCrew:
    """Files that were checked."""

    recipe: Recipe
    sources: Sources
    checked: Checked


class _NoDoubles:
    """Of a crew that is only checked: no key is needed, and nothing is replaced."""

    def model(self, config: ModelConfig, script: Model | None) -> Model:
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
    _loaded: dict[str, LoadedCrew] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "CrewLoader":
        """Return the loader of a folder."""
        return cls(read_sources(folder))

    def load(self, env: Mapping[str, str], values: Mapping[str, Any]) -> LoadedCrew:
        """Return the checked files, with an environment and values in place of theirs."""
        key = json.dumps([env, values], sort_keys=True, default=str)
        if key not in self._loaded:
            changes = tuple(Change(dotted_path(dotted), value) for dotted, value in values.items())
            environment = {**(os.environ if self.uses_environment else {}), **env}
            recipe = Recipe(self.tools, environment=environment, doubles=_NoDoubles())
            sources = replace(self.sources, changes=(*self.sources.changes, *changes))
            self._loaded[key] = LoadedCrew(recipe, sources, recipe.check(sources))
        return self._loaded[key]


def dotted_path(dotted: str) -> YamlPath:
    """Return the path that is written with dots; parts that are numbers are places of lists."""
    return tuple(int(part) if part.isdecimal() else part for part in dotted.split("."))
