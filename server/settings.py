"""What the environment says to a server, a worker and the commands."""

import importlib.util
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from crew.database import CONNECTIONS, is_shared
from crew.runs.upkeep.maintenance import Retention
from crew.runs.upkeep.storage import GIGABYTE
from server.backups import BackupPlan
from server.errors import SettingsError
from server.identity import IdentityHeader, OidcSettings, Proxies
from server.tokens import TokenError, Tokens, parse_token
from server.variables import LOOPBACK, PUBLIC_URL, VARIABLES
from tools.text.suggest import nearest

log = logging.getLogger(__name__)

# Kubernetes gives such variables to each container of a namespace with a Service `crew`
OF_SERVICE = re.compile(
    r"_SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?\Z|_PORT_\d+_[A-Z]+(?:_(?:PROTO|PORT|ADDR))?\Z"
)
PLACES = (1, 1_000_000), "connections"
CONVERSATION_HEADERS = ("X-Conversation-Id", "X-OpenWebUI-Chat-Id")
LOG_LEVELS = ("debug", "info", "warning", "error")


# what may be changed over HTTP: nothing, what lets the server do no more than before, all
EditMode = Literal["off", "safe", "all"]
EDIT_MODES: Mapping[str, EditMode] = {"0": "off", "1": "safe", "all": "all"}


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to serve."""

    host: str = "127.0.0.1"
    port: int = 8080
    tokens: Tokens = field(default_factory=Tokens)
    origins: frozenset[str] = frozenset()
    # None: any
    hosts: frozenset[str] | None = None
    proxies: tuple[str, ...] = ()
    oidc: OidcSettings | None = None
    identity: IdentityHeader | None = None
    database_url: str | None = None
    database_connections: int = CONNECTIONS
    max_connections: int = 10_000
    max_connections_per_address: int = 1_000
    requests_per_minute: int = 60_000
    max_streams: int = 2_000
    drain_seconds: float = 30.0
    stall_seconds: float = 30.0
    retention: Retention = field(default_factory=Retention)
    log_format: Literal["text", "json"] = "json"
    log_level: str = "info"
    # as people call the server; None: not known
    public_url: str | None = None
    # by which other protocols it is reached; None: the usual ones
    doors: tuple[str, ...] | None = None
    # in which clients of other protocols name a conversation
    conversation_headers: tuple[str, ...] = CONVERSATION_HEADERS
    # answers of OpenAI's API have what was said and done before them
    shows_thinking: bool = True
    # backups that the server makes itself
    backups: BackupPlan | None = None
    # which files may be changed over HTTP
    edit: EditMode = "off"

    @property
    def link_base(self) -> str | None:
        """What links to this server begin with; None where its address is not known to people."""
        if self.public_url is not None or self.host not in LOOPBACK:
            return self.public_url
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def base_for(self, request_base: str) -> str:
        """Return what addresses begin with that a client is given.

        `request_base`: by which address it has called.
        """
        return (self.public_url or request_base).rstrip("/")

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
        proxies = _proxies(environment.get("CREW_TRUSTED_PROXIES"))
        oidc, identity = _oidc(environment), _identity(environment, proxies)
        tokens = _tokens(environment, host, others=oidc is not None or identity is not None)
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
            proxies=proxies,
            oidc=oidc,
            identity=identity,
            database_url=environment.get("CREW_DATABASE_URL") or None,
            database_connections=int(connections),
            max_connections=int(_number(environment, "CREW_MAX_CONNECTIONS", 10_000, *PLACES)),
            max_connections_per_address=int(
                _number(environment, "CREW_MAX_CONNECTIONS_PER_ADDRESS", 1_000, *PLACES)
            ),
            requests_per_minute=int(
                _number(environment, "CREW_REQUESTS_PER_MINUTE", 60_000, (1, 10**8), "requests")
            ),
            max_streams=int(
                _number(environment, "CREW_MAX_STREAMS_PER_TOKEN", 2_000, (1, 10**6), "streams")
            ),
            drain_seconds=_number(environment, "CREW_DRAIN_SECONDS", 30, (0, 3600), "seconds"),
            stall_seconds=_number(environment, "CREW_STALL_SECONDS", 30, (5, 3600), "seconds"),
            retention=_retention(environment),
            log_format=log_format(environment, terminal=terminal),
            log_level=log_level(environment, "info"),
            public_url=public_url(environment),
            doors=_names(environment.get("CREW_DOORS")),
            conversation_headers=_names(environment.get("CREW_CONVERSATION_HEADERS"))
            or CONVERSATION_HEADERS,
            shows_thinking=_switch(environment, "CREW_OPENAI_THINKING"),
            edit=_edit_mode(environment),
            backups=_backups(environment),
        )


def public_url(environment: Mapping[str, str]) -> str | None:
    """Return the server's address as people call it; raises SettingsError."""
    value = environment.get(PUBLIC_URL) or None
    if value is not None:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise SettingsError(f"{PUBLIC_URL}: expected an address: https://crew.example.com")
    return value


