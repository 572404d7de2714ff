"""The deletion of a conversation with all that is of it, in the database of a store."""

from collections.abc import Sequence

from crew.backends.sql.remembered.core import delete_core
from crew.backends.sql.remembered.items import delete_recall
from crew.backends.sql.remembered.versions import remove_all
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import Steps
from crew.journal.records.remembered.core import conversation_owner

RUNS = sql(
    "SELECT run_id FROM crew_runs WHERE conversation_owner = $1 AND conversation_id = $2 FOR UPDATE"
)
DELETE_OF_RUNS = [
    sql(f"DELETE FROM crew_{table} WHERE run_id = ANY($1)")  # noqa: S608 # ours
    for table in ("events", "idempotency_records", "viewers", "runs")
] + [
    # those of budgets for one run
    sql("DELETE FROM crew_pots WHERE value = ANY($1) AND period = ''"),
    # an id begins with the run's
    sql(
        "DELETE FROM crew_notices WHERE split_part(id, ':', 1) = ANY($1)",
        "DELETE FROM notices WHERE id IN (SELECT notices.id FROM json_each(?1) AS run"
        " JOIN notices ON notices.id >= run.value || ':' AND notices.id < run.value || ';')",
    ),
]
DELETE = [
    sql(f"DELETE FROM crew_{table} WHERE owner = $1 AND conversation_id = $2")  # noqa: S608 # ours
    for table in ("exchanges", "summaries", "conversation_queue", "conversations")
] + [sql("DELETE FROM crew_chores WHERE owner = $1 AND key = $2")]


def delete_runs(runs: Sequence[str]) -> Steps[None]:
    """Delete runs that are locked, with their events, receipts and notices."""
    for statement in DELETE_OF_RUNS:
        yield statement, (list(runs),)


def delete_with_all(place: tuple[str, str]) -> Steps[None]:
    """Delete one that is locked: its runs, exchanges, summaries, chores, memory and documents.

    Args:
        place: its owner and its id.
    """
    found = yield RUNS, place
    yield from delete_runs([run_id for (run_id,) in found])
    for statement in DELETE:
        yield statement, place
    owner = conversation_owner(*place)
    yield from delete_core(owner)
    yield from delete_recall(owner)
    yield from remove_all(owner)
