"""Where a provider's models are, and how they are asked: in the configuration, and live."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from tools.config.common import BreakerSetting, LimitsConfig
from tools.secrets import SECRET_HEADER, Secrets
from tools.yaml_shape import Shape

TIMEOUT_SECONDS = 120.0
MAX_RETRIES = 2


def _check_address(value: str) -> str:
    # the value is not repeated: it may come from the environment, with a password in it
    wrong = "expected an address such as https://gateway.example.com/v1"
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
    return value


def _check_sendable(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text.isascii() or not text.isprintable():
        raise ValueError(
            "expected a text that can be sent in an HTTP header: printable ASCII, on one line"
        )
    return value


Address = Annotated[str, AfterValidator(_check_address)]
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
HeaderValue = Annotated[SecretStr, AfterValidator(_check_sendable)]


class ProviderConfig(Shape):
    """An OpenAI-compatible endpoint.

    `${NAME}` and `${NAME:-default}` are read from the environment.
    """

    base_url: Address | None = None
    """Up to and with `/v1`; needed unless the provider is a built-in one."""
    api_key: HeaderValue | None = None
    """Sent as a bearer token."""
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


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider's models are, and how they are asked."""

    provider: str
    base_url: str
    api_key: str
    headers: tuple[tuple[str, str], ...]
    timeout_seconds: float
    max_retries: int

    def tell(self, secrets: Secrets) -> None:
        """What of it is a secret."""
        secrets.add(self.api_key)
        for name, value in self.headers:
            if SECRET_HEADER.search(name):
                secrets.add(value)
