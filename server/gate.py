"""Rehearsals and replays of files that are not served yet, in processes beside the server."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crew.config.files.sources import CREW_FILE
from crew.config.keys.gate import ReloadGate
from crew.config.problems import Problem
from crew.crew import Crew
from crew.database import sqlite_path

PROGRAM = "import crewline; crewline.main()"
# of all rehearsals of a crew
REHEARSAL_SECONDS = 120.0
# nothing was played
NOTHING = 5
# of a line that a command prints: one replay, with a difference of some lines
MAX_LINE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Reported:
    """What a command has printed as JSON, a line each."""

    code: int
    lines: Sequence[dict[str, Any]]

    @property
    def summary(self) -> dict[str, Any] | None:
        """What stands in its last line; None: it has printed none."""
        found = self.lines[-1].get("summary") if self.lines else None
        return found if isinstance(found, dict) else None


async def report(
    seconds: float, *words: str, environment: Mapping[str, str] | None = None
) -> Reported:
    """Run a command of ours, and read what it prints; raises TimeoutError.

    Args:
        seconds: it is killed then.
        words: the command, with `--json`.
        environment: beside that of this process.
    """
    async with asyncio.timeout(seconds), our_process(words, environment) as process:
        out, _ = await process.communicate()
    return Reported(process.returncode or 0, list(_objects(out)))


@asynccontextmanager
async def our_process(
    words: Sequence[str], environment: Mapping[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a command of ours meanwhile; what it says to people goes nowhere."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # a file of this folder must not take the place of a module
        "-P",
        "-c",
        PROGRAM,
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=MAX_LINE_BYTES,
        env={**os.environ, **(environment or {})},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _objects(out: bytes) -> Sequence[dict[str, Any]]:
    found = []
    for line in out.decode(errors="replace").splitlines():
        try:
            one = json.loads(line)
        except ValueError:
            continue
        if isinstance(one, dict):
            found.append(one)
    return found


async def rehearsed(folder: Path) -> Reported:
    """Play the rehearsals of a folder; raises TimeoutError."""
    return await report(REHEARSAL_SECONDS, "test", str(folder), "--json")


async def replayed(
    folder: Path, sample: int, seconds: float, environment: Mapping[str, str] | None = None
) -> Reported:
    """Play some stored runs on the files of a folder; raises TimeoutError."""
    words = ("replay", str(folder), "--all", "--sample", str(sample), "--json")
    return await report(seconds, *words, environment=environment)


class FileGate:
    """See crew.runs.upkeep.gate: what crew.yaml says under `reload_gate`."""

    def __init__(self, home: Path) -> None:
        """`home`: the folder of the crew that is served; its files may be looked at elsewhere."""
        self._home = home

    async def refusals(self, crew: Crew) -> Sequence[Problem]:
        """See Gate."""
        gate = crew.config.reload_gate
        if gate is None:
            return ()
        folder = crew.sources.folder
        texts: list[str] = []
        try:
            if gate.rehearsals:
                texts += _of_rehearsals(await rehearsed(folder))
            if gate.replay is not None:
                texts += await _of_replays(gate, folder, self._environment())
        except TimeoutError:
            texts.append("the rehearsals or replays took too long")
        return [Problem(CREW_FILE, 1, 1, "reload-gate", text) for text in texts]

    def _environment(self) -> Mapping[str, str]:
        """Return what leads to the runs that are stored, wherever the files are."""
        if os.environ.get("CREW_DATABASE_URL"):
            return {}
        return {"CREW_DATABASE_URL": f"sqlite:///{sqlite_path(None, self._home)}"}


def _of_rehearsals(found: Reported) -> Sequence[str]:
    if found.code in (0, NOTHING):
        return ()
    wrong = found.lines[0].get("problems", []) if len(found.lines) == 1 else []
    if wrong:
        return [f"{one['file']}:{one['line']}: {one['message']}" for one in wrong]
    failed = [one for one in found.lines if one.get("status") in ("failed", "error")]
    if not failed:
        return ["the rehearsals could not be played: crew test says why"]
    return [_first(one) for one in failed]


def _first(one: dict[str, Any]) -> str:
    problems = one.get("problems") or [{"text": "", "source": one.get("source", "")}]
    text = str(problems[0].get("text", "")).split("\n")[0]
    return f"rehearsal {one['id']} fails: {text} ({problems[0].get('source', '')})"


async def _of_replays(
    gate: ReloadGate, folder: Path, environment: Mapping[str, str]
) -> Sequence[str]:
    replay = gate.replay
    assert replay is not None, "only where it is given"
    found = await replayed(folder, replay.sample, replay.seconds, environment)
    if found.code == NOTHING:
        # no run is kept
        return ()
    if found.summary is None:
        return ["the stored runs could not be played: crew replay --all says why"]
    if found.summary["other_way"] <= replay.at_most:
        return ()
    share, groups = found.summary["other_way"], found.summary["groups"]
    first = f": {groups[0]['text']} ({groups[0]['causes']})" if groups else ""
    runs = found.summary["runs"]
    return [f"{share:.0%} of {runs} runs go another way, more than {replay.at_most:.0%}{first}"]
