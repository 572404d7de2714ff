"""Rehearsals for what none checks are written."""

from collections.abc import Mapping
from pathlib import Path

import typer

from crew.config.routing_plan import entry_point, routing_of
from crew.rehearsal.covering.counts import CoverageCounts
from crew.rehearsal.playing.suite import Suite
from crew.rehearsal.suggesting.suggester import CHECK, FILE, Suggester
from crew.routing.graph import RoutingGraph
from server.cli.exits import fail
from server.cli.starting.starter import REHEARSALS
from tools.text.texts import visible
from tools.text.yaml_text import to_yaml


def suggest_rehearsals(
    folder: Path, suite: Suite, coverage: CoverageCounts, env: Mapping[str, str]
) -> None:
    """Write a rehearsal for each unit that none checks, as far as one is found."""
    path = folder / FILE
    loaded = suite.loader.load(env, {})
    routing = routing_of(loaded.checked.files, loaded.checked.tools.names)
    graph = RoutingGraph.of(routing, entry_point(loaded.checked.files))
    suggester = Suggester(loaded, suite.units, graph, env)
    cases = []
    for unit, _ in coverage.unchecked():
        case = suggester.suggest(unit)
        if case is None:
            typer.echo(visible(f"no rehearsal was found for {unit.source} {unit.text}"))
        else:
            cases.append(case)
    if not cases:
        typer.echo("Nothing was written.")
        return
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(REHEARSALS + to_yaml({"rehearsals": cases}))
    except FileExistsError:
        fail(f"{path} is there already; check what is in it, and give it another name")
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}")
    text = f"look at what each expects, then remove `fails: {CHECK}`"
    typer.echo(f"Wrote {path}: {len(cases)} rehearsals; {text}.")
