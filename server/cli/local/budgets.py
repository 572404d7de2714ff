"""How full the pots of a folder's budgets are."""

import asyncio
from pathlib import Path
from typing import Any

from crew.crew import Crew
from crew.journal.store import RunStore
from crew.runs.costs.pots import present_pots
from server.cli.opening import load_to_look, open_to_look


def budgets_here(folder: Path) -> list[dict[str, Any]]:
    """Return what the API gives for a folder's budgets."""
    crew, store = load_to_look(folder), open_to_look(folder)
    return asyncio.run(_look(store, crew)) if store is not None else []


async def _look(store: RunStore, crew: Crew) -> list[dict[str, Any]]:
    try:
        return [one.document() for one in await present_pots(store, crew)]
    finally:
        await store.aclose()
