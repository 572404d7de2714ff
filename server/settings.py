"""What the environment tells a server, a worker and the commands."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crew.database import CONNECTIONS
from crew.journal.query import DEFAULT_PRIORITY, MAX_PRIORITY
from crew.runs.maintenance import Retention
from tools.suggest import nearest

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MIN_TOKEN_CHARS = 16
TOKEN_HEAD = re.compile(r"([A-Za-z0-9._-]{1,64})(?:@([0-9]))?")
LOG_LEVELS = ("debug", "info", "warning", "error")
VARIABLES = {
    "CREW_API_TOKENS": (
        "tokens (16 characters or more, separated by commas) that clients must show; needed on any "
        "address but loopback. NAME:TOKEN says whose runs they start, NAME@PRIORITY:TOKEN up to "
        "which priority (0 to 9; 5 unless given)"
    ),
    "CREW_DATABASE_URL": (
        "where runs are kept: sqlite:///file.db, postgresql://user@host/database or memory:; "
        "DIR/.crew/crew.db unless set"
    ),
    "CREW_DATABASE_CONNECTIONS": (
        "how many connections to PostgreSQL the runs of each process may have, besides one that "
        "listens and two of the queue; 5 unless set"
    ),
    "CREW_CORS_ORIGINS": "origins of web pages that may call the API, separated by commas",
    "CREW_ALLOWED_HOSTS": (
        "host names by which the server may be called, separated by commas; on loopback its own"
    ),
    "CREW_DRAIN_SECONDS": "how long runs may go on after SIGTERM; 30 unless set",
    "CREW_STALL_SECONDS": (
        "how long a tool may hold up a whole worker before the worker is ended; 30 unless set"
    ),
    "CREW_KEEP_EVENTS_HOURS": "how long the events of an ended run are kept; 24 unless set",
    "CREW_KEEP_EVENTS": "how many of its newest events an ended run keeps; 50000 unless set",
    "CREW_KEEP_RUNS_DAYS": "how long an ended run's result is kept; 30 unless set",
    "CREW_LOG_FORMAT": "text or json; text on a terminal, else json",
    "CREW_LOG_LEVEL": "debug, info, warning or error; info unless set",
}


class SettingsError(Exception):
    """The environment or the command line asks for something that cannot be done."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request."""

    # whose runs it starts; "" for those without a name
    owner: str = ""
    # its runs may have at most this priority
    max_priority: int = MAX_PRIORITY


