"""The tokenizers of the crew's models, where `models` gives them one."""

from collections.abc import Mapping

from agents.errors import TokenizerError
from agents.tokenizers import tiktoken_tokenizer
from agents.tokens import ESTIMATE, Tokenizer
from crew.config.loader import CrewFiles
from crew.config.models import ChosenModel
from crew.config.problems import Problem


def make_tokenizers(files: CrewFiles) -> tuple[dict[str, Tokenizer], list[Problem]]:
    """The tokenizers by the names in `models`, and what is wrong with any."""
    tokenizers: dict[str, Tokenizer] = {}
    problems: list[Problem] = []
    for name, model in (files.crew.models if files.crew is not None else {}).items():
        if model.encoding is None:
            continue
        try:
            tokenizers[name] = tiktoken_tokenizer(model.encoding)
        except TokenizerError as error:
            place, text = ("models", name, "tokenizer"), f"tokenizer of {name}: {error}"
            problems.append(files.crew_document.problem(place, "tokenizer", text))
    return tokenizers, problems


def tokenizer_of(model: ChosenModel, tokenizers: Mapping[str, Tokenizer]) -> Tokenizer:
    """Of a model: its own, or the estimate."""
    return tokenizers.get(model.name, ESTIMATE)
