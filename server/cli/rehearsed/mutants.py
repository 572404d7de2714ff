"""`crew test --mutants`: the files are changed one thing at a time; rehearsals must notice."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from crew.rehearsal.mutants.changes import MutantKind
from crew.rehearsal.mutants.trial import Trial, TrialEnd, Trials
from crew.rehearsal.pins import changed_pins, pins_of, read_pins
from crew.rehearsal.playing.suite import Suite
from server.cli.exits import Exit, fail
from tools.text.texts import visible, visible_json

REMEDIES: dict[MutantKind, str] = {
    "route": "expect its path, with the reason: {agent: '[SIGNAL]'}",
    "group": "expect what the next agent is sent (asked), or how long it takes (seconds)",
    "limit": "rehearse a run that reaches it, and expect its end",
    "approval": "expect pauses, seconds, or never: [{call: …, unless: approved}]",
    "tool": "expect the agent's tools (asked), or calls with their arguments",
    "budget": "rehearse a run that reaches it (usage of says), and expect its end",
    "prompt": "crew test --pin keeps what models are sent",
    "sampling": "crew test --pin keeps what models are sent",
}
# these need a rehearsal more
OPEN: tuple[TrialEnd, ...] = ("survived", "warned")


def try_mutants(suite: Suite, folder: Path, *, most: int, jobs: int, as_lines: bool) -> int:
    """Try the mutants of a crew the rehearsals of which pass; returns how the command ends."""
    base = suite.loader.load(suite.cases[0].keys.env if suite.cases else {}, {})
    try:
        pins = read_pins(folder)
    except ValueError as error:
        fail(str(error))
    holds = pins is not None and not any(changed_pins(pins, pins_of(base)))
    trials = Trials(suite, base, holds)
    mutants = trials.mutants(most)
    console = Console(highlight=False)
    done: list[Trial] = []
    for trial in trials.run(mutants, jobs):
        done.append(trial)
        if as_lines:
            print(visible_json(json.dumps(_document(trial), ensure_ascii=False)), flush=True)
        elif console.is_terminal:
            console.file.write(f"\r{len(done)}/{len(mutants)}")
            console.file.flush()
    if as_lines:
        counts = Counter(one.end for one in done)
        print(json.dumps({"summary": {"mutants": len(done), **counts}}))
    else:
        _print(console, done, is_pinned=holds)
    return Exit.FAILED if any(one.end == "survived" for one in done) else Exit.GOOD


def _print(console: Console, done: Sequence[Trial], *, is_pinned: bool) -> None:
    if console.is_terminal:
        console.file.write("\r\x1b[K")
    for one in done:
        if one.end not in OPEN:
            continue
        mutant = one.mutant
        by = f" (a warning: {one.by})" if one.end == "warned" else ""
        line = f"{one.end}  {mutant.source}  {mutant.text}{by}"
        style = "bold red" if one.end == "survived" else "yellow"
        console.print(Text(visible(line), style), soft_wrap=True)
        console.print(Text(f"    {REMEDIES[mutant.kind]}", "dim"), soft_wrap=True)
    counts = Counter(one.end for one in done)
    ends: tuple[TrialEnd, ...] = ("caught", "pinned", "warned", "survived", "same")
    parts = ", ".join(f"{counts[end]} {end}" for end in ends if counts[end])
    console.print(f"{len(done)} mutants: {parts}", soft_wrap=True)
    if not is_pinned:
        text = (
            "crew: without tests/asked.lock, changes of prompts are not noticed (crew test --pin)"
        )
        print(text, file=sys.stderr)


def _document(trial: Trial) -> dict[str, Any]:
    mutant = trial.mutant
    named = {"kind": mutant.kind, "text": mutant.text, "source": mutant.source}
    return {**named, "end": trial.end, "by": trial.by or None}
