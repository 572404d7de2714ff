"""The seed systems as crews that others wrote, without what comes later.

What comes later (documents) is taken out of a copy, here alone; with it go
the queries that need it.
"""

import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.support.crews import SHARED_CREWS, Played

SEEDS = SHARED_CREWS / "seeds"
LATER_OF_CREWS = ("documents",)
LATER_OF_AGENTS = ("documents",)
LATER_BLOCKS = ("documents",)
LATER_HELPERS = ("describe",)


def without(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def with_known_blocks(data: dict[str, Any]) -> None:
    context = data.get("context") or {}
    if "blocks" in context:
        kinds = [one if isinstance(one, str) else one["kind"] for one in context["blocks"]]
        pairs = zip(context["blocks"], kinds, strict=True)
        context["blocks"] = [one for one, kind in pairs if kind not in LATER_BLOCKS]


def copied(name: str, folder: Path) -> Path:
    """A seed crew, without what comes later."""
    shutil.copytree(SEEDS / name, folder / name, ignore=shutil.ignore_patterns(".crew"))
    folder = folder / name
    read = {path: yaml.safe_load(path.read_text()) for path in folder.rglob("*.yaml")}
    for path, data in read.items():
        with_known_blocks(data)
        if path.name == "crew.yaml":
            data = without(data, LATER_OF_CREWS)
        elif path.name == "script.yaml":
            rules = [one for one in data["rules"] if one.get("helper") not in LATER_HELPERS]
            data = {"rules": rules}
        else:
            data = without(data, LATER_OF_AGENTS)
        path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    return folder


def way(played: Played) -> list[str]:
    hops = [event["metadata"] for event in played.of("handoff")]
    return [f"{hop['from']} → {hop['to']} ({hop['why']})" for hop in hops]


def called(played: Played) -> list[str]:
    return [event["metadata"]["tool"] for event in played.of("tool_start")]
