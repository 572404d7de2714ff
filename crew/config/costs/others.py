"""The models of helpers, and those that budgets give, beside the ones of agents; pure."""

from collections.abc import Iterator

from crew.config.crew_files import CrewFiles
from crew.config.keys.budgets import OtherModel
from crew.config.keys.conversations import HELPERS
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.models import ChosenModel, choose, models_of_helper
from crew.config.routing_plan import entry_point


def models_of_helpers(files: CrewFiles, crew: CrewConfig) -> list[ChosenModel]:
    """Return the first model of each helper that says something of its own."""
    return [model for _, model in named_models_of_helpers(files, crew)]


def named_models_of_helpers(
    files: CrewFiles, crew: CrewConfig
) -> Iterator[tuple[str, ChosenModel]]:
    """Yield the name of each such helper, and its first model."""
    entry = files.agents.get(entry_point(files))
    if (crew.conversations is None and not crew.documents) or entry is None:
        return
    for name in HELPERS:
        model = models_of_helper(crew.helpers, name, entry, crew.models)[0]
        if model.path[:1] == ("helpers",):
            yield name, model


def models_beside(files: CrewFiles) -> Iterator[tuple[str, ChosenModel]]:
    """Yield the models that no agent names, and who has each, as lists of costs say it."""
    crew = files.crew
    if crew is None or entry_point(files) not in files.agents:
        return
    for name, model in named_models_of_helpers(files, crew):
        yield f"helper-{name}", model
    for name, budget in crew.budgets.items():
        if isinstance(budget.then, OtherModel) and budget.then.model in crew.models:
            yield f"budget {name}", choose(crew.models, budget.then.model, None, None)
