"""What may be written at a place of a crew's files; pure, with lines and columns from 1."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agents.endpoint import BUILTINS
from agents.prompt import VARIABLES
from server.authoring.features import variable_text
from server.authoring.folders import CrewView
from server.authoring.names import NameKind, names_of, role_of
from server.authoring.places import QUOTED, CursorContext, context_at
from server.authoring.shapes import FillIn, file_kind, keys_at, new_shapes, shape_behind, values_at

# keys of what may also be a group
LEADING = frozenset({"target", "next_agent", "on_wait_timeout", "defaults", "path"})
# of a prompt: the beginning of a variable
OPENED = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)?$")
# of a text: the beginning of a signal
SIGNAL_OPENED = re.compile(r"\[[^\[\]]*$")
# files with texts that say signals
SAYING = frozenset({"agent", "script", "rehearsal"})


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that may be written at a cursor."""

    label: str
    insert: str
    kind: Literal["key", "value", "name", "shape"]
    detail: str = ""
    # Markdown
    documentation: str = ""
    # what is written already, and replaced
    written: str = ""
    # the same with what it must have, on several lines; "": nothing more. Further lines are
    # relative to the first one's indentation
    shape: str = ""
    # of the shape: where something is to be filled in
    stops: Sequence[int] = ()


def offers(view: CrewView, file: str, text: str, line: int, column: int) -> Iterator[Offer]:
    """Yield what may be written at a place; `text`: of the file, which may be unfinished."""
    kind = file_kind(file)
    if kind is None:
        return
    lines = text.split("\n")
    whole = lines[line - 1] if line <= len(lines) else ""
    before = whole[: column - 1]
    if kind == "agent" and (opened := OPENED.search(before)) is not None:
        for name in VARIABLES:
            value = variable_text(view, file, name)
            yield Offer(name, f"{name}}}}}", "value", "", value, opened[1] or "")
        return
    at = context_at(text, line, column)
    if at.key is not None:
        yield from _values(view, kind, (*at.path, at.key), at.written)
        if kind in SAYING and not at.is_flow:
            yield from _said_signals(view, file, before, whole[column - 1 :])
        return
    if at.is_item:
        yield from _values(view, kind, at.path, at.written)
    yield from _keys(view, kind, at, before)


def _keys(view: CrewView, kind: str, at: CursorContext, before: str) -> Iterator[Offer]:
    """Yield keys of the mapping around a cursor, and what a new entry must have."""
    # further lines stand below the key, which may be behind dashes
    indent = len(before.lstrip(" ")) - len(at.written)
    for key, schema in keys_at(kind, at.path).items():
        if key in at.given:
            continue
        meaning = " ".join(str(schema.get("description", "")).split())
        shape = FillIn() if at.is_flow else shape_behind(kind, (*at.path, key), indent)
        if shape.text:
            shape = FillIn(f"{key}:") + shape
        yield Offer(key, f"{key}: ", "key", "", meaning, at.written, shape.text, shape.stops)
    # of a mapping by names
    for name in _names(view, role_of(kind, (*at.path, "*"), is_key=True)):
        if name not in at.given:
            yield Offer(name, f"{name}:", "name", "", "", at.written)
    if not at.given and not at.is_flow:
        for label, shape in new_shapes(kind, at.path, indent):
            yield Offer(
                label, "", "shape", "what it must have", "", at.written, shape.text, shape.stops
            )


def _said_signals(view: CrewView, file: str, before: str, behind: str) -> Iterator[Offer]:
    """Yield signals in brackets within a text: of an agent's file, those that it may say."""
    opened, crew = SIGNAL_OPENED.search(before), view.checked.files.crew
    if opened is None or crew is None:
        return
    stem = Path(file).stem
    own = [agent for agent, one in view.checked.files.agent_files.items() if one.file == file]
    for agent, rules in crew.routing.signals.items():
        if file_kind(file) == "agent" and agent not in (own or [stem]):
            continue
        for signal in dict.fromkeys(one.signal for one in rules):
            if signal.startswith("["):
                # many editors close a bracket by themselves
                insert = signal.removesuffix("]") if behind.startswith("]") else signal
                yield Offer(signal, insert, "name", "signal", "", opened[0])


def _values(
    view: CrewView, kind: str, path: tuple[str | int, ...], written: str
) -> Iterator[Offer]:
    for value in values_at(kind, path):
        yield Offer(value, value, "value", "", "", written)
    role = role_of(kind, path, is_key=False)
    names = list(_names(view, role))
    if role == "agent" and not LEADING.isdisjoint(path):
        names += _names(view, "group")
    for name in names:
        insert = f'"{name}"' if QUOTED.search(name) else name
        yield Offer(name, insert, "name", role or "", "", written)


def _names(view: CrewView, kind: NameKind | None) -> list[str]:
    files = view.checked.files
    match kind:
        case "agent":
            return list(files.agent_files)
        case "tool":
            return [*files.tools, *(one for one in view.checked.tools.by_name)]
        case None:
            return []
    known = [one.name for one in names_of(view, view.own_documents) if one.kind == kind]
    return list(dict.fromkeys([*known, *(BUILTINS if kind == "provider" else ())]))
