"""What a change of files lets the server do that it could not do before."""

from collections.abc import Iterator, Mapping
from typing import Any

from agents.endpoint import BUILTINS
from crew.assembly.checked import Checked
from crew.config.files.environment import VARIABLE
from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources
from crew.config.files.yaml_reader import read
from crew.rehearsal.differences.differences import Difference, differences
from crew.rehearsal.differences.flat import Leaf, leaves_of
from crew.rehearsal.differences.permissions import path_of_tool

# of tools: programs, and what they are given and may touch
PROGRAMS = frozenset(
    {
        *("argv", "args", "command", "function", "cwd", "env", "stdin", "sandbox"),
        *("read", "write", "network", "allow_private", "redirects", "dash_arguments"),
        "trust_annotations",
    }
)
# of tools: what keeps them from something
PROTECTIONS = frozenset({"isolate", "pin", "deny", "allow"})
# of tools, providers, models, embeddings, channels
ADDRESSES = frozenset(
    {"url", "base_url", "provider_url", "server", "document", "host", "to", "headers"}
)
# of crew.yaml: what is read from the environment there
READ_PARTS = ("providers", "tools", "notify", "helpers")
SETTINGS = frozenset({"show_prompts", "allow_client_system"})
NOTHING: tuple[Any, ...] = (None, False, [], {}, "")


def wider_reach(then: Checked, now: Checked) -> list[Difference]:
    """Return what lets the server do more, of two crews without errors."""
    found = [
        *_leaves(then, now),
        *_effects(then, now),
        *_providers(then, now),
        *_protections(then, now),
        *_gate(then, now),
        *_variables(then.files.sources, now.files.sources),
    ]
    found += [one for one in differences(then, now) if one.is_more and _is_guarded(one.path)]
    # one line says it once
    return list({(one.now or one.text): one for one in reversed(found)}.values())[::-1]


def _is_guarded(path: tuple[str, ...]) -> bool:
    match path_of_tool(path):
        case ("tools", _, ("requires_approval" | "untrusted" | "parameters"), *_):
            return True
        case ("tools", _, ("reach" | "method")):
            return True
        case ("agents", _, "plan", "approve"):
            return True
        case ("settings", name):
            return name in SETTINGS or name == "after_untrusted"
    return False


def _leaves(then: Checked, now: Checked) -> Iterator[Difference]:
    """Yield the new and changed values that name programs and addresses."""
    before = leaves_of(then)
    for path, leaf in leaves_of(now).items():
        was = before[path].value if path in before else None
        if leaf.value in NOTHING or leaf.value == was or not _reaches(path):
            continue
        if isinstance(leaf.value, list) and isinstance(was, list) and _is_part(leaf.value, was):
            continue
        if path not in before and not leaf.source:
            # what it is unless given
            continue
        how = "is new" if path not in before or was in NOTHING else "is another one"
        name = ".".join(path)
        source = before[path].source if path in before else ""
        yield Difference(f"{name} {how}", source, leaf.source, is_more=True, path=path)


def _effects(then: Checked, now: Checked) -> Iterator[Difference]:
    """Yield the tools that are called again by themselves, and were not before."""
    before = leaves_of(then)
    for path, leaf in leaves_of(now).items():
        was = before.get(path)
        if path[0] != "tools" or path[-1] != "effect" or was is None:
            continue
        if was.value == "once" != leaf.value:
            text = f"{'.'.join(path)} is {leaf.value} and not once"
            yield Difference(text, was.source, leaf.source, is_more=True, path=path)


def _providers(then: Checked, now: Checked) -> Iterator[Difference]:
    """Yield where built-in providers are used that no part of the crew used before.

    Their addresses stand in no file: what is sent goes elsewhere than before.
    """
    used = {leaf.value for _, leaf in _named_providers(then)}
    for path, leaf in _named_providers(now):
        if leaf.value not in used and leaf.value in BUILTINS and BUILTINS[leaf.value].url:
            text = f"{'.'.join(path)}: provider {leaf.value} was not used"
            yield Difference(text, "", leaf.source, is_more=True, path=path)


