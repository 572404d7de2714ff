"""Pins of what models are sent: written, and compared."""

from pathlib import Path

from crew.config.crew_files import CrewFiles
from crew.rehearsal.pins import LOCK, changed_pins, pins_of, read_pins, write_pins
from crew.rehearsal.playing.loaded import LoadedCrew
from server.cli.exits import fail

# the key of an agent's file that a part comes from
KEYS = {"prompt": "system_prompt", "tools": "tools", "sampling": "temperature"}


def pin(folder: Path, loaded: LoadedCrew) -> None:
    """Write the pins of a crew."""
    try:
        write_pins(folder, pins_of(loaded))
    except OSError as error:
        fail(f"{folder / LOCK}: {error.strerror}")


def changes_since_pinned(folder: Path, loaded: LoadedCrew) -> list[str]:
    """Return what differs from the pins of a folder, in words; nothing where it has none."""
    try:
        pins = read_pins(folder)
    except ValueError as error:
        fail(str(error))
    if pins is None:
        return []
    files, found = loaded.checked.files, []
    for agent_id, part in changed_pins(pins, pins_of(loaded)):
        if not part:
            how = "is new" if agent_id in files.agents else "is gone"
            found.append(f"agent {agent_id} {how}")
        else:
            found.append(f"{part} of {agent_id} changed, {_place(files, agent_id, part)}")
    return found


def _place(files: CrewFiles, agent_id: str, part: str) -> str:
    document = files.agent_files[agent_id]
    return f"{document.file}:{document.key_at((KEYS[part],))[0]}"
