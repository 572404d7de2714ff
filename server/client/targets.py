"""Which server is meant, and the token for it."""

import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from server.client.errors import TargetError
from server.client.profiles import Profile, profiles_path, read_profiles
from server.variables import LOOPBACK

# of the environment
SERVER, PROFILE, TOKEN = "CREW_SERVER", "CREW_PROFILE", "CREW_TOKEN"
COMMAND_SECONDS = 30.0
MAX_TOKEN = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """A server that commands go to."""

    url: str
    # "" where none is shown
    token: str = field(repr=False)
    # of the profile; "" without one
    name: str = ""
    ca: str | None = None
    timeout_seconds: float = 30.0


def find_target(
    environment: Mapping[str, str], url: str | None = None, profile: str | None = None
) -> Target | None:
    """Find the server that a command goes to; None: none, so that it is local.

    Args:
        environment: of the process.
        url: as it was given.
        profile: the name of one, as it was given.

    Raises:
        TargetError
    """
    if url is not None and profile is not None:
        raise TargetError("give one of --server and --profile")
    if url is None and profile is None:
        url = environment.get(SERVER) or None
        profile = None if url is not None else environment.get(PROFILE) or None
    if url is not None:
        return _checked(Target(url.rstrip("/"), _token_in(environment)), "--server")
    return None if profile is None else named_target(environment, profile)


def named_target(environment: Mapping[str, str], name: str) -> Target:
    """Return the server of a profile; raises TargetError."""
    path = profiles_path(environment)
    known = read_profiles(path).profiles
    if name not in known:
        names = ", ".join(sorted(known)) or "none; crew profile add makes one"
        raise TargetError(f"there is no profile {name!r} in {path}; known: {names}")
    found = known[name]
    # that in the environment may be another server's
    token = _token_of(name, found, environment) or _token_in(environment)
    target = Target(found.url.rstrip("/"), token, name, found.ca, found.timeout_seconds)
    return _checked(target, f"profile {name}")


def _token_in(environment: Mapping[str, str]) -> str:
    # a file of variables with line ends of Windows leaves one of them
    return environment.get(TOKEN, "").rstrip("\r\n")


def _is_token(text: str) -> bool:
    """Return whether a header can have it."""
    return text.isascii() and text.isprintable()


def _checked(target: Target, where: str) -> Target:
    require_address(target.url, where)
    if not _is_token(target.token):
        # it is not shown
        raise TargetError(f"{where}: the token has a character that no token has")
    if target.ca is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=target.ca)
        except OSError as error:
            text = f"{where}: ca {target.ca} has no certificates: {error.strerror or error}"
            raise TargetError(text) from None
    return target


def require_address(url: str, where: str) -> None:
    """Raise TargetError for an address that must not be called; `where`: it was given."""
    try:
        parts = urlsplit(url)
        is_whole = url.isprintable() and parts.port != 0 and not set("?#") & set(url)
    except ValueError:
        raise TargetError(f"{where}: {url[:200]!r} is no address of a server") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TargetError(f"{where}: expected an address such as https://crew.example.com")
    if parts.username or parts.password or parts.query:
        # what stands in an address stands in logs and lists of processes
        raise TargetError(f"{where}: an address has no token in it; it is in {TOKEN}")
    if not is_whole:
        raise TargetError(f"{where}: an address ends with its path")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        text = f"insecure-server: {parts.hostname} would get the token in the clear; use https://"
        raise TargetError(f"{where}: {text}")


def _token_of(name: str, profile: Profile, environment: Mapping[str, str]) -> str:
    if profile.token_env is not None:
        if not (token := environment.get(profile.token_env, "").rstrip("\r\n")):
            raise TargetError(f"profile {name}: {profile.token_env} is not set")
        return token
    if profile.token_command is None:
        return ""
    where = f"profile {name}: token_command {profile.token_command[0]}"
    try:
        done = subprocess.run(
            profile.token_command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{where} has not ended within {COMMAND_SECONDS:g} s") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TargetError(f"{where} cannot be started: {reason}") from None
    if done.returncode:
        raise TargetError(f"{where} has ended with {done.returncode}")
    # what it prints is not shown: it may be the token
    lines = done.stdout[:MAX_TOKEN].decode(errors="replace").strip().splitlines()
    if len(lines) != 1 or not _is_token(lines[0]):
        raise TargetError(f"{where} must print one line: the token")
    return lines[0]
