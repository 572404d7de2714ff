"""The table of doors, and those that a server opens."""

import importlib
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
}
# unless CREW_DOORS says it
DEFAULT = ("agui", "openai", "ai", "a2a")


def open_doors(settings: ServerSettings) -> Sequence[Door]:
    """Open the doors that the environment names; raises SettingsError for an unknown one."""
    names = DEFAULT if settings.doors is None else settings.doors
    for name in names:
        if name not in DOORS:
            raise SettingsError(f"CREW_DOORS: {near_or_all(name, DOORS)}")
    opened = []
    for name in dict.fromkeys(names):
        module, function = DOORS[name]
        found = importlib.import_module(f"server.protocols.{module}")
        opened.append(getattr(found, function)())
    return opened