def _named_providers(checked: Checked) -> Iterator[tuple[tuple[str, ...], Leaf]]:
    for path, leaf in leaves_of(checked).items():
        # a body of requests, and arguments of tools, may have any key
        is_own = path[0] not in ("tools", "script") and "body" not in path
        if path[-1] == "provider" and is_own and isinstance(leaf.value, str):
            yield path, leaf


def _gate(then: Checked, now: Checked) -> Iterator[Difference]:
    """Yield what files of a reload had to pass, and is another thing now or gone."""
    after = leaves_of(now)
    for path, leaf in leaves_of(then).items():
        if path[0] != "reload_gate" or leaf.value in NOTHING:
            continue
        found = after.get(path)
        if found is None or found.value != leaf.value:
            text = f"{'.'.join(path)} is {'gone' if found is None else 'another one'}"
            yield Difference(
                text, leaf.source, found.source if found else "", is_more=True, path=path
            )


def _protections(then: Checked, now: Checked) -> Iterator[Difference]:
    """Yield what keeps a tool from something, and does so no more, or less."""
    after = leaves_of(now)
    tools = {path[1] for path in after if path[0] == "tools"}
    for path, leaf in leaves_of(then).items():
        if path[0] != "tools" or path[1] not in tools or leaf.value in NOTHING:
            continue
        if (name := next((one for one in path[2:] if one in PROTECTIONS), "")) == "":
            continue
        value = after[path].value if path in after else None
        if not _is_weaker(name, leaf.value, value):
            continue
        source = after[path].source if path in after else ""
        text = f"{'.'.join(path)} is another one" if value else f"{'.'.join(path)} is gone"
        yield Difference(text, leaf.source, source, is_more=True, path=path)


def _is_weaker(name: str, was: Any, value: Any) -> bool:
    if name == "deny" and isinstance(was, list):
        return bool(set(was) - set(value or ()))
    if name == "allow" and isinstance(was, list):
        # without a list all of a server is allowed
        return "*" not in was and (not value or bool(set(value) - set(was)))
    return bool(value != was)


def _is_part(now: list[Any], was: list[Any]) -> bool:
    # of argv and args the order matters
    return all(isinstance(one, str) for one in now) and now == [one for one in was if one in now]


def _reaches(path: tuple[str, ...]) -> bool:
    match path:
        case ("tools", _, *rest):
            return bool(PROGRAMS.intersection(rest) or ADDRESSES.intersection(rest))
        case (("providers" | "notify"), _, *rest):
            return bool(ADDRESSES.intersection(rest))
    return path[-1] in ("base_url", "provider_url")


def _variables(then: Sources, now: Sources) -> Iterator[Difference]:
    """Yield the variables of the environment that are read where they were not."""
    known = {(path, name) for path, name, _ in _read_variables(then)}
    for path, name, source in _read_variables(now):
        if (path, name) not in known:
            text = f"{'.'.join(path)} reads ${{{name}}}"
            yield Difference(text, "", source, is_more=True, path=path)


def _read_variables(sources: Sources) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield each variable that the files name: where, its name, and its line."""
    for name, content in sources.files.items():
        is_agent = name.startswith("agents/")
        if not is_agent and name not in (sources.find(CREW_FILE), sources.find(TOOLS_FILE)):
            continue
        document = read(name, content)
        data = document.data if isinstance(document.data, dict) else {}
        parts = data if is_agent else {key: data.get(key) for key in READ_PARTS}
        for path, text in _texts(parts, ()):
            if is_agent and path[-1] not in ADDRESSES:
                # a prompt may say it
                continue
            for found in VARIABLE.finditer(text):
                line, _ = document.value_at(path)
                where = (name,) if is_agent else ()
                yield (*where, *map(str, path)), found[1], f"{name}:{line}"


def _texts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*path, place))
    elif isinstance(value, str):
        yield path, value
