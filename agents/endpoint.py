"""Where a provider's models are, and how they are called: in the configuration, and live."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import AfterValidator, Field, SecretStr

from agents.quirks import QuirksConfig
from tools.config.common import BreakerSetting, LimitsConfig
from tools.schemas.yaml_shape import Shape
from tools.text.secrets import SECRET_HEADER, Secrets

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_BASE, OPENAI_KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
# of requests and answers
DialectName = Literal["chat", "responses", "anthropic"]
TIMEOUT_SECONDS = 120.0
MAX_RETRIES = 2


# people paste the whole address of a request
REQUEST_PATHS = ("/chat/completions", "/completions", "/responses", "/messages")


def check_address(value: str) -> str:
    """Check an address; raises ValueError, without the value, which may have a password in it."""
    value = value.strip()
    wrong = "expected an address such as https://gateway.example.com/v1"
    if value and not SCHEME.match(value):
        raise ValueError(f"{wrong}; http:// or https:// is missing at its beginning")
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ValueError(wrong) from error
    if value and (not usable or not value.isprintable() or " " in value):
        raise ValueError(wrong)
    if parts.username is not None:
        # it would stand beside the key, of which a request can have one only
        raise ValueError(f"{wrong}; a user or password goes into api_key or headers")
    return _base_of(value)


def unquoted(value: str) -> str:
    """Return a value without white space and the quotes that `docker run --env-file` keeps."""
    text = value.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1].strip() if is_quoted else text


def openai_address(environment: Mapping[str, str]) -> str:
    """Return where provider openai is.

    Raises ValueError, which names the variable, for no address.
    """
    try:
        return check_address(unquoted(environment.get(OPENAI_BASE, ""))) or OPENAI_URL
    except ValueError as error:
        raise ValueError(f"the environment variable {OPENAI_BASE}: {error}") from None


def _base_of(value: str) -> str:
    """Return an address without the path of one kind of request, and without a slash at its end."""
    parts = urlsplit(value)
    path = parts.path.rstrip("/")
    for ending in REQUEST_PATHS:
        path = path.removesuffix(ending)
    return urlunsplit((parts.scheme, parts.netloc, path.rstrip("/"), parts.query, ""))


def _check_sendable(value: SecretStr) -> SecretStr:
    # a key that was read from a file has a line break at its end
    text = value.get_secret_value().strip()
    if not text.isascii() or not text.isprintable():
        raise ValueError(
            "expected a text that can be sent in an HTTP header: printable ASCII, on one line"
        )
    return SecretStr(text)


def _require_address(value: str) -> str:
    # the usual address would get what is meant for another one, such as its key
    if not value:
        raise ValueError("is empty, as with a variable that is not set: give it, or remove the key")
    return value


Address = Annotated[str, AfterValidator(check_address)]
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
HeaderValue = Annotated[SecretStr, AfterValidator(_check_sendable)]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A provider that need not be declared."""

    # "": it is given in another way
    url: str = ""
    # the environment variable that has its key; "": it needs none
    key: str = ""
    dialect: DialectName = "chat"


BUILTINS: Mapping[str, Builtin] = {
    "openai": Builtin(OPENAI_URL, OPENAI_KEY),
    "anthropic": Builtin("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "anthropic"),
    "google": Builtin("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "ollama": Builtin("http://localhost:11434/v1"),
    "scripted": Builtin(),
}


class ProviderConfig(Shape):
    """The endpoint of a provider.

    `${NAME}` and `${NAME:-default}` are read from the environment.
    """

    base_url: Annotated[Address, AfterValidator(_require_address)] | None = None
    """Up to and with `/v1`; needed unless the provider is a built-in one.

    A query (`?api-version=…`) goes with each request.
    """
    dialect: DialectName | None = None
    """The form of its requests and answers: `chat` (chat completions), `responses` (OpenAI's
    responses), `anthropic` (its messages); `chat` unless given, but for provider anthropic."""
    api_key: HeaderValue | None = None
    """Sent as a bearer token; of dialect `anthropic` as `x-api-key`."""
    headers: dict[HeaderName, HeaderValue] = {}
    """Sent with each request."""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = TIMEOUT_SECONDS
    """Of one request."""
    max_retries: Annotated[int, Field(ge=0, le=20)] = MAX_RETRIES
    """After a 429, a 5xx, a lost connection, a cut or unreadable answer."""
    limits: LimitsConfig | None = None
    """How many requests may be under way at the same time, and begin in a second; others wait, a
    minute at most."""
    breaker: BreakerSetting = None
    """When it is not asked, since it does not work: an agent with a backup asks that at once,
    another one waits. `false`: it is always asked. On unless given, but for `scripted`."""
    quirks: QuirksConfig | None = None
    """What it can do and refuses; found out unless given."""


def dialect_of(provider: str, given: ProviderConfig | None) -> DialectName:
    """Return the dialect of a provider, which may be declared."""
    if given is not None and given.dialect is not None:
        return given.dialect
    return BUILTINS[provider].dialect if provider in BUILTINS else "chat"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider's models are, and how they are called."""

    provider: str
    base_url: str
    api_key: str
    headers: tuple[tuple[str, str], ...]
    timeout_seconds: float
    max_retries: int
    # declared, as values of Quirks
    quirks: tuple[tuple[str, Any], ...] = ()
    dialect: DialectName = "chat"

    def url_of(self, path: str) -> str:
        """Return the address of a kind of request.

        Its path behind the endpoint's, with the query.
        """
        parts = urlsplit(self.base_url)
        path = parts.path.rstrip("/") + path
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

    @property
    def place(self) -> str:
        """As errors name it: without a password that may stand in the URL, and without a query."""
        url = urlsplit(self.base_url)
        port = f":{url.port}" if url.port else ""
        host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
        return f"{url.scheme}://{host}{port}{url.path}"

    @property
    def path_url(self) -> str:
        """The address without its query."""
        return urlunsplit(urlsplit(self.base_url)._replace(query=""))

    @property
    def query(self) -> dict[str, str]:
        """What goes with each request."""
        return dict(parse_qsl(urlsplit(self.base_url).query, keep_blank_values=True))

    def tell(self, secrets: Secrets) -> None:
        """Add what of it is a secret."""
        secrets.add(self.api_key)
        for name, value in self.headers:
            if SECRET_HEADER.search(name):
                secrets.add(value)