@dataclass(frozen=True, slots=True)
class Token:
    """What a client shows, and who it is then."""

    secret: str = field(repr=False)
    caller: Caller = Caller(max_priority=DEFAULT_PRIORITY)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to serve."""

    host: str = "127.0.0.1"
    port: int = 8080
    tokens: tuple[Token, ...] = ()
    origins: frozenset[str] = frozenset()
    # None: any
    hosts: frozenset[str] | None = None
    database_url: str | None = None
    database_connections: int = CONNECTIONS
    drain_seconds: float = 30.0
    stall_seconds: float = 30.0
    retention: Retention = field(default_factory=Retention)
    log_format: Literal["text", "json"] = "json"
    log_level: str = "info"

    @classmethod
    def read(
        cls, environment: Mapping[str, str], host: str, port: int, *, terminal: bool = False
    ) -> "ServerSettings":
        """Read the environment.

        Raises:
            SettingsError: an unknown `CREW_` variable, a wrong value, or an address that others
                reach without a token.
        """
        _refuse_unknown(environment)
        tokens = _tokens(environment, host)
        hosts = _list(environment.get("CREW_ALLOWED_HOSTS"))
        connections = _number(
            environment, "CREW_DATABASE_CONNECTIONS", CONNECTIONS, (2, 100), "connections"
        )
        return cls(
            host=host,
            port=port,
            tokens=tokens,
            origins=_origins(environment.get("CREW_CORS_ORIGINS")),
            # a page of another site may point its own name at this machine: only the names of
            # loopback are answered there
            hosts=hosts | LOOPBACK if hosts or host in LOOPBACK else None,
            database_url=environment.get("CREW_DATABASE_URL") or None,
            database_connections=int(connections),
            drain_seconds=_number(environment, "CREW_DRAIN_SECONDS", 30, (0, 3600), "seconds"),
            stall_seconds=_number(environment, "CREW_STALL_SECONDS", 30, (5, 3600), "seconds"),
            retention=_retention(environment),
            log_format=_format(environment, terminal=terminal),
            log_level=_level(environment.get("CREW_LOG_LEVEL") or "info"),
        )


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    for name in environment:
        if name.startswith("CREW_") and name not in VARIABLES:
            near = nearest(name, VARIABLES)
            hint = f"did you mean {near}?" if near else f"known: {', '.join(VARIABLES)}"
            raise SettingsError(f"unknown environment variable {name}; {hint}")


def _tokens(environment: Mapping[str, str], host: str) -> tuple[Token, ...]:
    entries = sorted(_list(environment.get("CREW_API_TOKENS")))
    tokens = tuple(_token(entry) for entry in entries)
    if host not in LOOPBACK and not tokens:
        raise SettingsError(
            f"{host} can be reached from other machines, so clients must show a token: "
            "set CREW_API_TOKENS to one or more, separated by commas "
            "(`openssl rand -hex 32` makes one), or serve on 127.0.0.1"
        )
    if len({token.secret for token in tokens}) < len(tokens):
        raise SettingsError("CREW_API_TOKENS: two of them are the same token; give each its own")
    short = [token for token in tokens if len(token.secret) < MIN_TOKEN_CHARS]
    if short:
        raise SettingsError(
            f"CREW_API_TOKENS: {len(short)} of them shorter than {MIN_TOKEN_CHARS} characters; "
            "`openssl rand -hex 32` makes a good one"
        )
    return tokens


def _token(entry: str) -> Token:
    head, colon, secret = entry.partition(":")
    if not colon:
        return Token(entry)
    found = TOKEN_HEAD.fullmatch(head)
    if found is None:
        # it may be a part of a token, so it is not shown
        raise SettingsError(
            "CREW_API_TOKENS: one of them is no TOKEN, NAME:TOKEN or NAME@PRIORITY:TOKEN; a name "
            "has 1 to 64 letters, digits, dots, dashes or underscores, a priority is 0 to 9"
        )
    priority = DEFAULT_PRIORITY if found[2] is None else int(found[2])
    return Token(secret, Caller(found[1], priority))


def _retention(environment: Mapping[str, str]) -> Retention:
    hours = _number(environment, "CREW_KEEP_EVENTS_HOURS", 24, (0, 87_600), "hours")
    events = _number(environment, "CREW_KEEP_EVENTS", 50_000, (0, 10**9), "events")
    days = _number(environment, "CREW_KEEP_RUNS_DAYS", 30, (0, 36_500), "days")
    return Retention(hours, int(events), days)


def _list(text: str | None) -> frozenset[str]:
    return frozenset(part.strip() for part in (text or "").split(",") if part.strip())


def _origins(text: str | None) -> frozenset[str]:
    origins = frozenset(origin.rstrip("/").lower() for origin in _list(text))
    for origin in origins:
        if not re.fullmatch(r"https?://[a-z0-9.\[\]:-]+", origin):
            raise SettingsError(
                f"CREW_CORS_ORIGINS: {origin!r} is no origin; write https://app.example.com, "
                "each one by its name"
            )
    return origins


def _number(
    environment: Mapping[str, str],
    name: str,
    default: float,
    bounds: tuple[float, float],
    unit: str,
) -> float:
    text = environment.get(name) or str(default)
    least, most = bounds
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not least <= number <= most:
        raise SettingsError(
            f"{name} is {text!r}; write a number of {unit} from {least:g} to {most:g}"
        )
    return number


def _format(environment: Mapping[str, str], *, terminal: bool) -> Literal["text", "json"]:
    default = "text" if terminal else "json"
    text = environment.get("CREW_LOG_FORMAT") or default
    if text == "text":
        return "text"
    if text == "json":
        return "json"
    raise SettingsError(f"CREW_LOG_FORMAT is {text!r}; write text or json")


def _level(text: str) -> str:
    if text not in LOG_LEVELS:
        raise SettingsError(f"CREW_LOG_LEVEL is {text!r}; write {', '.join(LOG_LEVELS)}")
    return text
