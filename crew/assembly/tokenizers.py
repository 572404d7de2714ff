"""The tokenizers of the crew's models, where `models` gives them one."""

from collections.abc import Mapping

from agents.errors import TokenizerError
from agents.tokenizing.tokenizers import tiktoken_tokenizer
from agents.tokenizing.tokens import ESTIMATE, Tokenizer
from crew.config.costs.others import models_of_helpers
from crew.config.crew_files import CrewFiles
from crew.config.keys.models import ChosenModel, client_models_of, primary_of
from crew.config.problems import Problem


def make_tokenizers(files: CrewFiles) -> tuple[dict[str, Tokenizer], list[Problem]]:
    """Make the tokenizers that `models` names, by model, and find what is wrong with any."""
    tokenizers: dict[str, Tokenizer] = {}
    problems: list[Problem] = []
    if (crew := files.crew) is None:
        return tokenizers, problems
    agents, clients = files.agents.values(), crew.settings.client_models
    firsts = [primary_of(agent, crew.models) for agent in agents]
    firsts += [one for agent in agents for one in client_models_of(agent, crew.models, clients)]
    counted = {one.name for one in (*firsts, *models_of_helpers(files, crew))}
    for name, model in crew.models.items():
        if model.encoding is None or name not in counted:
            continue
        try:
            tokenizers[name] = tiktoken_tokenizer(model.encoding)
        except TokenizerError as error:
            place, text = ("models", name, "tokenizer"), f"tokenizer of {name}: {error}"
            problems.append(files.crew_document.problem(place, "tokenizer", text))
    return tokenizers, problems


def tokenizer_of(model: ChosenModel, tokenizers: Mapping[str, Tokenizer]) -> Tokenizer:
    """Return the tokenizer of a model: its own, or the estimate."""
    return tokenizers.get(model.name, ESTIMATE)
