"""A request to an HTTP API as a tool."""

import ipaddress
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from tools.config.common import OneTool
from tools.schemas.json_pointer import POINTER
from tools.schemas.yaml_shape import JsonObject, Shape, form_of, resolve

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# RFC 9110, 9.2.1; the others get a key by which a server may know the same call again
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# RFC 9110, 5.1
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")]
HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
Status = Annotated[int, Field(ge=100, le=599)]


def _require_network(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no network such as 10.1.0.0/16: {error}") from None
    return text


def _require_host(text: str) -> str:
    name = text.strip("[]") if ":" in text else text
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        if HOST.fullmatch(text) is None:
            shown = "write the name alone, as DNS has it, without scheme, port and path"
            raise ValueError(f"{text!r} is no name of a host: {shown}") from None
    return text.lower()


Network = Annotated[str, AfterValidator(_require_network)]


class Expected(Shape):
    """Which answers are good, and what of them is handed back."""

    status: Annotated[list[Status], Field(min_length=1)] | None = None
    """The good ones; 200 to 299 unless given."""
    pointer: Annotated[str, Field(pattern=f"^{POINTER}$")] | None = None
    """The part of a JSON answer that is handed back (RFC 6901), such as `/data/0/name`."""


class Reached(Shape):
    """Which addresses may be connected to."""

    allow_private: Annotated[
        Annotated[list[Network], Tag("list")] | Annotated[bool, Tag("scalar")],
        Discriminator(form_of),
    ] = False
    """Private addresses are refused; `true` allows all, a list of networks those."""


class HttpTool(OneTool, Reached):
    """A request to an HTTP API.

    Its effect is `read` for GET, HEAD and OPTIONS, else `once`, unless given.
    """

    synonyms: ClassVar[dict[str, str]] = {
        "uri": "url",
        "endpoint": "url",
        "json": "body",
        "data": "body",
        "params": "query",
        "query_params": "query",
        "verb": "method",
    }

    breaks: ClassVar[bool] = True
    gives_untrusted: ClassVar[bool] = True

    kind: Literal["http"]
    """What runs the tool."""
    method: Method = "GET"
    """Of the request."""
    url: Annotated[str, Field(min_length=1, max_length=8000)]
    """With `{argument}` in its path."""
    headers: dict[HeaderName, str] = {}
    """With `{argument}` in their values."""
    query: dict[str, Annotated[Any, BeforeValidator(resolve)]] = {}
    """Of the URL, with `{argument}` in its values; a list repeats its key."""
    body: Annotated[Any, BeforeValidator(resolve)] = None
    """JSON, with `{argument}` in its texts; where that is a whole text, its type is kept."""
    form: JsonObject | None = None
    """A form in place of a body, with `{argument}` in its values."""
    expect: Expected = Expected()
    """Which answers are good."""
    retry_status: list[Status] = [429, 502, 503, 504]
    """Answers after which another attempt is worth making."""
    redirects: list[Annotated[str, AfterValidator(_require_host)]] = []
    """Hosts that may be redirected to; any other redirect is an error."""
    max_response_kb: Annotated[int, Field(ge=1, le=10_240)] = 1000
    """Longest answer, x 1,024 bytes."""
