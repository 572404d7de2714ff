"""What the runs of a folder have cost."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from agents.costs.prices import FREE
from crew.config.costs.prices import used_models
from crew.config.crew_files import CrewFiles
from crew.crew import check
from crew.journal.records.spent.costs import CostKey
from crew.journal.store import RunStore
from crew.runs.costs.report import CostReport, PriceList, cost_report, no_costs
from server.cli.opening import open_to_look


def costs_here(
    folder: Path, keys: Sequence[CostKey], since: timedelta | None, top: int, *, reprice: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the API gives for a folder's runs; and by model, its name in crew.yaml.

    `reprice`: by today's prices.
    """
    store = open_to_look(folder)
    if store is None:
        return no_costs(keys).document(), {}
    files = check(folder, imports=False).files
    report = asyncio.run(_look(store, keys, _zone(files), since, top, _list(files, reprice)))
    return report.document(), {one.model: one.alias for one in used_models(files) if one.alias}


def _zone(files: CrewFiles) -> ZoneInfo:
    return ZoneInfo(files.crew.settings.timezone if files.crew is not None else "UTC")


def _list(files: CrewFiles, reprice: bool) -> PriceList | None:
    if not reprice:
        return None
    models = used_models(files)
    known = {(one.provider, one.model): one.prices for one in models if one.prices is not None}
    # a script answers by the names that the files have
    names = {} if files.crew is None else files.crew.models
    given = {name: one.prices.prices("models") for name, one in names.items() if one.prices}
    scripted = {("scripted", name): one for name, one in given.items()}
    return {("scripted", "scripted"): FREE, **known, **scripted}


async def _look(
    store: RunStore,
    by: Sequence[CostKey],
    zone: ZoneInfo,
    since: timedelta | None,
    top: int,
    prices: PriceList | None,
) -> CostReport:
    try:
        return await cost_report(store, by, zone, since=since, top=top, prices=prices)
    finally:
        await store.aclose()
