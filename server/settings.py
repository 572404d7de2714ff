"""What the server is told by its environment."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crew.database import CONNECTIONS
from crew.runs.maintenance import Keep


class SettingsError(Exception):
    """The environment or the command line says something that cannot be done."""


LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
VARIABLES = {
    "CREW_API_TOKENS": "tokens that clients may show, separated by commas; needed on any address but loopback",
    "CREW_DATABASE_URL": "where runs are kept: sqlite:///file.db, postgresql://… or memory:; DIR/.crew/crew.db unless set",
    "CREW_DATABASE_CONNECTIONS": "how many connections to PostgreSQL each process may have for its store; 5 unless set",
    "CREW_CORS_ORIGINS": "origins of web pages that may call the API, separated by commas",
    "CREW_ALLOWED_HOSTS": "host names by which the server may be called, separated by commas; on loopback its own",
    "CREW_DRAIN_SECONDS": "how long runs may go on after SIGTERM; 30 unless set",
    "CREW_KEEP_EVENTS_HOURS": "how long the events of an ended run are kept; 24 unless set",
    "CREW_KEEP_EVENTS": "how many of its newest events an ended run keeps; 50000 unless set",
    "CREW_KEEP_RUNS_DAYS": "how long an ended run's result is kept; 30 unless set",
    "CREW_LOG_FORMAT": "text or json; text on a terminal, else json",
    "CREW_LOG_LEVEL": "debug, info, warning or error; info unless set",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How to serve."""

    host: str = "127.0.0.1"
    port: int = 8080
    tokens: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    # None: any
    hosts: frozenset[str] | None = None
    database_url: str | None = None
    database_connections: int = CONNECTIONS
    drain_seconds: float = 30.0
    keep: Keep = field(default_factory=Keep)
    log_format: Literal["text", "json"] = "json"
    log_level: str = "info"

    @classmethod
    def read(
        cls, environment: Mapping[str, str], host: str, port: int, *, terminal: bool = False
    ) -> "Settings":
        """Read the environment.

        Raises:
            SettingsError: an unknown `CREW_` variable, a wrong value, or an open address
                without a token.
        """
        for name in environment:
            if name.startswith("CREW_") and name not in VARIABLES:
                near = difflib.get_close_matches(name, VARIABLES, n=1)
                hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(VARIABLES)}"
                raise SettingsError(f"unknown environment variable {name}{hint}")
        tokens = _list(environment.get("CREW_API_TOKENS"))
        if host not in LOOPBACK and not tokens:
            raise SettingsError(
                f"{host} can be reached from other machines, so clients must show a token: set CREW_API_TOKENS to one or more, "
                "separated by commas (`openssl rand -hex 32` makes one), or serve on 127.0.0.1"
            )
        short = [token for token in tokens if len(token) < 16]
        if short:
            raise SettingsError(
                f"CREW_API_TOKENS: {len(short)} of them shorter than 16 characters; `openssl rand -hex 32` makes a good one"
            )
        hosts = _list(environment.get("CREW_ALLOWED_HOSTS"))
        return cls(
            host=host,
            port=port,
            tokens=tokens,
            origins=_origins(environment.get("CREW_CORS_ORIGINS")),
            # a page of another site may point its own name at this machine: only loopback's names
            # are answered there
            hosts=hosts | LOOPBACK if hosts or host in LOOPBACK else None,
            database_url=environment.get("CREW_DATABASE_URL") or None,
            database_connections=int(
                _number(
                    environment, "CREW_DATABASE_CONNECTIONS", CONNECTIONS, 100, "connections", 1
                )
            ),
            drain_seconds=_number(environment, "CREW_DRAIN_SECONDS", 30, 3600, "seconds"),
            keep=Keep(
                events_hours=_number(environment, "CREW_KEEP_EVENTS_HOURS", 24, 87_600, "hours"),
                events=int(_number(environment, "CREW_KEEP_EVENTS", 50_000, 10**9, "events")),
                runs_days=_number(environment, "CREW_KEEP_RUNS_DAYS", 30, 36_500, "days"),
            ),
            log_format=_format(
                environment.get("CREW_LOG_FORMAT") or ("text" if terminal else "json")
            ),
            log_level=_level(environment.get("CREW_LOG_LEVEL") or "info"),
        )


def _list(text: str | None) -> frozenset[str]:
    return frozenset(part.strip() for part in (text or "").split(",") if part.strip())


def _origins(text: str | None) -> frozenset[str]:
    origins = frozenset(origin.rstrip("/").lower() for origin in _list(text))
    for origin in origins:
        if not re.fullmatch(r"https?://[a-z0-9.\[\]:-]+", origin):
            raise SettingsError(
                f"CREW_CORS_ORIGINS: {origin!r} is no origin; write https://app.example.com, each one by its name"
            )
    return origins


def _number(
    environment: Mapping[str, str],
    name: str,
    default: float,
    most: float,
    unit: str,
    least: float = 0,
) -> float:
    text = environment.get(name) or str(default)
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not least <= number <= most:
        raise SettingsError(
            f"{name} is {text!r}; write a number of {unit} from {least:g} to {most:g}"
        )
    return number


def _format(text: str) -> Literal["text", "json"]:
    if text == "text":
        return "text"
    if text == "json":
        return "json"
    raise SettingsError(f"CREW_LOG_FORMAT is {text!r}; write text or json")


def _level(text: str) -> str:
    if text not in ("debug", "info", "warning", "error"):
        raise SettingsError(f"CREW_LOG_LEVEL is {text!r}; write debug, info, warning or error")
    return text
