"""The files of a crew, checked."""

from collections.abc import Mapping
from dataclasses import dataclass

from agents.tokenizing.tokens import Tokenizer
from crew.config.crew_files import CrewFiles
from crew.config.problems import Problem
from tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Checked:
    """What was read of a crew's files, its tools, and all problems, ordered by place."""

    files: CrewFiles
    tools: Toolbox
    # of the models that have one, by their names
    tokenizers: Mapping[str, Tokenizer]
    problems: tuple[Problem, ...]
