"""Rehearsals are played by real models, and how often each passes is printed."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.errors import ProviderError
from crew.config.costs.prices import prices_by_agent
from crew.config.crew_files import CrewFiles
from crew.rehearsal.doubles.spending import Spending
from crew.rehearsal.measuring.plays import Measured, measure
from crew.rehearsal.measuring.rates import Rate
from crew.rehearsal.playing.loaded import RealModels
from crew.rehearsal.playing.suite import Suite
from server.cli.exits import Exit, fail
from server.cli.rehearsed.chosen import Choice
from server.cli.rehearsed.text import show_problems
from tools.text.texts import visible, visible_json

# each agent has its own
OWN = "own"
# reasons shown of a rehearsal
MAX_REASONS = 3


@dataclass(frozen=True, slots=True)
class RealPlay:
    """How real models play rehearsals, and what it may cost."""

    # of all agents
    model: str
    times: int = 1
    max_usd: float | None = None
    max_tokens: int | None = None
    # the share that must pass, of each rehearsal
    least: float = 1.0
    # what `--json` printed before
    baseline: Path | None = None
    jobs: int = 4


def measure_folder(
    folder: Path, choice: Choice, how: RealPlay, *, may_act: bool, as_lines: bool
) -> int:
    """Play the rehearsals of a crew's folder with a real model; returns how the command ends.

    Raises:
        NothingChosen, WrongExpression
    """
    before = _read_baseline(how.baseline)
    try:
        real = RealModels(None if how.model == OWN else how.model)
        suite = Suite.read(folder, may_act=may_act, real=real)
    except ProviderError as error:
        fail(str(error), Exit.USAGE)
    if suite.problems:
        show_problems(suite, as_lines=as_lines)
        return Exit.FAILED
    cases = choice.of(suite, folder)
    if how.max_usd is not None and how.max_tokens is None:
        for case in cases:
            require_prices(suite.crew_of(case).checked.files)
    spending = Spending(how.max_usd, how.max_tokens)
    progress = _Progress(Console(highlight=False), len(cases) * how.times, is_shown=not as_lines)
    found = measure(
        suite,
        cases,
        times=how.times,
        spending=spending,
        jobs=how.jobs,
        on_play=progress.count,
    )
    progress.end()
    if as_lines:
        for one in found:
            _print_json(_document(one, how.model, before))
        _print_json({"summary": _summary(found, how.model, spending)})
    else:
        for one in found:
            for line in _lines(one, before, how.least):
                print(visible(line))
        print(visible(_headline(found, how, spending)))
    if not any(one.plays for one in found):
        print("crew: no rehearsal was played", file=sys.stderr)
        return Exit.NOTHING
    if spending.is_over:
        print("crew: the money was spent before all was played", file=sys.stderr)
        return Exit.FAILED
    is_bad = any(one.plays and one.rate.share < how.least for one in found)
    return Exit.FAILED if is_bad else Exit.GOOD


@dataclass(slots=True)
class _Progress:
    """Counts plays on a terminal."""

    console: Console
    total: int
    is_shown: bool
    done: int = 0

    def count(self) -> None:
        """Count one more."""
        self.done += 1
        if self.is_shown and self.console.is_terminal:
            self.console.file.write(f"\r{self.done}/{self.total}")
            self.console.file.flush()

    def end(self) -> None:
        """Remove the line."""
        if self.is_shown and self.console.is_terminal:
            self.console.file.write("\r\x1b[K")


def require_prices(files: CrewFiles) -> None:
    """End the command where an agent has no price: a bound in USD could not hold."""
    for name, prices in prices_by_agent(files).items():
        if prices is None:
            text = f"agent {name} has no price, so --max-usd cannot hold: give its model prices"
            fail(f"{text} (models.<name>.prices), or use --max-tokens", Exit.USAGE)


def _read_baseline(path: Path | None) -> Mapping[str, Mapping[str, Any]]:
    """Read what the command printed before, by the ids of rehearsals."""
    if path is None:
        return {}
    try:
        lines = [json.loads(one) for one in path.read_text().splitlines() if one.strip()]
        found = {one["id"]: one for one in lines if "id" in one}
        for one in found.values():
            Rate(int(one["passed"]), int(one["plays"]))
    except OSError as error:
        fail(f"{path} cannot be read: {error.strerror}", Exit.USAGE)
    except (ValueError, KeyError, TypeError):
        text = f"{path} is not what crew test --model --json has printed"
        fail(text, Exit.USAGE)
    return found


def _compared(one: Measured, before: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return how a rehearsal has passed before, if that is known, and whether it differs."""
    was = before.get(one.case.id)
    if was is None or not one.plays:
        return None
    rate = Rate(int(was["passed"]), int(was["plays"]))
    differs = one.rate.differs_from(rate)
    verdict = "cannot say"
    if differs:
        verdict = "better" if one.rate.share > rate.share else "worse"
    return {"model": was.get("model"), "passed": rate.passed, "plays": rate.plays, "now": verdict}