def _is_of_service(name: str, value: str) -> bool:
    """Return whether Kubernetes has set a variable, for a Service that is named like ours."""
    is_port = name.endswith("_PORT") and "://" in value
    return is_port or OF_SERVICE.search(name) is not None


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        if name.startswith("CREW_") and name not in VARIABLES and not _is_of_service(name, value):
            near = nearest(name, VARIABLES)
            hint = f"did you mean {near}?" if near else f"known: {', '.join(VARIABLES)}"
            raise SettingsError(f"unknown environment variable {name}; {hint}")


def _tokens(environment: Mapping[str, str], host: str, *, others: bool) -> Tokens:
    file = environment.get("CREW_TOKEN_FILE")
    try:
        given = [parse_token(entry) for entry in sorted(_list(environment.get("CREW_API_TOKENS")))]
    except TokenError as error:
        raise SettingsError(f"CREW_API_TOKENS: {error}") from None
    try:
        tokens = Tokens(given, Path(file) if file else None, others=others)
    except TokenError as error:
        raise SettingsError(f"CREW_TOKEN_FILE, CREW_API_TOKENS: {error}") from None
    if host not in LOOPBACK and not tokens.are_needed:
        raise SettingsError(
            f"{host} can be reached from other machines, so clients must show a token: "
            "set CREW_API_TOKENS to one or more, separated by commas "
            "(`openssl rand -hex 32` makes one), or CREW_TOKEN_FILE (`crew token new` writes it), "
            "or serve on 127.0.0.1"
        )
    return tokens


def _oidc(environment: Mapping[str, str]) -> OidcSettings | None:
    names = ("CREW_OIDC_ISSUER", "CREW_OIDC_AUDIENCE", "CREW_OIDC_KEYS")
    given = [environment.get(name) or "" for name in names]
    if not any(given):
        return None
    for name, value in zip(names, given, strict=True):
        if not value:
            raise SettingsError(f"{name} is not set; {', '.join(names)} are needed together")
    if given[2].startswith("http://"):
        host = urlsplit(given[2]).hostname or ""
        if host not in LOOPBACK:
            raise SettingsError("CREW_OIDC_KEYS: keys are read by https:// or from a file")
    if importlib.util.find_spec("jwt") is None:
        raise SettingsError("CREW_OIDC_ISSUER needs pyjwt: pip install 'crewline[oidc]'")
    return OidcSettings(*given)


def _identity(environment: Mapping[str, str], proxies: tuple[str, ...]) -> IdentityHeader | None:
    header = environment.get("CREW_IDENTITY_HEADER")
    admins = _list(environment.get("CREW_IDENTITY_ADMINS"))
    if not header:
        if admins:
            raise SettingsError("CREW_IDENTITY_ADMINS has no effect without CREW_IDENTITY_HEADER")
        return None
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", header):
        raise SettingsError(f"CREW_IDENTITY_HEADER: {header!r} is no name of a header")
    if not proxies:
        raise SettingsError(
            "CREW_IDENTITY_HEADER needs CREW_TRUSTED_PROXIES: from any other address the header "
            "could say anything"
        )
    return IdentityHeader(header.lower(), Proxies(proxies), admins)


