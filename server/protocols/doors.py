"""The table of doors, and those that a server opens."""

import importlib
import importlib.util
from collections.abc import Sequence

from server.errors import SettingsError
from server.http.door import Door
from server.settings import ServerSettings
from tools.text.suggest import near_or_all

# by name, what opens it; no module is imported while its door is closed
DOORS = {
    "agui": ("agui.door", "open_agui"),
    "openai": ("openai.door", "open_openai"),
    "ai": ("ai.door", "open_ai"),
    "a2a": ("a2a.door", "open_a2a"),
    "mcp": ("mcp.door", "open_mcp"),
}
# unless CREW_DOORS says it
DEFAULT = ("agui", "openai", "ai", "a2a")


def open_doors(settings: ServerSettings) -> Sequence[Door]:
    """Open the doors that the environment names; raises SettingsError for an unknown one."""
    names = settings.doors
    if names is None:
        # that needs an extra
        has_mcp = importlib.util.find_spec("mcp") is not None
        names = (*DEFAULT, "mcp") if has_mcp else DEFAULT
    for name in names:
        if name not in DOORS:
            wrong = near_or_all(name, DOORS, "protocol")
            raise SettingsError(f"CREW_DOORS: {wrong}")
    opened = []
    for name in dict.fromkeys(names):
        module, function = DOORS[name]
        if name == "mcp" and importlib.util.find_spec("mcp") is None:
            raise SettingsError("CREW_DOORS: mcp needs its package: pip install 'crewline[mcp]'")
        found = importlib.import_module(f"server.protocols.{module}")
        opened.append(getattr(found, function)())
    return opened
