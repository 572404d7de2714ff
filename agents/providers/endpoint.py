"""Where a provider's models are, and how they are asked: in the configuration, and live."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, SecretStr

from tools.config import Shape

TIMEOUT_SECONDS = 120.0
MAX_RETRIES = 2


class ProviderConfig(Shape):
    """An OpenAI-compatible endpoint. `${NAME}` and `${NAME:-default}` are read from the environment."""

    base_url: str | None = None
    """Up to and with `/v1`; needed unless the provider is a built-in one."""
    api_key: SecretStr | None = None
    """Sent as a bearer token."""
    headers: dict[str, SecretStr] = {}
    """Sent with each request."""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = TIMEOUT_SECONDS
    """Of one request."""
    max_retries: Annotated[int, Field(ge=0, le=20)] = MAX_RETRIES
    """After a 429, a 5xx, a lost connection, a cut or unreadable answer."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider's models are, and how they are asked."""

    provider: str
    base_url: str
    api_key: str
    headers: tuple[tuple[str, str], ...]
    timeout_seconds: float
    max_retries: int
