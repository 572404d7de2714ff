"""What can go wrong with a crew's files.

CrewError
└── ConfigurationError      the files have errors; `problems` has each with its place
    └── LostConfiguration   those that a run was started with make no crew here any more
"""

from collections.abc import Mapping, Sequence

from crew.config.problems import Problem
from crew.config.report import render_problem
from crew.errors import CrewError


class ConfigurationError(CrewError):
    """The crew's files have errors."""

    def __init__(self, problems: Sequence[Problem], texts: Mapping[str, str]) -> None:
        """`texts`: the files' texts by their names, to show the lines."""
        super().__init__("\n".join(render_problem(problem, texts) for problem in problems))
        self.problems, self.texts = tuple(problems), texts


class LostConfiguration(ConfigurationError):
    """What a run was started with makes no crew here: a Python tool is missing, say."""
