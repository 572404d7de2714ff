"""Mappings -> rehearsals, each with the places of what it says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crew.config.binding import BoundDocument, bind
from crew.config.files.document import Document, YamlPath
from crew.config.problems import Problem, has_failed, in_order
from crew.rehearsal.files.cases import RawCase, RawFiles, read_cases
from crew.rehearsal.files.nodes import Node, NodeDocument, Place
from crew.rehearsal.keys.case import Rehearsal
from crew.rehearsal.keys.file import Invariant


@dataclass(frozen=True, slots=True)
class Case:
    """A rehearsal that can be played."""

    id: str
    file: str
    keys: Rehearsal
    node: Node

    def source(self, *path: str | int) -> str:
        """Return where something of it is written, as `file:line`."""
        return str(self.place(path))

    def place(self, path: YamlPath) -> Place:
        """Return where something of it is written, or the nearest above it that is there."""
        return self.node.nearest(path).key_place

    def must_be_used(self, *path: str | int) -> bool:
        """Return whether what it gives must be used: not what comes from defaults."""
        return not self.node.nearest(path).is_default


@dataclass(frozen=True, slots=True)
class PlacedInvariant:
    """An invariant, and where it is written."""

    keys: Invariant
    node: Node

    def place(self, path: YamlPath = ()) -> Place:
        """Return where it is written, or something of it."""
        return self.node.nearest(path).key_place if path else self.node.place


@dataclass(slots=True)
class Rehearsals:
    """All rehearsals of a crew."""

    cases: list[Case] = field(default_factory=list)
    invariants: list[PlacedInvariant] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    # by the names of the files
    documents: dict[str, Document] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """The text of each file, by its name."""
        return {name: one.text for name, one in self.documents.items()}


def read_rehearsals(folder: Path, unsaved: Mapping[str, str] | None = None) -> Rehearsals:
    """Read the rehearsals of a crew's folder; those with mistakes are left out.

    Args:
        folder: the crew's.
        unsaved: texts that replace the files' own, by their names; also of new files.
    """
    raw = read_cases(folder, unsaved or {})
    found = Rehearsals(documents=raw.documents)
    problems = list(raw.problems)
    for one in raw.cases:
        made, wrong = bind_case(one)
        problems += wrong
        if made is not None:
            found.cases.append(made)
    found.invariants = list(_invariants(raw, problems))
    # what several cases have from one place is wrong once
    found.problems = in_order(list(dict.fromkeys(problems)))
    return found


def bind_case(raw: RawCase) -> tuple[Case | None, Sequence[Problem]]:
    """Return a rehearsal that can be played, unless it has mistakes, and these."""
    document = NodeDocument.of(raw.node)
    bound: BoundDocument[Rehearsal] = bind(document, Rehearsal, {})
    problems = list(bound.problems)
    if bound.value is None or has_failed(problems):
        return None, problems
    case = Case(raw.id, raw.file, bound.value, raw.node)
    turns = bound.value.turns
    if bound.value.expect.is_empty and all(one.expect.is_empty for one in turns):
        text = "it expects nothing, so it cannot fail; add expect with path, end, answer or calls"
        problems.append(document.problem(("expect",), "no-expectation", text, key=True))
        return None, problems
    return case, problems


def _invariants(raw: RawFiles, problems: list[Problem]) -> Sequence[PlacedInvariant]:
    found = []
    for node in raw.invariants:
        document = NodeDocument.of(node)
        if document.data is None:
            text = "an invariant is a mapping with name, and never or always"
            problems.append(document.problem((), "not-a-case", text))
            continue
        bound: BoundDocument[Invariant] = bind(document, Invariant, {})
        problems += bound.problems
        if bound.value is None or has_failed(bound.problems):
            continue
        if bound.value.never is None and bound.value.always is None:
            text = "it says nothing; add never or always"
            problems.append(document.problem((), "no-expectation", text))
        else:
            found.append(PlacedInvariant(bound.value, node))
    return found
