"""The signals of each agent, compared with each other, and the members of each group."""

import re
import unicodedata
from collections.abc import Iterator

from crew.config.checks.agents import repeated
from crew.config.crew_files import CrewFiles
from crew.config.files.document import YamlPath
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem
from crew.routing.rules import MAX_COMPARED
from crew.routing.signals import Signal

# without a width, as they come with a copied word; others are letters of some languages, or marks
UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")


def check_signals(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield signals of one agent that are the same, or contain each other."""
    document = files.crew_document
    for agent, routes in crew.routing.signals.items():
        signals = [Signal.of(route.signal) for route in routes]
        first: dict[str, tuple[int, Signal]] = {}
        for place, signal in enumerate(signals):
            path = ("routing", "signals", agent, place, "signal")
            if not signal.normal:
                yield document.problem(path, "empty-signal", "a signal needs a text")
                continue
            if not any(unicodedata.category(one)[0] in "LNS" for one in signal.normal):
                text = f"{signal.text!r} needs a letter or a digit, or any text may have it"
                yield document.problem(path, "empty-signal", text)
                continue
            if (unseen := UNSEEN.search(signal.text)) is not None:
                name = unicodedata.name(unseen[0], "").lower()
                text = f"the signal has U+{ord(unseen[0]):04X} ({name}) in it, which is not seen"
                yield document.problem(path, "bad-value", f"{text}; remove it")
                continue
            known, same = first.setdefault(signal.normal, (place, signal))
            if known != place:
                text = f"{agent} has the signal {same.text!r} already; case and spaces do not count"
                related = [document.related((*path[:3], known, "signal"), same.text)]
                yield document.problem(path, "signal-twice", text, related=related)
                continue
            if len(signals) > MAX_COMPARED:
                continue
            for earlier, other in enumerate(signals[:place]):
                if other.occurs(signal.normal) or signal.occurs(other.normal):
                    text = f"where one of {other.text!r} and {signal.text!r} is written"
                    text = f"{text}, both are found; the first in this list wins"
                    related = [document.related((*path[:3], earlier, "signal"), other.text)]
                    yield document.problem(path, "signal-in-signal", text, related=related)


def check_groups(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield groups with wrong members or a wrong name."""
    document = files.crew_document
    for name, group in crew.routing.parallel_groups.items():
        path: YamlPath = ("routing", "parallel_groups", name)
        if name in crew.agents:
            text = f"{name} is an agent's name too"
            related = [document.related(("agents", crew.agents.index(name)), f"agent {name}")]
            yield document.problem(path, "group-name", text, key=True, related=related)
        if not group.agents:
            text = f"group {name} has no agents"
            yield document.problem((*path, "agents"), "empty-group", text)
        for place, first_place in repeated(group.agents):
            text = f"{group.agents[place]} is in group {name} twice"
            related = [document.related((*path, "agents", first_place), group.agents[place])]
            yield document.problem((*path, "agents", place), "member-twice", text, related=related)
