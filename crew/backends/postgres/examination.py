"""Findings for the operator of the server: settings that lose or refuse runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from crew.backends.postgres.address import PARAMETER, POOLER, DatabaseAddress
from crew.backends.postgres.server import Connection
from crew.journal.records.rows import Finding

MIN_VERSION = 130_000
# between this machine's clock and the server's
MAX_DIFFERENCE = timedelta(seconds=2)
# a pooler that changes connections shows in one of so many statements
ASKED = 5
READ = """
SELECT name, setting FROM pg_settings WHERE name IN (
    'server_version_num', 'fsync', 'full_page_writes', 'synchronous_commit',
    'synchronous_standby_names', 'max_connections', 'superuser_reserved_connections',
    'statement_timeout'
)
"""
USED = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"


@dataclass(frozen=True, slots=True)
class ServerState:
    """What a server says of itself."""

    name: str
    # see Address
    prepares: bool
    settings: Mapping[str, str]
    is_standby: bool
    # client connections now
    used: int
    now: datetime
    # of the connection, each time it was asked
    backends: frozenset[int]


async def read_state(connection: Connection, address: DatabaseAddress) -> ServerState:
    """Ask a server."""
    settings = {one["name"]: one["setting"] for one in await connection.fetch(READ)}
    backends = [await connection.fetchval("SELECT pg_backend_pid()") for _ in range(ASKED)]
    return ServerState(
        address.name,
        address.prepares,
        settings,
        await connection.fetchval("SELECT pg_is_in_recovery()"),
        await connection.fetchval(USED),
        await connection.fetchval("SELECT clock_timestamp()"),
        frozenset(backends),
    )


def examine(state: ServerState, connections: int) -> list[Finding]:
    """Examine findings about a server; `connections`: that each process may have."""
    findings = [*_durability(state.settings), *_use(state, connections)]
    if any(one.level == "error" for one in findings):
        return findings
    return [Finding("ok", f"{state.name} can be used"), *findings]


def _durability(settings: Mapping[str, str]) -> Iterator[Finding]:
    for name, what in (("fsync", "a crash"), ("full_page_writes", "a power cut")):
        if settings[name] == "off":
            text = f"{name} is off: {what} of the machine may destroy the database; set it to on"
            yield Finding("error", text)
    if settings["synchronous_commit"] == "off":
        yield Finding(
            "warning",
            "synchronous_commit is off: a crash of the server loses its last commits, "
            "and acts with effect once may be made again; set it to on",
        )
    elif settings["synchronous_standby_names"] == "":
        yield Finding(
            "note",
            "no synchronous standby: what this machine loses is lost, and a failover to an "
            "asynchronous standby loses the last commits; see synchronous_standby_names",
        )


def _use(state: ServerState, connections: int) -> Iterator[Finding]:
    settings = state.settings
    if int(settings["server_version_num"]) < MIN_VERSION:
        yield Finding("error", "PostgreSQL is older than 13: update it")
    if state.is_standby:
        yield Finding("error", "this server is a standby and cannot be written: name the primary")
    if len(state.backends) > 1:
        yield Finding("error", POOLER)
    if not state.prepares:
        yield Finding(
            "note",
            f"{PARAMETER}=off: nobody listens, so replicas look once a second for new events, and "
            "do not show words as they are written; each statement takes three trips",
        )
    most = int(settings["max_connections"]) - int(settings["superuser_reserved_connections"])
    if most - state.used < connections:
        yield Finding(
            "warning",
            f"{state.used} of {most} connections are taken, and each process needs up to "
            f"{connections}: raise max_connections, or lower CREW_DATABASE_CONNECTIONS",
        )
    if 0 < int(settings["statement_timeout"]) < 10_000:
        text = f"statement_timeout is {settings['statement_timeout']} ms: give this user 10 s"
        yield Finding("warning", text)
    difference = datetime.now(UTC) - state.now
    if abs(difference) > MAX_DIFFERENCE:
        seconds = difference.total_seconds()
        text = f"this machine's clock is {seconds:+.0f} s off; the server's decides"
        yield Finding("warning", text)