def _retention(environment: Mapping[str, str]) -> Retention:
    event_days = _number(environment, "CREW_KEEP_EVENTS_DAYS", 30, (0, 36_500), "days")
    if environment.get("CREW_KEEP_EVENTS_HOURS"):
        if environment.get("CREW_KEEP_EVENTS_DAYS"):
            raise SettingsError(
                "CREW_KEEP_EVENTS_HOURS and CREW_KEEP_EVENTS_DAYS say the same: set only the second"
            )
        hours = _number(environment, "CREW_KEEP_EVENTS_HOURS", 24, (0, 876_000), "hours")
        event_days = hours / 24
        log.warning("CREW_KEEP_EVENTS_HOURS is of earlier versions; set CREW_KEEP_EVENTS_DAYS")
    events = _number(environment, "CREW_KEEP_EVENTS", 50_000, (0, 10**9), "events")
    days = _number(environment, "CREW_KEEP_RUNS_DAYS", 30, (0, 36_500), "days")
    audit_days = _number(environment, "CREW_KEEP_AUDIT_DAYS", 365, (1, 36_500), "days")
    if audit_days < days:
        raise SettingsError(
            f"CREW_KEEP_AUDIT_DAYS is {audit_days:g}, less than CREW_KEEP_RUNS_DAYS ({days:g}): "
            "who did what is kept at least as long as the runs"
        )
    gigabytes = _number(environment, "CREW_MAX_DATABASE_GB", 10, (0, 10**6), "GB")
    return Retention(event_days, int(events), days, audit_days, int(gigabytes * GIGABYTE))


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(sorted(_list(text)))


def _switch(environment: Mapping[str, str], name: str) -> bool:
    value = (environment.get(name) or "true").lower()
    if value not in ("true", "false"):
        raise SettingsError(f"{name} is {value!r}; write true or false")
    return value == "true"


def _backups(environment: Mapping[str, str]) -> BackupPlan | None:
    hours = _number(environment, "CREW_BACKUP_HOURS", 24, (0.01, 8760), "hours")
    keep = _number(environment, "CREW_BACKUP_KEEP", 7, (1, 10_000), "backups")
    if not (folder := environment.get("CREW_BACKUP_FOLDER")):
        for name in ("CREW_BACKUP_HOURS", "CREW_BACKUP_KEEP"):
            if environment.get(name):
                raise SettingsError(f"{name} has no effect without CREW_BACKUP_FOLDER")
        return None
    if is_shared(environment.get("CREW_DATABASE_URL")):
        text = "a PostgreSQL database is backed up by its own program: pg_dump -Fc"
        raise SettingsError(f"CREW_BACKUP_FOLDER: {text}")
    return BackupPlan(Path(folder), hours, int(keep))


def _edit_mode(environment: Mapping[str, str]) -> EditMode:
    value = environment.get("CREW_EDIT") or "0"
    if value not in EDIT_MODES:
        raise SettingsError(f"CREW_EDIT is {value!r}; write 1, or all, or leave it out")
    return EDIT_MODES[value]


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


def _proxies(text: str | None) -> tuple[str, ...]:
    proxies = sorted(_list(text))
    for proxy in proxies:
        try:
            ip_network(proxy)
        except ValueError:
            raise SettingsError(
                f"CREW_TRUSTED_PROXIES: {proxy!r} is no address or network; "
                "write 10.0.0.7 or 10.0.0.0/24"
            ) from None
    return tuple(proxies)


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


def log_format(environment: Mapping[str, str], *, terminal: bool) -> Literal["text", "json"]:
    """Read `CREW_LOG_FORMAT`, which is text on a terminal unless set; raises SettingsError."""
    default = "text" if terminal else "json"
    text = environment.get("CREW_LOG_FORMAT") or default
    if text == "text":
        return "text"
    if text == "json":
        return "json"
    raise SettingsError(f"CREW_LOG_FORMAT is {text!r}; write text or json")


def log_level(environment: Mapping[str, str], default: str) -> str:
    """Read `CREW_LOG_LEVEL`; raises SettingsError."""
    text = environment.get("CREW_LOG_LEVEL") or default
    if text not in LOG_LEVELS:
        raise SettingsError(f"CREW_LOG_LEVEL is {text!r}; write {', '.join(LOG_LEVELS)}")
    return text
