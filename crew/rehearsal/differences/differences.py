"""What differs between two versions of a crew."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crew.assembly.checked import Checked
from crew.config.files.programs import program_digests
from crew.rehearsal.differences.flat import Leaf, leaves_of
from crew.rehearsal.differences.permissions import is_more, reaches_further
from crew.rehearsal.differences.words import change_text

NOTHING = Leaf(None, "")
# keys of crew.yaml the entries of which are known by their names
ENTRIES = frozenset({"agents", "tools", "providers", "hooks", "notify", "schedules", "documents"})
# in a path: not one key, but what a tool reaches by all of them
REACH = "reach"
# an entry more lets the crew reach further
OPENING = frozenset({"tools", "notify", "hooks", "schedules"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs."""

    text: str
    # `file:line`, "" where it is not written
    then: str
    now: str
    # the crew may do more than before
    is_more: bool = False
    # of what differs, as in the files; of agents and tools by their names
    path: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        return {
            "text": self.text,
            "source_then": self.then or None,
            "source_now": self.now or None,
            "more": self.is_more,
        }


def differences(then: Checked, now: Checked) -> list[Difference]:
    """Return what differs between two crews without errors."""
    values = _values(leaves_of(then), leaves_of(now))
    return [*values, *_reach(then, now), *_programs(then, now)]


def _programs(then: Checked, now: Checked) -> Iterator[Difference]:
    """Yield the Python files and pins that differ: by their digests, their lines say nothing."""
    sources = then.files.sources, now.files.sources
    if sources[0].folder == sources[1].folder:
        return
    before, after = map(program_digests, sources)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            old, new = name if name in before else "", name if name in after else ""
            how = "differs" if old and new else "is new"
            how = how if new else "is gone"
            yield Difference(f"{name} {how}", old, new)


def _values(
    then: dict[tuple[str, ...], Leaf], now: dict[tuple[str, ...], Leaf]
) -> Iterator[Difference]:
    wholes_then, wholes_now = _all_wholes(then), _all_wholes(now)
    named: set[tuple[str, ...]] = set()
    for path in dict.fromkeys((*then, *now)):
        before, after = then.get(path, NOTHING), now.get(path, NOTHING)
        if before.value == after.value or _is_filled(path, then, now):
            continue
        changed = [one for one in _wholes_of(path) if (one in wholes_then) != (one in wholes_now)]
        if changed:
            # the outermost of what is new or gone; it is named once
            if changed[0] not in named:
                named.add(changed[0])
                yield _of_whole(changed[0], then, now, is_new=changed[0] in wholes_now)
            continue
        more = is_more(path, before.value, after.value)
        text = change_text(path, before.value, after.value)
        yield Difference(text, before.source, after.source, more, path)


def _is_filled(path: tuple[str, ...], *both: Mapping[tuple[str, ...], Leaf]) -> bool:
    """Return whether one version has nothing there, and the other what has paths of its own."""
    for one, other in (both, both[::-1]):
        is_empty = path in one and one[path].value in ({}, [], None)
        size = len(path)
        if (
            is_empty
            and path not in other
            and any(len(at) > size and at[:size] == path for at in other)
        ):
            return True
    return False


def _wholes_of(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the agent, tool, route and so on that a path is a part of, the outermost first."""
    match path:
        case ("tools", name, "requires_approval", _, *_):
            return [("tools", name), ("tools", name, "requires_approval")]
        case (kind, name, _, *_) if kind in ENTRIES:
            return [(kind, name)]
        case ("routing", "signals", agent, signal, _, *_):
            return [("routing", "signals", agent, signal)]
        case ("routing", "parallel_groups", group, _, *_):
            return [("routing", "parallel_groups", group)]
    return []


def _all_wholes(leaves: Mapping[tuple[str, ...], Leaf]) -> set[tuple[str, ...]]:
    return {whole for path in leaves for whole in _wholes_of(path)}


def _of_whole(
    whole: tuple[str, ...],
    then: dict[tuple[str, ...], Leaf],
    now: dict[tuple[str, ...], Leaf],
    *,
    is_new: bool,
) -> Difference:
    leaves = now if is_new else then
    own = {path: leaf for path, leaf in leaves.items() if path[: len(whole)] == whole}
    source = next((leaf.source for leaf in own.values() if leaf.source), "")
    places = ("", source) if is_new else (source, "")
    match whole:
        case ("tools", name, "requires_approval"):
            how = "asks a person" if is_new else "no longer asks a person"
            text = f"tool {name}: {how}"
            return Difference(text, *places, is_more=not is_new, path=whole)
        case ("routing", "signals", agent, signal):
            target = own.get((*whole, "target"), NOTHING).value or "the end"
            what = f"route {agent} {signal} → {target}"
        case _:
            kind = {"parallel_groups": "group"}.get(whole[-2], whole[-2].removesuffix("s"))
            what = f"{kind} {whole[-1]}"
    text = f"{what} is new" if is_new else f"{what} is gone"
    return Difference(text, *places, is_more=is_new and whole[0] in OPENING, path=whole)


def _reach(then: Checked, now: Checked) -> Iterator[Difference]:
    """Yield what tools reach that they did not reach before."""
    for name, tool in now.tools.by_name.items():
        before = then.tools.by_name.get(name)
        if before is None:
            continue
        folders = (str(one.files.sources.folder.resolve()) for one in (then, now))
        for text in reaches_further(before.reach, tool.reach, *folders):
            path = ("tools", name, REACH)
            yield Difference(f"tool {name}: {text}", "", "", is_more=True, path=path)
