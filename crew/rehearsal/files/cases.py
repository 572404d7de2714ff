"""Defaults, includes and cases -> one mapping for each rehearsal that is played."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import dirname, join, normpath

from crew.config.files.document import Document
from crew.config.files.yaml_reader import read
from crew.config.problems import Problem, ProblemCode, RelatedPlace
from crew.rehearsal.files.find import CREW_WIDE, read_rehearsal_file, rehearsal_files
from crew.rehearsal.files.nodes import Node, merged, node_of, substituted, variables_in
from crew.rehearsal.files.recorded import NoCassette, over_cassette
from crew.rehearsal.keys.case import Rehearsal
from crew.rehearsal.keys.file import RehearsalFile
from tools.schemas.yaml_shape import resolve
from tools.text.suggest import nearest

# of one file
MAX_CASES = 10_000
KEYS = frozenset(RehearsalFile.fields_by_key())
CASE_KEYS = frozenset(Rehearsal.fields_by_key())


@dataclass(frozen=True, slots=True)
class RawCase:
    """One rehearsal, as a mapping; and by which it is known."""

    file: str
    name: str
    # of a rehearsal with cases
    case: str
    node: Node

    @property
    def id(self) -> str:
        """`file::name[case]`."""
        return f"{self.file}::{self.name}" + (f"[{self.case}]" if self.case else "")


@dataclass(slots=True)
class RawFiles:
    """All that the files of rehearsals say, before it is bound."""

    cases: list[RawCase] = field(default_factory=list)
    invariants: list[Node] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    # by the names of the files
    documents: dict[str, Document] = field(default_factory=dict)

    def refuse(
        self,
        node: Node,
        code: ProblemCode,
        message: str,
        near: str | None = None,
        related: Sequence[RelatedPlace] = (),
    ) -> None:
        """Add a problem at the place of a value."""
        place = node.place.file, node.place.line, node.place.column
        self.problems.append(Problem(*place, code, message, near, tuple(related)))


def read_cases(folder: Path, unsaved: Mapping[str, str]) -> RawFiles:
    """Read the rehearsals of a crew's folder; `unsaved`: texts by their names."""
    names = {*rehearsal_files(folder), *unsaved}
    reader = _Reader(folder, RawFiles(), unsaved)
    shared = None
    for name in sorted(names, key=lambda one: (one not in CREW_WIDE, one)):
        document = reader.read(name)
        if document.data is None:
            continue
        defaults = reader.defaults(document, (name,))
        if name in CREW_WIDE:
            shared = defaults
            if "rehearsals" in document.data:
                text = "it has what all files share; put rehearsals into another file"
                reader.raw.refuse(node_of(document, ("rehearsals",)), "not-a-case", text)
        else:
            reader.add_cases(document, _over(shared, defaults))
        reader.add_invariants(document)
    return reader.raw


def _over(base: Node | None, over: Node | None) -> Node | None:
    if base is None or over is None:
        return over or base
    return merged(base, over)


