"""Text of others that agents read, as the files say."""

from crew.config.crew_files import CrewFiles
from tools.config.common import CommonTool


def notes_untrusted(files: CrewFiles) -> bool:
    """Return whether runs note what they read: the files say so, or the crew remembers."""
    crew = files.crew
    if crew is None:
        return False
    if "after_untrusted" in crew.settings.model_fields_set or crew.memory.is_used or crew.documents:
        return True
    tools = (one for one in files.tools.values() if isinstance(one, CommonTool))
    return any(one.untrusted is not None for one in tools)
