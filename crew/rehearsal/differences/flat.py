"""A crew's files as leaves, each with its place: what two versions are compared by; pure."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, SecretStr

from agents.providers.scripted import SCRIPT_FILE
from crew.assembly.checked import Checked
from crew.config.files.document import Document, YamlPath
from tools.config.approval import ApprovalConfig
from tools.text.yaml_text import to_yaml

# agents are files of their own; tools have two places
APART = ("agents", "tools")
# true alone, or a mapping
APPROVAL = "requires_approval"
# by what the entries of some lists are known
KEYS = ("signal", "name", "kind", "id")
# of this process: what is shown of a secret tells nothing of it
KEY = secrets.token_bytes(16)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value, and where it is written."""

    value: Any
    # `file:line`; "" where it is not written, but what it is unless given
    source: str


def leaves_of(checked: Checked) -> dict[tuple[str, ...], Leaf]:
    """Return the leaves of a crew without errors, by path.

    `agents`, `tools`, `script` (as one text), or of crew.yaml.
    """
    files = checked.files
    assert files.crew is not None, "only of a crew without errors"
    found: dict[tuple[str, ...], Leaf] = {}
    data = _dumped(files.crew)
    for path, written, value in _leaves(data, (), ()):
        if path[0] not in APART:
            found[path] = Leaf(value, _source(files.crew_document, written))
    listed = files.crew.agents
    found["agents",] = Leaf(list(listed), _source(files.crew_document, ("agents",)))
    for agent_id in listed:
        data = _dumped(files.agents[agent_id])
        for path, written, value in _leaves(data, (), ()):
            source = _source(files.agent_files[agent_id], written)
            found["agents", agent_id, *path] = Leaf(value, source)
    for name, config in files.tools.items():
        data, document = _dumped(config), files.tool_files[name]
        if is_plain := data.get(APPROVAL) is True:
            # the same as a mapping that says nothing else
            data[APPROVAL] = ApprovalConfig().model_dump(mode="json", by_alias=True)
        for path, written, value in _leaves(data, (), ("tools", name)):
            place = written[:3] if is_plain and path[0] == APPROVAL else written
            found["tools", name, *path] = Leaf(value, _source(document, place))
    if files.script is not None:
        text = to_yaml(files.script.model_dump(mode="json", by_alias=True, exclude_defaults=True))
        found["script",] = Leaf(text, f"{SCRIPT_FILE}:1")
    return found


def _dumped(config: BaseModel) -> dict[str, Any]:
    """Return a part of the files as JSON; of a secret only whether it is the same as another."""
    data = config.model_dump(mode="json", by_alias=True)
    found: dict[str, Any] = _marked(data, config.model_dump(by_alias=True))
    return found


def _marked(data: Any, value: Any) -> Any:
    match value:
        case SecretStr():
            secret = value.get_secret_value().encode()
            return f"*** {blake2b(secret, key=KEY, digest_size=4).hexdigest()}"
        case dict():
            pairs = zip(data.items(), value.values(), strict=True)
            return {key: _marked(one, inner) for (key, one), inner in pairs}
        case list():
            return [_marked(one, inner) for one, inner in zip(data, value, strict=True)]
        case _:
            return data


def _leaves(
    value: Any, path: tuple[str, ...], written: YamlPath
) -> Iterator[tuple[tuple[str, ...], YamlPath, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)), (*written, key))
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        seen: dict[str, int] = {}
        for number, inner in enumerate(value):
            name = _name_of(inner, number)
            seen[name] = seen.get(name, 0) + 1
            label = name if seen[name] == 1 else f"{name} ({seen[name]})"
            yield from _leaves(inner, (*path, label), (*written, number))
    else:
        yield path, written, value


def _name_of(entry: Mapping[str, Any], number: int) -> str:
    for key in KEYS:
        if isinstance(entry.get(key), str):
            return str(entry[key])
    return f"#{number + 1}"


def _source(document: Document, path: YamlPath) -> str:
    """Return where a value is written; "" where it is not."""
    if path not in document.values and path not in document.keys:
        return ""
    return f"{document.file}:{document.key_at(path)[0]}"
