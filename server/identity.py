"""Who a caller is by others' word: OIDC bearer tokens, and the header of a proxy."""

import asyncio
import importlib
import json
import logging
import re
import time
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from http.client import HTTPException
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers

from server.tokens import OWN_SCOPES, SCOPES, Caller, Token, digest_of, with_admin

log = logging.getLogger(__name__)

# asymmetric ones: a public key must never be taken for a shared secret
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
REQUIRED = ("exp", "iss", "aud", "sub")
# what an address, or what it answers, may raise
UNREADABLE = (OSError, HTTPException, ValueError, TypeError)
# that the clocks of two machines may differ
LEEWAY_SECONDS = 30
# how old known keys may be, and how soon an unknown one makes them be read again
KEYS_SECONDS = 600.0
AGAIN_SECONDS = 30.0
FETCH_SECONDS = 5.0
MAX_KEYS_BYTES = 1 << 20
# of a scope of ours among those of other services
PREFIX = "crew:"
NAME = re.compile(r"[A-Za-z0-9._@+-]{1,58}")


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The issuer of tokens that are taken."""

    issuer: str
    audience: str
    # the address, or the file, of the issuer's keys (a JWKS document)
    keys: str


class Oidc:
    """Checks bearer tokens that an issuer has signed (OpenID Connect, RFC 7519, RFC 8725)."""

    def __init__(self, settings: OidcSettings) -> None:
        """Read nothing yet; raises ModuleNotFoundError without `pyjwt`."""
        self.settings = settings
        self._jwt = importlib.import_module("jwt")
        self._keys: Mapping[str, Any] = {}
        # on the monotonic clock, when they were read
        self._read_at = -KEYS_SECONDS
        self._reading = asyncio.Lock()

    async def find(self, secret: str) -> Token | None:
        """Find who shows a token; None if it is none of the issuer's, for others, or over."""
        jwt = self._jwt
        try:
            header = jwt.get_unverified_header(secret)
        except jwt.PyJWTError:
            return None
        key = await self._key(str(header.get("kid", "")))
        if key is None:
            return None
        try:
            claims = jwt.decode(
                secret,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": list(REQUIRED)},
            )
        except (jwt.PyJWTError, TypeError, ValueError) as error:
            log.info("a token of %s is refused: %s", self.settings.issuer, error)
            return None
        expires = datetime.fromtimestamp(claims["exp"] + LEEWAY_SECONDS, UTC)
        name = name_of("oidc", claims["sub"])
        caller = Caller(name, name, scopes=_scopes(claims.get("scope") or claims.get("scp") or ()))
        return Token(digest_of(secret), caller, expires, makes_tickets=False)

    async def _key(self, key_id: str) -> Any:
        async with self._reading:
            age = time.monotonic() - self._read_at
            if age >= KEYS_SECONDS or (key_id not in self._keys and age >= AGAIN_SECONDS):
                self._read_at = time.monotonic()
                try:
                    text = await asyncio.to_thread(_read, self.settings.keys)
                    found = self._jwt.PyJWKSet.from_dict(json.loads(text)).keys
                    self._keys = {key.key_id or "": key for key in found}
                except (*UNREADABLE, self._jwt.PyJWTError) as error:
                    # with the keys as they were
                    log.error("the keys of %s cannot be read: %s", self.settings.issuer, error)
        return self._keys.get(key_id)


class Proxies:
    """The addresses and networks of proxies that are believed."""

    def __init__(self, given: Iterable[str]) -> None:
        self._networks = [ip_network(one) for one in given]

    def __contains__(self, address: str) -> bool:
        if not self._networks:
            return False
        try:
            found = ip_address(address)
        except ValueError:
            # of a socket that has none
            return False
        return any(found in network for network in self._networks)


@dataclass(frozen=True, slots=True)
class IdentityHeader:
    """A header in which a proxy names the user it has let in; of no other client."""

    # in lower case
    header: str
    proxies: Proxies
    admins: frozenset[str] = field(default=frozenset())

    def caller(self, headers: Headers, peer: str) -> Caller | None:
        """Return who calls; None if no proxy of ours says it.

        Args:
            headers: of the request.
            peer: the address of the other end of the connection.
        """
        # a second one is what a client has sent through the proxy
        values = headers.getlist(self.header)
        if len(values) != 1 or not values[0] or peer not in self.proxies:
            return None
        given = values[0]
        scopes = SCOPES if given in self.admins else OWN_SCOPES
        name = name_of("user", given)
        return Caller(name, name, scopes=frozenset(scopes))


def name_of(kind: str, given: str) -> str:
    """Return an owner that no token's name can be: `kind:name`, or a part of its hash."""
    if NAME.fullmatch(given):
        return f"{kind}/{given}"
    return f"{kind}/{sha256(given.encode()).hexdigest()[:32]}"


def _scopes(given: Any) -> frozenset[Any]:
    words = given.split() if isinstance(given, str) else given
    named = {str(word) for word in words} if isinstance(words, list | tuple) else set()
    return with_admin([scope for scope in SCOPES if PREFIX + scope in named])


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys come from the address that was configured, and from no other."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none: the answer itself is the error."""


def _read(place: str) -> str:
    if not place.startswith(("https://", "http://")):
        return Path(place).read_text(encoding="utf-8")
    opener = urllib.request.build_opener(_NoRedirects)
    with opener.open(place, timeout=FETCH_SECONDS) as answer:
        content: bytes = answer.read(MAX_KEYS_BYTES)
    return content.decode()
