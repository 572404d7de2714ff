"""Who may call, and what: tokens with names, scopes, owners and ends.

From the environment or a file.

A token is kept as its SHA-256: it is random, so that nothing slower is needed.
"""

import hashlib
import hmac
import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from crew.journal.query import DEFAULT_PRIORITY, MAX_PRIORITY
from server.owned_files import parse_file, replace_file

log = logging.getLogger(__name__)

Scope = Literal["read", "run", "answer", "hook", "act_as", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
# what a named token may do unless it says otherwise: its own runs, no others
OWN_SCOPES: frozenset[Scope] = frozenset({"read", "run", "answer"})
NAME = r"[A-Za-z0-9._-]{1,64}"
HEAD = re.compile(rf"({NAME})(?:@([0-9]))?((?:\+(?:{'|'.join(SCOPES)}))*)")
HEAD_HELP = (
    "TOKEN, NAME:TOKEN, NAME@PRIORITY:TOKEN or NAME+SCOPE+SCOPE:TOKEN; a name has 1 to 64 letters, "
    f"digits, dots, dashes or underscores, a priority is 0 to 9, a scope one of {', '.join(SCOPES)}"
)
MIN_CHARS = 16


class TokenError(Exception):
    """A token, or the file of tokens, cannot be used."""


@dataclass(frozen=True, slots=True)
class TicketPlace:
    """The runs that a ticket is for which may be shown more than once."""

    # the person; "" for none
    user_id: str
    # the conversation; "": all of that person
    conversation_id: str


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a caller may do who shows a ticket in place of a token."""

    # the run that it may follow; None: it may start one
    run_id: str | None
    # the key by which it starts one, once
    nonce: str
    # None: it is for one run, or one start
    place: TicketPlace | None = None
    # it stands in the address, where others may read it
    in_url: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request."""

    # whose runs it starts; "" for those without a name
    owner: str = ""
    # the token's own
    name: str = ""
    # its runs may have at most this priority
    max_priority: int = MAX_PRIORITY
    scopes: frozenset[Scope] = frozenset(SCOPES)
    ticket: Ticket | None = None

    @property
    def place(self) -> TicketPlace | None:
        """The runs of its ticket; None: it shows a token, or a ticket for one run."""
        return self.ticket.place if self.ticket is not None else None

    @property
    def user_id(self) -> str:
        """The person that it speaks for; "" for none."""
        return self.place.user_id if self.place is not None else self.owner

    @property
    def limited_as(self) -> str:
        """The name under which its requests and streams are counted.

        The pages of many people show tickets of one token.
        """
        if self.ticket is None or self.place is None:
            return self.name
        return f"{self.name}/{self.ticket.nonce}"

    def sees(self, owner: str) -> bool:
        """Return whether the runs of an owner are there for it."""
        return owner == self.owner or "admin" in self.scopes


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token."""

    digest: bytes
    caller: Caller
    expires: datetime | None = None
    # every replica knows it, and so the tickets that it signs
    makes_tickets: bool = True

    @property
    def id(self) -> str:
        """Names it without giving it away."""
        return hashlib.sha256(self.digest).hexdigest()[:16]

    @property
    def is_over(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= datetime.now(UTC)


def with_admin(scopes: Collection[Scope]) -> frozenset[Scope]:
    """Return what scopes come to: `admin` is all of them."""
    return frozenset(SCOPES if "admin" in scopes else scopes)


def digest_of(secret: str) -> bytes:
    """Return the digest under which a token is kept."""
    return hashlib.sha256(secret.encode()).digest()


def parse_token(entry: str) -> Token:
    """Parse a token as CREW_API_TOKENS has it; raises TokenError."""
    head, colon, secret = entry.rpartition(":")
    caller = Caller(max_priority=DEFAULT_PRIORITY)
    if colon:
        found = HEAD.fullmatch(head)
        if found is None:
            # it may be a part of a token, so it is not shown
            raise TokenError(f"one of them is no {HEAD_HELP}")
        priority = DEFAULT_PRIORITY if found[2] is None else int(found[2])
        named = frozenset(scope for scope in SCOPES if scope in found[3].split("+"))
        caller = Caller(found[1], found[1], priority, with_admin(named or OWN_SCOPES))
    if len(secret) < MIN_CHARS:
        raise TokenError(
            f"one of them has fewer than {MIN_CHARS} characters; "
            "`crew token new` or `openssl rand -hex 32` makes a good one"
        )
    return Token(digest_of(secret), caller)


class TokenEntry(BaseModel):
    """A token of the file."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=f"^{NAME}$")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    scopes: list[Scope] = sorted(OWN_SCOPES)
    owner: Annotated[str, Field(pattern=f"^{NAME}$")] | None = None
    priority: Annotated[int, Field(ge=0, le=MAX_PRIORITY)] = DEFAULT_PRIORITY
    expires: AwareDatetime | None = None

    def token(self) -> Token:
        """Return what is known of it."""
        caller = Caller(self.owner or self.name, self.name, self.priority, with_admin(self.scopes))
        return Token(bytes.fromhex(self.sha256), caller, self.expires)


class TokenFile(BaseModel):
    """`tokens:` and a list; written by `crew token`."""

    model_config = ConfigDict(extra="forbid")

    tokens: list[TokenEntry] = []

    @classmethod
    def read(cls, path: Path) -> "TokenFile":
        """Read a file; raises TokenError with what is wrong, and where."""
        try:
            file = parse_file(path, path.read_bytes(), cls)
        except OSError as error:
            raise TokenError(f"{path}: {error.strerror}") from None
        except ValueError as error:
            raise TokenError(str(error)) from None
        names = [entry.name for entry in file.tokens]
        for name in names:
            if names.count(name) > 1:
                raise TokenError(f"{path}: two tokens have the name {name!r}; give each its own")
        return file

    def write(self, path: Path) -> None:
        """Replace a file as a whole, for its owner only."""
        replace_file(path, self.model_dump(mode="json", exclude_none=True))


class Tokens:
    """The tokens of a server. A changed file counts from the next request on."""

    def __init__(
        self, given: Sequence[Token] = (), file: Path | None = None, *, others: bool = False
    ) -> None:
        """Read the file once; raises TokenError.

        Args:
            given: of the environment.
            file: has more, and may change.
            others: callers may be known in another way, so that none is let in without one.
        """
        self.given, self.file, self.others = tuple(given), file, others
        self._stamp = self._stamp_of_file()
        self._known = self._read()
        # of every caller, where none is needed; it signs the tickets then, also after a restart
        self.anonymous = Token(bytes(32), Caller())

    @property
    def are_needed(self) -> bool:
        """Whether clients must show one."""
        return bool(self.given) or self.file is not None or self.others

    def find(self, secret: str) -> Token | None:
        """Find what is known of a token that was shown.

        None if it is none of ours, or over.
        """
        digest = digest_of(secret)
        token = self._current().get(digest)
        if token is None or token.is_over or not hmac.compare_digest(token.digest, digest):
            return None
        return token

    def by_id(self, token_id: str) -> Token | None:
        """Return a token by its id; None if it is gone, or over."""
        known = self._current().values() if self.are_needed else (self.anonymous,)
        found = next((one for one in known if one.id == token_id), None)
        return None if found is None or found.is_over else found

    def _current(self) -> dict[bytes, Token]:
        stamp = self._stamp_of_file()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._known = self._read()
                log.info("%s: %d tokens", self.file, len(self._known) - len(self.given))
            except TokenError as error:
                log.error("the tokens stay as they were: %s", error)
        return self._known

    def _stamp_of_file(self) -> tuple[int, int] | None:
        if self.file is None:
            return None
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _read(self) -> dict[bytes, Token]:
        tokens = list(self.given)
        if self.file is not None:
            tokens += [entry.token() for entry in TokenFile.read(self.file).tokens]
        known = {token.digest: token for token in tokens}
        if len(known) < len(tokens):
            raise TokenError("two of them are the same token; give each its own")
        return known
