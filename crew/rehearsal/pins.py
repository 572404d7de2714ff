"""What each agent's model is sent, as digests that are kept beside the rehearsals."""

import json
import random
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from crew.crew import Crew, make_crew
from crew.rehearsal.files.find import FOLDER
from crew.rehearsal.playing.loaded import LoadedCrew
from tools.virtual_clock import VirtualClock

LOCK = Path(FOLDER) / "asked.lock"
DIGEST_BYTES = 8
# by agent, by part: prompt, tools, sampling
Pins = Mapping[str, Mapping[str, str]]


def pins_of(loaded: LoadedCrew) -> Pins:
    """Return the pins of a crew without errors, on the day at which rehearsals begin."""
    clock = VirtualClock()
    doubles = loaded.recipe.doubles
    assert doubles is not None, "loaded for rehearsals"
    recipe = loaded.recipe.afresh(clock, random.random, doubles)
    return crew_pins(make_crew(recipe, loaded.sources, loaded.checked))


def crew_pins(crew: Crew) -> Pins:
    """Return the pins of a live crew."""
    found: dict[str, dict[str, str]] = {}
    for agent_id, agent in crew.agents.items():
        definitions = agent.tool_definitions.values()
        tools = [[one.name, one.description, one.parameters] for one in definitions]
        output = agent.output.format.words if agent.output is not None else None
        sampling = (agent.temperature, agent.top_p, agent.max_tokens, agent.model.endpoints)
        found[agent_id] = {
            "prompt": _digest(agent.prompt.text() + agent.text_call_hint),
            "tools": _digest(tools),
            "sampling": _digest([*sampling, output]),
        }
    return found


def _digest(value: Any) -> str:
    return blake2b(to_json(value, fallback=str), digest_size=DIGEST_BYTES).hexdigest()


def read_pins(folder: Path) -> Pins | None:
    """Read the pins of a folder; None: there are none.

    Raises:
        ValueError: the file holds something else.
    """
    try:
        text = (folder / LOCK).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise ValueError(f"{LOCK} is no file of pins; crew test --pin writes it")
    return found


def write_pins(folder: Path, pins: Pins) -> None:
    """Write the pins of a folder; raises OSError."""
    path = folder / LOCK
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def changed_pins(then: Pins, now: Pins) -> Iterator[tuple[str, str]]:
    """Yield what differs: the agent, and the part; "" for an agent that is new or gone."""
    for agent_id in sorted({*then, *now}):
        before, after = then.get(agent_id), now.get(agent_id)
        if before is None or after is None:
            yield agent_id, ""
            continue
        for part in after:
            if before.get(part) != after[part]:
                yield agent_id, part
