"""How full the pots of a crew's budgets are: `crew budgets`."""

import importlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from server.cli.exits import HERE, say_none
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from tools.text.texts import visible, visible_json

NONE = "no pot is in use: crew.yaml has no budgets, or those of runs, which end with them"
UNITS = {"usd": "USD", "tokens": "tokens", "calls": "calls"}


def budgets(
    folder: GivenFolder = None,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Show what is used of each budget in its present period, the fullest pot first.

    Example: [bold]crew budgets examples/it-support[/]
    """
    found: list[dict[str, Any]] = []
    if (target := chosen_target(server, profile, folder)) is not None:
        with opened_api(target, HERE) as api:
            found = api.read("/budgets")["budgets"]
    else:
        local = importlib.import_module("server.cli.local.budgets")
        found = local.budgets_here(folder or HERE)
    if not found:
        say_none(NONE, as_document=as_lines)
    for one in found:
        if as_lines:
            print(visible_json(json.dumps(one, ensure_ascii=False)))
        else:
            print(visible(_line(one)))


def _line(pot: Mapping[str, Any]) -> str:
    parts = ", ".join(_amounts(pot))
    of = f" of {pot['pot']}" if pot["pot"] else ""
    until = f", until {pot['resets_at']}" if pot["resets_at"] else ""
    return f"{pot['budget']}{of}: {pot['ratio']:.0%} used: {parts}{until} ({pot['source']})"


def _amounts(pot: Mapping[str, Any]) -> Iterator[str]:
    for name, unit in UNITS.items():
        limit = pot["limit"][name]
        if limit is None:
            continue
        held, forecast = pot["reserved"][name], pot["forecast"]
        reserved = f" (and {_number(held)} reserved)" if held else ""
        goes_on = f", {_number(forecast[name])} at this rate" if forecast else ""
        yield f"{_number(pot['used'][name])}{reserved} of {_number(limit)} {unit}{goes_on}"


def _number(value: float) -> str:
    return f"{value:,.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
