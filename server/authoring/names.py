"""Agents, groups, signals, tools, providers, models: where each is made, and where it is used."""

import contextlib
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import yaml

from agents.prompt import VARIABLE, parse_output_name
from crew.config.files.document import Document, YamlPath
from crew.config.files.yaml_reader import Loader
from crew.routing.signals import Signal
from server.authoring.folders import CrewView
from server.authoring.places import token_of
from server.authoring.shapes import file_kind
from tools.text.folding import fold

NameKind = Literal["agent", "group", "signal", "tool", "provider", "model"]
# stands for what a case gives
CASE_VARIABLE = re.compile(r"<<\s*(\w+)\s*>>")
ANY = "*"
ITEM = 0
# of each kind of file: a path with `*` for any key and 0 for any place, whether the key is meant,
# what it names, and whether it is made there
Pattern = tuple[tuple[str | int, ...], bool, NameKind, bool]
# of routing, by agent
BY_AGENT = ("signals", "outputs", "defaults", "agent_behaviors")
# what a rehearsal, a case of it, and the defaults of a file may name
_CASES: tuple[tuple[str | int, ...], ...] = (
    ("rehearsals", ITEM),
    ("rehearsals", ITEM, "cases", ITEM),
    ("defaults",),
)
_OF_CASE: tuple[Pattern, ...] = (
    (("query", "agent"), False, "agent", False),
    (("says", ANY), True, "agent", False),
    (("says", ANY, ITEM, "calls", ITEM), False, "tool", False),
    (("says", ANY, ITEM, "calls", ITEM, "tool"), False, "tool", False),
    (("returns", ANY), True, "tool", False),
    (("faults", ITEM, "tool"), False, "tool", False),
    (("faults", ITEM, "changes"), False, "tool", False),
    (("faults", ITEM, "model"), False, "agent", False),
)
_EXPECTED: tuple[tuple[str | int, ...], ...] = (
    *((*case, "expect") for case in _CASES),
    *((*case, "turns", ITEM, "expect") for case in _CASES),
    ("invariants", ITEM, "always"),
)
_OF_EXPECTED: tuple[Pattern, ...] = (
    (("path", ITEM), False, "agent", False),
    (("path", ITEM, ANY), True, "agent", False),
    (("calls", ITEM), False, "tool", False),
    (("calls", ITEM, "tool"), False, "tool", False),
    (("calls", ITEM, "after"), False, "tool", False),
    (("calls", ITEM, "only", ITEM), False, "tool", False),
    (("calls", ITEM, "agent"), False, "agent", False),
    (("pauses", ITEM, "agent"), False, "agent", False),
    (("pauses", ITEM, "calls", ITEM), False, "tool", False),
    (("asked", ANY), True, "agent", False),
    (("asked", ANY, "tools", ITEM), False, "tool", False),
    (("output", ANY), True, "agent", False),
)
_OCCURRENCES: tuple[tuple[str | int, ...], ...] = (
    *((*expected, "never", ITEM) for expected in _EXPECTED),
    ("invariants", ITEM, "never"),
    ("invariants", ITEM, "when"),
)
_OF_OCCURRENCE: tuple[Pattern, ...] = (
    (("call",), False, "tool", False),
    (("agent",), False, "agent", False),
)