def _document(one: Measured, model: str, before: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": one.case.id,
        "model": model,
        "plays": len(one.plays),
        "passed": one.rate.passed,
        "rate": round(one.rate.share, 4),
        "interval": [round(bound, 4) for bound in one.rate.interval],
        "usd": round(one.usd, 6),
        "tokens": one.tokens,
        "seconds": round(one.seconds, 3),
        "partings": [
            {"plays": it.plays, "step": it.step, "failing": it.failing, "passing": it.passing}
            for it in one.partings
        ],
        "problems": [
            {"kind": it.kind, "text": it.text, "source": it.source, "plays": count}
            for it, count in one.problems
        ],
    }
    if one.skipped:
        document["skipped"] = one.skipped
    compared = _compared(one, before)
    return {**document, **({"baseline": compared} if compared is not None else {})}


def _summary(found: Sequence[Measured], model: str, spending: Spending) -> dict[str, Any]:
    return {
        "model": model,
        "rehearsals": len(found),
        "plays": sum(len(one.plays) for one in found),
        "passed": sum(one.rate.passed for one in found),
        "usd": round(spending.usd, 6),
        "tokens": spending.tokens,
        "is_over": spending.is_over,
    }


def _lines(one: Measured, before: Mapping[str, Mapping[str, Any]], least: float) -> Sequence[str]:
    if not one.plays:
        return [f"- {one.case.id}  {one.skipped or 'not played'}"]
    rate, (low, high) = one.rate, one.rate.interval
    mark = "✓" if rate.share >= least else "✗"
    text = f"{mark} {one.case.id}  {rate.passed} of {rate.plays} pass"
    text = f"{text} ({rate.share:.0%}; {low:.0%} to {high:.0%})"
    lines = [f"{text}  {one.seconds:.1f} s, {one.tokens // rate.plays:,} tokens each"]
    lines += [
        f"    step {it.step}: {it.failing}, in {it.plays} failing; {it.passing}, in passing ones"
        for it in one.partings
    ]
    for mismatch, count in one.problems[:MAX_REASONS]:
        lines.append(f"    {count} × {mismatch.kind}  {mismatch.text}  ({mismatch.source})")
    if len(one.problems) > MAX_REASONS:
        lines.append(f"    and {len(one.problems) - MAX_REASONS} more reasons")
    if (compared := _compared(one, before)) is not None:
        was = f"{compared['passed']} of {compared['plays']} with {compared['model']}"
        lines.append(f"    {compared['now']}: was {was}")
    return lines


def _headline(found: Sequence[Measured], how: RealPlay, spending: Spending) -> str:
    plays = sum(len(one.plays) for one in found)
    passed = sum(one.rate.passed for one in found)
    cost = f"{spending.usd:.4f} USD, " if how.max_usd is not None else ""
    text = f"{passed} of {plays} plays of {len(found)} rehearsals pass with {how.model}"
    return f"{text}; {cost}{spending.tokens:,} tokens; intervals have a confidence of 90 %"


def _print_json(document: Mapping[str, Any]) -> None:
    print(visible_json(json.dumps(document, ensure_ascii=False)))
