"""What a crew remembers, as the configuration says; live."""

from crew.config.crew_files import CrewFiles
from crew.config.memory import core_rule, recall_rule
from crew.memory.rules import MemoryRules


def memory_rules(files: CrewFiles) -> MemoryRules:
    """Return what a crew without errors remembers."""
    crew = files.crew
    assert crew is not None, "only of a crew that can be read"
    blocks = crew.memory.core.items()
    core = {name: core_rule(name, config, files.core.get(name)) for name, config in blocks}
    recall = crew.memory.recall
    if recall is None:
        return MemoryRules(core)
    return MemoryRules(core, recall_rule(recall, crew.settings.language))