@dataclass(slots=True)
class _Reader:
    """Reads files, each once."""

    folder: Path
    raw: RawFiles
    unsaved: Mapping[str, str]
    # of files that are included, often by many
    known_defaults: dict[str, Node | None] = field(default_factory=dict)

    def read(self, name: str) -> Document:
        """Return a file; adds what is wrong with its keys at the top."""
        documents = self.raw.documents
        if name not in documents:
            if name in self.unsaved:
                document = read(name, self.unsaved[name].encode(errors="surrogatepass"))
            else:
                document = read_rehearsal_file(self.folder, name)
            documents[name] = document
            self.raw.problems += document.problems
            for key in document.data or {}:
                if key not in KEYS and not key.startswith("x-"):
                    near = document.near(key, KEYS)
                    text = f"unknown key {key!r}"
                    if near is None:
                        text = f"{text}; known here: {', '.join(sorted(KEYS))}"
                    problem = document.problem(
                        (key,), "unknown-key", text, key=True, suggestion=near
                    )
                    self.raw.problems.append(problem)
        return documents[name]

    def defaults(self, document: Document, through: Sequence[str]) -> Node | None:
        """Return the defaults of a file, over those that it includes.

        Args:
            document: the file.
            through: by which files it is included, and it itself.
        """
        found: Node | None = None
        for node in self._items(document, "include"):
            given = node.value
            name = normpath(join(dirname(document.file), str(given)))
            if not isinstance(given, str) or name.startswith(("..", "/")):
                self.raw.refuse(node, "bad-value", "name a file of the crew's folder")
            elif name in through:
                way = " → ".join((*through, name))
                self.raw.refuse(node, "bad-value", f"the files include each other: {way}")
            elif not (self.folder / name).is_file():
                self.raw.refuse(node, "bad-value", f"there is no file {name}")
            elif (included := self.read(name)).data is not None:
                if name not in self.known_defaults:
                    self.known_defaults[name] = self.defaults(included, (*through, name))
                found = _over(found, self.known_defaults[name])
        given = (document.data or {}).get("defaults")
        if given is None:
            return found
        own = node_of(document, ("defaults",), is_default=True)
        if not isinstance(given, dict):
            self.raw.refuse(own, "wrong-type", "expected a mapping (`key: value` lines)")
            return found
        for key in ("name", "cases"):
            if key in given:
                self.raw.refuse(own.value[key], "unknown-key", f"defaults have no {key}")
        return _over(found, own)

    def _items(self, document: Document, key: str) -> list[Node]:
        if (document.data or {}).get(key) is None:
            return []
        node = node_of(document, (key,))
        if isinstance(node.value, list):
            return node.value
        self.raw.refuse(node, "wrong-type", "expected a list")
        return []

    def add_invariants(self, document: Document) -> None:
        """Add the invariants of a file."""
        self.raw.invariants += self._items(document, "invariants")

    def add_cases(self, document: Document, defaults: Node | None) -> None:
        """Add the rehearsals of a file."""
        known: dict[str, Node] = {}
        added = 0
        for node in self._items(document, "rehearsals"):
            if not isinstance(node.value, dict):
                text = "a rehearsal is a mapping with name, query and expect"
                self.raw.refuse(node, "not-a-case", text)
                continue
            for raw in self._cases(document.file, node, defaults):
                added += 1
                if (one := self._over_cassette(raw)) is None:
                    continue
                if added > MAX_CASES:
                    text = f"more than {MAX_CASES:,} rehearsals in one file are not played"
                    self.raw.refuse(node, "too-many-problems", text)
                    return
                if one.id in known:
                    first = known[one.id].place
                    text = f"there is a rehearsal {one.id} already, in line {first.line}"
                    related = RelatedPlace(first.file, first.line, first.column, one.id)
                    self.raw.refuse(one.node, "twice", text, related=[related])
                else:
                    known[one.id] = one.node
                    self.raw.cases.append(one)

    def _over_cassette(self, raw: RawCase) -> RawCase | None:
        try:
            return replace(raw, node=over_cassette(self.folder, raw.node))
        except NoCassette as error:
            self.raw.refuse(raw.node.value["cassette"], "bad-value", str(error))
            return None

    def _cases(self, file: str, node: Node, defaults: Node | None) -> Iterator[RawCase]:
        name, given = node.value.get("name"), node.value.get("cases")
        if name is None or not isinstance(name.value, str) or not name.value.strip():
            self.raw.refuse(node, "not-a-case", "a rehearsal needs a name")
            return
        own = {key: inner for key, inner in node.value.items() if key != "cases"}
        base = Node(own, node.place, node.key_place)
        whole = merged(defaults, base) if defaults is not None else base
        if given is None or given.value is None:
            yield self._case(file, str(name.value), "", whole, {})
        elif given.value == []:
            self.raw.refuse(given, "not-a-case", "there are no cases, so nothing would be played")
        elif isinstance(given.value, list):
            for number, one in enumerate(given.value, 1):
                yield from self._listed(file, str(name.value), number, whole, one)
        else:
            yield from self._combined(file, str(name.value), whole, given)

    def _listed(
        self, file: str, name: str, number: int, whole: Node, one: Node
    ) -> Iterator[RawCase]:
        if not isinstance(one.value, dict):
            self.raw.refuse(one, "not-a-case", "a case is a mapping")
            return
        keys = {key: inner for key, inner in one.value.items() if key in CASE_KEYS}
        values = {key: inner for key, inner in one.value.items() if key not in CASE_KEYS}
        label = keys.pop("name", None)
        label = None if label is None or label.value is None else label
        case = str(label.value) if label is not None else str(number)
        over = merged(whole, Node(keys, one.place, one.key_place))
        plain = {key: resolve(inner.plain()) for key, inner in values.items()}
        used = {variable for variable, _ in variables_in(over)}
        for key, inner in values.items():
            if key not in used and not key.startswith("x-"):
                near = nearest(key, CASE_KEYS)
                text = f"unknown key {key!r}; nor does <<{key}>> stand in the rehearsal"
                self.raw.refuse(inner, "unknown-key", text, near)
        yield self._case(file, name, case, Node(over.value, one.place, one.key_place), plain)

    def _combined(self, file: str, name: str, whole: Node, given: Node) -> Iterator[RawCase]:
        each = given.value.get("each") if isinstance(given.value, dict) else None
        if each is None or not isinstance(each.value, dict) or len(given.value) > 1:
            text = "cases are a list of mappings, or {each: {variable: [values]}}"
            self.raw.refuse(given, "wrong-type", text)
            return
        for variable, values in each.value.items():
            if not isinstance(values.value, list) or not values.value:
                self.raw.refuse(values, "wrong-type", f"{variable} needs a list of values")
                return
        lists = [[resolve(one.plain()) for one in values.value] for values in each.value.values()]
        for combination in itertools.islice(itertools.product(*lists), MAX_CASES + 1):
            values = dict(zip(each.value, combination, strict=True))
            case = ", ".join(str(one) for one in combination)
            yield self._case(file, name, case, whole, values)

    def _case(
        self, file: str, name: str, case: str, node: Node, values: dict[str, object]
    ) -> RawCase:
        for variable, where in variables_in(node):
            if variable not in values:
                near = nearest(variable, values)
                known = f"known: {', '.join(values)}" if values else "the rehearsal has no cases"
                text = f"nothing stands for <<{variable}>>; {known}"
                self.raw.refuse(where, "bad-value", text, near)
        return RawCase(file, name, case, substituted(node, values, set()) if values else node)
