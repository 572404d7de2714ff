"""The shape of `replay`: what is kept of runs, to play them again."""

from tools.schemas.patterns import Pattern
from tools.schemas.yaml_shape import Shape


class ReplayConfig(Shape):
    """How runs are kept as cassettes and rehearsals."""

    redact: list[Pattern] = []
    """Regular expressions: what fits is left out of them, beside secrets, e-mail addresses and
    telephone numbers."""
