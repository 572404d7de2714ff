"""What the models of a crew cost, and from where that is known: `crew prices`."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.costs.prices import Prices
from agents.costs.shape import PRICES_FILE, PricesConfig, PricesFile
from crew.config.costs.lists import NoList, PriceFinder, installed_list, list_in
from crew.config.costs.prices import UsedModel, used_models
from crew.config.crew_files import CrewFiles
from crew.crew import check
from server.cli.exits import HERE, Exit, Folder, fail
from tools.text.texts import visible, visible_json


def prices(
    folder: Folder = HERE,
    update: Annotated[
        bool, typer.Option("--update", help="Write prices.json, for this crew's models.")
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="JSON of genai-prices or litellm, not the package."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """Show what the models of a crew cost, where that is said, and how old it is.

    Nothing is fetched: with --update prices come from package genai-prices (extra `prices`) or from
    a file. What crew.yaml and agents say comes before them.

    Example: [bold]crew prices examples/it-support[/]
    """
    if source is not None and not update:
        raise typer.BadParameter("it goes with --update", param_hint="--from")
    files = check(folder, imports=False).files
    if files.crew is None:
        fail("the crew has errors: crew validate says which")
    if update:
        _update(folder, files, source, yes=yes)
        return
    for one in used_models(files):
        document = _document(files, one)
        if as_lines:
            print(visible_json(json.dumps(document, ensure_ascii=False)))
        else:
            print(visible(_line(document)))


def _document(files: CrewFiles, one: UsedModel) -> dict[str, Any]:
    prices = one.prices
    age = None
    if prices is not None and prices.source == "prices.json" and files.prices is not None:
        age = (datetime.now(UTC).date() - files.prices.date).days
    return {
        "model": f"{one.provider}/{one.model}",
        "alias": one.alias or None,
        "agents": list(one.agents),
        "prices": prices.document() if prices is not None else None,
        "source": prices.source if prices is not None else None,
        "age_days": age,
    }


def _line(document: Mapping[str, Any]) -> str:
    source = document["source"]
    if source is None:
        name = document["model"].partition("/")[2]
        text = f"unknown: give crew.yaml's models.{document['alias'] or name} `prices`"
    elif source == "free":
        text = "free"
    else:
        text = f"{price_text(document['prices'])}   ({source})"
    age = document["age_days"]
    since = "" if age is None else f", {age} days old"
    return f"{document['model']}   {text}{since}"


def price_text(prices: Mapping[str, Any]) -> str:
    """Return prices in short, for people."""
    parts = [f"${prices[name]:g} {name}" for name in prices if name != "above"]
    parts += [
        f"above {one['input']:,} input: {price_text(one['prices'])}"
        for one in prices.get("above", ())
    ]
    return ", ".join(parts)


def _update(folder: Path, files: CrewFiles, source: Path | None, *, yes: bool) -> None:
    try:
        finder = installed_list() if source is None else list_in(source)
        found, missing = _found(files, finder)
    except NoList as error:
        fail(str(error), Exit.USAGE)
    known = files.prices.models if files.prices is not None else {}
    lines = list(_changes(known, found))
    for line in lines or ["nothing has changed"]:
        print(visible(line))
    for name in missing:
        print(visible(f"{name}: {finder.source} has no price of it"))
    if not found:
        fail("no price was found, so nothing is written")
    if lines and not yes and not typer.confirm(f"Write {PRICES_FILE}?"):
        raise typer.Exit(Exit.STOPPED)
    path = folder / PRICES_FILE
    path.write_text(_text(finder, found, datetime.now(UTC).date()), encoding="utf-8")
    print(f"Wrote {path}.")


def _found(files: CrewFiles, finder: PriceFinder) -> tuple[dict[str, Any], list[str]]:
    """Return the prices of the models that need them, and the models without."""
    found: dict[str, Any] = {}
    missing = []
    for one in used_models(files):
        if one.provider == "scripted":
            continue
        prices = finder.find(one.provider, one.address, one.model)
        name = f"{one.provider}/{one.model}"
        if prices is not None and _is_right(prices):
            found[name] = prices
        elif one.prices is None or one.prices.source == "prices.json":
            missing.append(name)
    return found, missing


def _is_right(prices: Mapping[str, Any]) -> bool:
    """Return whether prices of others are such as files may have."""
    try:
        PricesConfig.model_validate(prices)
    except ValueError:
        return False
    return True


def _changes(known: Mapping[str, PricesConfig], found: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*known, *found}):
        before = _of(known[name]) if name in known else "unknown"
        after = price_text(found[name]) if name in found else "unknown"
        if before != after:
            yield f"{name}: {after} (was {before})"


def _of(config: PricesConfig) -> str:
    prices: Prices = config.prices("prices.json")
    return "free" if prices.is_free else price_text(prices.document())


def _text(finder: PriceFinder, found: Mapping[str, Any], today: date) -> str:
    document = {
        "source": finder.source,
        "version": finder.version,
        "date": today.isoformat(),
        "models": {name: found[name] for name in sorted(found)},
    }
    PricesFile.model_validate(document)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