def _below(
    places: tuple[tuple[str | int, ...], ...], patterns: tuple[Pattern, ...]
) -> Iterator[Pattern]:
    for place in places:
        for path, is_key, kind, is_made in patterns:
            yield (*place, *path), is_key, kind, is_made


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "rehearsal": (
        *_below(_CASES, _OF_CASE),
        *_below(_EXPECTED, _OF_EXPECTED),
        *_below(_OCCURRENCES, _OF_OCCURRENCE),
    ),
    "crew": (
        (("entry_point",), False, "agent", False),
        (("agents", ITEM), False, "agent", False),
        *((("routing", part, ANY), True, "agent", False) for part in BY_AGENT),
        (("routing", "signals", ANY, ITEM, "target"), False, "agent", False),
        (("routing", "outputs", ANY, ITEM, "target"), False, "agent", False),
        (("routing", "defaults", ANY), False, "agent", False),
        (("routing", "parallel_groups", ANY, "next_agent"), False, "agent", False),
        (("routing", "agent_behaviors", ANY, "on_wait_timeout"), False, "agent", False),
        (("budgets", ANY, "agents", ITEM), False, "agent", False),
        (("budgets", ANY, "models", ITEM), False, "model", False),
        (("budgets", ANY, "then", "model"), False, "model", False),
        (("context", "blocks", ITEM, "of", ITEM), False, "agent", False),
        (("memory", "core", ANY, "from", "agent"), False, "agent", False),
        (("hooks", ANY, "agent"), False, "agent", False),
        (("schedules", ANY, "agent"), False, "agent", False),
        (("helpers", ANY, "model"), False, "model", False),
        (("helpers", ANY, "provider"), False, "provider", False),
        (("routing", "parallel_groups", ANY), True, "group", True),
        (("routing", "parallel_groups", ANY, "agents", ITEM), False, "agent", False),
        (("routing", "signals", ANY, ITEM, "signal"), False, "signal", True),
        (("settings", "client_start_agents", ITEM), False, "agent", False),
        (("settings", "client_models", ITEM), False, "model", False),
        (("providers", ANY), True, "provider", True),
        (("models", ANY), True, "model", True),
        (("models", ANY, "provider"), False, "provider", False),
        (("tools", ANY), True, "tool", True),
        (("tools", ANY, "agent"), False, "agent", False),
    ),
    "tools": (
        (("tools", ANY), True, "tool", True),
        (("tools", ANY, "agent"), False, "agent", False),
    ),
    "agent": (
        (("id",), False, "agent", True),
        (("handoff_targets", ITEM), False, "agent", False),
        (("on_invalid",), False, "agent", False),
        (("plan", "workers", ITEM), False, "agent", False),
        (("plan", "then"), False, "agent", False),
        (("context", "blocks", ITEM, "of", ITEM), False, "agent", False),
        (("primary", "provider"), False, "provider", False),
        (("primary", "model"), False, "model", False),
        (("tools", ITEM), False, "tool", False),
        (("provider",), False, "provider", False),
        (("model",), False, "model", False),
        (("backup", "provider"), False, "provider", False),
        (("backup", "model"), False, "model", False),
    ),
    "script": (
        (("rules", ITEM, "agent"), False, "agent", False),
        (("rules", ITEM, "agent", ITEM), False, "agent", False),
        (("rules", ITEM, "after"), False, "tool", False),
        (("rules", ITEM, "calls", ITEM), False, "tool", False),
        (("rules", ITEM, "calls", ITEM, "tool"), False, "tool", False),
    ),
}


@dataclass(frozen=True, slots=True)
class Named:
    """A name where it stands: line and column count from 1, in code points."""

    kind: NameKind
    name: str
    file: str
    line: int
    column: int
    is_made: bool = False
    # as it stands there, where that is not its name
    written: str = ""

    @property
    def end(self) -> int:
        """The column behind it."""
        return self.column + len(self.written or self.name)


def role_of(kind: str, path: YamlPath, *, is_key: bool) -> NameKind | None:
    """Return what a key or a value at a path names; None: nothing."""
    for pattern, of_key, named, _ in PATTERNS.get(kind, ()):
        if of_key == is_key and _fits(pattern, path):
            return named
    return None


def names_of(view: CrewView, documents: Mapping[str, Document] | None = None) -> Iterator[Named]:
    """Yield the names of a crew, where they stand; `documents`: in these alone."""
    documents = view.documents if documents is None else documents
    groups = set(view.checked.files.crew.routing.parallel_groups) if view.checked.files.crew else ()
    agents = view.checked.files.agent_files
    for file, document in documents.items():
        if (kind := file_kind(file)) is None:
            continue
        lines = document.text.splitlines()
        for is_key, places in ((True, document.keys), (False, document.values)):
            for path in places:
                for pattern, of_key, named, is_made in PATTERNS.get(kind, ()):
                    if of_key != is_key or not _fits(pattern, path):
                        continue
                    token = token_of(document, path, lines, is_key=is_key)
                    if token is None:
                        continue
                    # in rehearsals one of its tasks may stand behind an agent
                    name = token.text.partition("/")[0] if kind == "rehearsal" else token.text
                    is_group = named == "agent" and name in groups
                    is_agent = named == "agent" and not is_group
                    if kind == "rehearsal" and is_agent and name not in agents:
                        # a step such as `end`, a helper, a provider
                        continue
                    role: NameKind = "group" if is_group else named
                    yield Named(role, name, file, token.line, token.column, is_made)
    yield from _signals_in_texts(view, documents)
    for file, document in documents.items():
        if file_kind(file) == "agent":
            yield from _agents_in_prompt(document, file, agents)
        elif file_kind(file) == "rehearsal":
            yield from _agents_in_cases(document, file, agents)


def _agents_in_prompt(document: Document, file: str, agents: Container[str]) -> Iterator[Named]:
    """Yield agents that variables name, such as `{{output.desk.topic}}`."""
    for number, line in enumerate(document.text.splitlines(), 1):
        for found in VARIABLE.finditer(line):
            output = parse_output_name(found[1])
            if output is not None and output[0] in agents:
                column = found.start(1) + found[1].index(output[0]) + 1
                yield Named("agent", output[0], file, number, column)


def _agents_in_cases(document: Document, file: str, agents: Container[str]) -> Iterator[Named]:
    """Yield agents that cases give a variable which stands where an agent is named."""
    lines = document.text.splitlines()
    places = [(path, True) for path in document.keys] + [(path, False) for path in document.values]
    given: set[tuple[str | int, str]] = set()
    for path, is_key in places:
        if len(path) > 1 and role_of("rehearsal", path, is_key=is_key) == "agent":
            token = token_of(document, path, lines, is_key=is_key)
            if token is not None and (found := CASE_VARIABLE.fullmatch(token.text)) is not None:
                given.add((path[1], found[1]))
    for path in document.values:
        name = _given_by_case(path)
        token = token_of(document, path, lines, is_key=False) if name is not None else None
        if token is not None and (path[1], name) in given and token.text in agents:
            yield Named("agent", token.text, file, token.line, token.column)


def _given_by_case(path: YamlPath) -> str | None:
    """Return the variable that a value of a rehearsal's cases is given to; None: it is another."""
    match path:
        case ("rehearsals", _, "cases", int(), str(name)):
            return name
        case ("rehearsals", _, "cases", "each", str(name), int()):
            return name
    return None


def _signals_in_texts(view: CrewView, documents: Mapping[str, Document]) -> Iterator[Named]:
    """Yield signals where prompts, scripts and rehearsals say them."""
    crew = view.checked.files.crew
    rules = crew.routing.signals.values() if crew is not None else ()
    # most texts have few of the signals: whether one may be there is known soon
    signals = {one.signal: _bare(one.signal) for found in rules for one in found}
    for file, document in documents.items():
        if file_kind(file) in ("agent", "script", "rehearsal"):
            text = _bare(document.text)
            for signal, bare in signals.items():
                if bare in text:
                    yield from signal_places(document, file, signal)


def _bare(text: str) -> str:
    """Return a text without case and white space, of which signals may have more or less."""
    return "".join(fold(text).split())


def signal_places(document: Document, file: str, signal: str) -> Iterator[Named]:
    """Yield where a file says a signal, in whatever case, as a word of its own."""
    edge = r"(?<![\w]){}(?![\w])" if signal[:1].isalnum() else "{}"
    pattern = re.compile(edge.format(Signal.of(signal).pattern.pattern), re.IGNORECASE)
    lists: set[tuple[int, int]] | None = None
    for number, line in enumerate(document.text.splitlines(), 1):
        for found in pattern.finditer(line):
            # most files say none
            lists = _lists_in(document.text) if lists is None else lists
            if (number, found.start()) not in lists:
                yield Named("signal", signal, file, number, found.start() + 1, written=found[0])


def _lists_in(text: str) -> set[tuple[int, int]]:
    """Return where YAML's own lists begin, as `tools: [book]`: lines from 1, columns from 0."""
    found = set()
    # of a text with a mistake, those before it
    with contextlib.suppress(yaml.YAMLError):
        for token in yaml.scan(text, Loader=Loader):
            if isinstance(token, yaml.FlowSequenceStartToken):
                mark = token.start_mark
                found.add((mark.line + 1, mark.column))
    return found


def _fits(pattern: tuple[str | int, ...], path: YamlPath) -> bool:
    if len(pattern) != len(path):
        return False
    for one, part in zip(pattern, path, strict=True):
        if one == ANY:
            if not isinstance(part, str):
                return False
        elif isinstance(one, int):
            if not isinstance(part, int):
                return False
        elif one != part:
            return False
    return True
