"""Why a stored run went where it went, from a store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic_core import from_json

from crew.assembly.recipe import Recipe
from crew.config.files.sources import Sources
from crew.config.problems import has_failed
from crew.crew import Crew
from crew.errors import CrewError
from crew.journal.records.rows import PAGE, Record, RunRow
from crew.journal.replay import read_event
from crew.journal.state import RunState
from crew.journal.store import RunStore
from crew.routing.rules import Routing
from crew.why.explaining import Explainer, WhyMoment
from crew.why.places import FilePlaces
from crew.why.steps import WhyStep


class EventsGone(CrewError):
    """The events of a run are no longer kept."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"the events of run {run_id} are no longer kept")


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """Why each event of a run came, and the ways that it could go; None: no longer kept."""

    steps: Sequence[WhyStep]
    routing: Routing | None


async def explain_run(store: RunStore, row: RunRow, crew: Crew) -> ExplainedRun:
    """Explain the events of a run by the files of its own revision.

    Args:
        store: has its events and its files.
        row: of the run.
        crew: as it is now; its files are taken where they are of that revision.

    Raises:
        EventsGone: they are purged, or begin later.
        StoreError: the store failed, or another version wrote an event.
    """
    records: list[Record] = []
    while True:
        page = await store.records(row.run_id, records[-1].seq if records else 0, PAGE)
        records += page
        if page.is_last:
            break
    if not records or records[0].seq != 1:
        raise EventsGone(row.run_id)
    moments = [WhyMoment(one.seq, read_event(one, row.run_id)[0], _moment(one)) for one in records]
    recipe = crew.recipe
    places = await _places(store, row, recipe, crew.sources)
    calls = await store.costs.calls_of(row.run_id)
    explainer = Explainer(places, calls, recipe.secrets)
    steps = list(explainer.explain(RunState(row.run_id, crew.tool_limits), moments))
    return ExplainedRun(steps, places.routing if places is not None else None)


def _moment(record: Record) -> datetime:
    return datetime.fromisoformat(from_json(record.public)["timestamp"])


async def _places(
    store: RunStore, row: RunRow, recipe: Recipe, folder: Sources
) -> FilePlaces | None:
    """Return where the files of a run's revision say what; None: they are no longer kept."""
    sources: Sources | None = folder
    if row.revision != folder.revision:
        files = await store.revisions.files(row.revision) if row.revision else None
        sources = None if files is None else Sources.from_json(folder.folder, files)
    if sources is None:
        return None
    checked = recipe.check(sources, imports=False)
    if checked.files.crew is None or has_failed(
        [one for one in checked.problems if one.code != "tool-import"]
    ):
        return None
    return FilePlaces.of(checked.files, checked.tools)
