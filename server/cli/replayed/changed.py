"""A crew's files with other values, as `--set PATH=VALUE` gives them."""

from collections.abc import Sequence

import yaml

from crew.config.files.changes import Change
from crew.config.files.rewriting import NoSuchPlace, rewritten
from crew.config.files.sources import Sources
from crew.rehearsal.playing.loaded import dotted_path


class WrongChange(ValueError):
    """A value cannot be put there."""


def changed_sources(sources: Sources, values: Sequence[str]) -> Sources:
    """Write values into the files; raises WrongChange.

    Args:
        sources: a crew's files.
        values: each as `PATH=VALUE`, such as `settings.max_rounds=3`; VALUE is YAML.
    """
    try:
        return rewritten(sources, [_change_of(one) for one in values])
    except NoSuchPlace as error:
        raise WrongChange(str(error)) from None


def _change_of(text: str) -> Change:
    path, equals, value = text.partition("=")
    if not (path and equals):
        raise WrongChange(f"{text!r} is no PATH=VALUE, such as settings.max_rounds=3")
    try:
        return Change(dotted_path(path), yaml.safe_load(value))
    except yaml.YAMLError:
        raise WrongChange(f"{value!r} is no YAML") from None
