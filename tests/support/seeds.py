"""The seed systems as crews that others wrote."""

import shutil
from pathlib import Path

from tests.support.crews import SHARED_CREWS, Played

SEEDS = SHARED_CREWS / "seeds"


def copied(name: str, folder: Path) -> Path:
    """A seed crew, in a folder of its own."""
    shutil.copytree(SEEDS / name, folder / name, ignore=shutil.ignore_patterns(".crew"))
    for path in (folder / name).rglob("*"):
        path.chmod(path.stat().st_mode | 0o200)
    return folder / name


def way(played: Played) -> list[str]:
    hops = [event["metadata"] for event in played.of("handoff")]
    return [f"{hop['from']} → {hop['to']} ({hop['why']})" for hop in hops]


def called(played: Played) -> list[str]:
    return [event["metadata"]["tool"] for event in played.of("tool_start")]
