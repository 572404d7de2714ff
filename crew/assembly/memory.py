"""What a crew remembers, as the configuration says; live."""

from crew.config.loader import CrewFiles
from crew.config.memory import core_rule
from crew.memory.core import CoreRule


def core_rules(files: CrewFiles) -> dict[str, CoreRule]:
    """Return the blocks of a crew without errors, by their names."""
    assert files.crew is not None, "only of a crew that can be read"
    blocks = files.crew.memory.core.items()
    return {name: core_rule(name, config, files.core.get(name)) for name, config in blocks}
