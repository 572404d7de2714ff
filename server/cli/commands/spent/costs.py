"""What the runs of a crew have cost: `crew costs`."""

import csv
import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from crew.journal.records.spent.costs import CostKey, parse_keys
from server.cli.exits import HERE, say_none
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.cli.view.amounts import tokens_text, usd_text
from tools.text.lengths import length_of
from tools.text.texts import visible, visible_json

NONE = "no model was called yet; crew run DIR QUESTION starts a run"


def costs(
    folder: GivenFolder = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="KEY,…",
            help="day, agent, provider, model, user, token, run, conversation, hour (UTC).",
        ),
    ] = "agent,model",
    since: Annotated[
        str, typer.Option(metavar="7d", help="Not longer ago, such as 12h or 7d.")
    ] = "",
    top: Annotated[int, typer.Option(min=1, max=10_000, help="So many rows, the dearest.")] = 20,
    reprice: Annotated[bool, typer.Option("--reprice", help="Count by today's prices.")] = False,
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Show what calls of models have cost, the dearest first.

    Sums are kept for 400 days; by run, conversation and hour, and since some hours, for 90.

    Example: [bold]crew costs examples/it-support --by day --since 7d[/]
    """
    if as_document and as_csv:
        raise typer.BadParameter("give it without --json", param_hint="--csv")
    length = length_of(since) if since else None
    if since and length is None:
        raise typer.BadParameter("write a length of time, such as 7d", param_hint="--since")
    try:
        keys = parse_keys(by)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--by") from None
    target = chosen_target(server, profile, folder)
    if target is not None:
        if reprice:
            raise typer.BadParameter("it is for a folder", param_hint="--reprice")
        with opened_api(target, HERE) as api:
            found = api.read("/costs", by=",".join(keys), since=since or None)
        _print({**found, "rows": found["rows"][:top]}, keys, {}, as_document, as_csv)
        return
    local = importlib.import_module("server.cli.local.costs")
    document, names = local.costs_here(folder or HERE, keys, length, top, reprice=reprice)
    _print(document, keys, names, as_document, as_csv)


def _print(
    document: Mapping[str, Any],
    keys: Sequence[CostKey],
    names: Mapping[str, str],
    as_document: bool,
    as_csv: bool,
) -> None:
    if as_document:
        print(visible_json(json.dumps(document, ensure_ascii=False)))
    elif as_csv:
        _print_csv(document, keys)
    elif not document["rows"]:
        say_none(NONE, as_document=False)
    else:
        for line in cost_lines(document, keys, names):
            print(visible(line))


def cost_lines(
    document: Mapping[str, Any], by: Sequence[CostKey], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield a table: a line for each row, and the total.

    Args:
        document: as programs get it.
        by: its columns.
        names: by model, the name that crew.yaml has for it, where one is known.
    """
    table = [_cells(by, row) for row in document["rows"]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    keys = len(by)
    for cells, row in zip(table, document["rows"], strict=True):
        padded = [
            one.ljust(width) if place < keys else one.rjust(width)
            for place, (one, width) in enumerate(zip(cells, widths, strict=True))
        ]
        hint = ""
        if row["cost"]["unpriced"] == row["calls"] and "model" in by:
            model = row["model"]
            hint = f"   no price is known: models.{names.get(model, model)}.prices"
        yield "  ".join(padded) + hint
    total = document["total"]
    unpriced = total["cost"]["unpriced"]
    more = f", {unpriced:,} answers unpriced" if unpriced else ""
    yield f"{'≥ ' if unpriced else ''}{usd_text(total['cost']['usd'])}{more}"


def _cells(by: Sequence[CostKey], row: dict[str, Any]) -> list[str]:
    usage, cost = row["usage"], row["cost"]
    cached = usage["cache_read"] / usage["input"] if usage["input"] else 0
    share = f" ({cached:.0%} cached)" if cached >= 0.005 else ""
    is_unknown = cost["unpriced"] == row["calls"]
    at_least = "≥ " if cost["unpriced"] and not is_unknown else ""
    return [
        *(row[key] or "-" for key in by),
        "1 call" if row["calls"] == 1 else f"{row['calls']:,} calls",
        f"{tokens_text(usage['input'])} in{share}",
        f"{tokens_text(usage['output'])} out",
        "?" if is_unknown else at_least + usd_text(cost["usd"]),
    ]


def _print_csv(document: Mapping[str, Any], by: Sequence[CostKey]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    usage = ("input", "output", "thinking", "cache_read", "cache_write")
    cost = ("usd", "unpriced", "estimated")
    writer.writerow([*by, "calls", *usage, *cost])
    for row in document["rows"]:
        keys = [_harmless(row[key]) for key in by]
        amounts = [*(row["usage"][one] for one in usage), *(row["cost"][one] for one in cost)]
        writer.writerow([*keys, row["calls"], *amounts])


def _harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    shown = visible(text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown
