"""The statements that look for words in events."""

from collections.abc import Sequence

from crew.backends.sql.statements import Statement, sql

FOUND = "SELECT run_id, seq, public FROM crew_events WHERE run_id = ANY($1) AND"
ORDER = "ORDER BY run_id DESC, seq LIMIT $3"
# LIKE of SQLite knows the case of ASCII alone, and is ten times as fast
PLAIN = sql(
    f"{FOUND} public::text ILIKE $2 ESCAPE '!' {ORDER}",
    f"{sql(FOUND).sqlite} public LIKE ?2 ESCAPE '!' {sql(ORDER).sqlite}",
)
CASEFOLD = sql(f"{FOUND} strpos(crew_casefold(public::text), crew_casefold($2)) > 0 {ORDER}")


def select_found(text: str, run_ids: Sequence[str], limit: int) -> tuple[Statement, list[object]]:
    """Select the statement for events that have a text, as it stands in JSON, with its values."""
    if text.isascii():
        escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        return PLAIN, [list(run_ids), f"%{escaped}%", limit]
    return CASEFOLD, [list(run_ids), text, limit]
