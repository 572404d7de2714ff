"""An entry of tools.yaml and arguments -> a request, to its last byte; pure."""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from tools.config.http import SAFE_METHODS, HttpTool
from tools.errors import ArgumentsError, DefinitionCode, ToolDefinitionError
from tools.kinds.http.addresses import port_of
from tools.kinds.http.places import (
    ABSENT,
    in_header,
    in_json,
    in_path,
    pairs,
    require_segments,
)
from tools.schemas.places import (
    ESCAPED,
    PLACE,
    PLACE_OR_ESCAPED,
    Arguments,
    Template,
    names_in,
    require_scalars,
    texts_in,
)

# RFC 3986, 3.3 and 3.4
URL_TEXT = re.compile(r"(%[0-9A-Fa-f]{2}|[A-Za-z0-9._~!$&'()*+,;=:@/?-])*")
HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
FORM_TYPE = "application/x-www-form-urlencoded"
JSON_TYPE = "application/json"
# these are the client's: what frames a message, and where it goes
OWN_HEADERS = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "accept-encoding"),
        *("te", "trailer", "upgrade", "expect", "cookie2", "proxy-authorization"),
    }
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


class RequestPlan:
    """How the requests of a tool are made."""

    def __init__(self, config: HttpTool) -> None:
        """Of an entry.

        Raises:
            ToolDefinitionError: its URL is none, or a place is where none can be.
        """
        self.entry = config
        self.target = parse_url(config.url)
        for name in config.headers:
            if name.lower() in OWN_HEADERS:
                text = f"the header {name} is set by the client"
                raise ToolDefinitionError(text, "headers", "bad-value")
        if config.method in SAFE_METHODS and (config.body is not None or config.form is not None):
            key = "form" if config.body is None else "body"
            raise ToolDefinitionError(f"a {config.method} request has no {key}", key, "bad-value")
        if config.body is not None and config.form is not None:
            raise ToolDefinitionError("give body or form, not both", "form", "bad-value")

    @property
    def origin(self) -> str:
        """The host and port, as people write them."""
        return self.target.netloc

    @property
    def port(self) -> int:
        """The URL's."""
        return port_of(self.target)

    @property
    def places(self) -> list[str]:
        """The arguments that have a place."""
        config = self.entry
        headers = list(config.headers.values())
        return names_in(config.url, headers, config.query, config.body, config.form)

    def require_sendable(self, parameters: dict[str, Any]) -> None:
        """Refuse arguments that are lists or objects where only a text can stand.

        Raises:
            ToolDefinitionError: one can never be sent.
        """
        for key, text in (("url", self.target.path), *self.entry.headers.items()):
            where = "url" if key == "url" else f"the header {key}"
            require_scalars(names_in(text), parameters, where)
        for text in texts_in([self.entry.query, self.entry.body, self.entry.form]):
            if PLACE.fullmatch(text) is None:
                require_scalars(names_in(text), parameters, "a text")

    def build(self, arguments: Arguments, key: str, traceparent: str = "") -> Request:
        """Build the request of one call.

        Args:
            arguments: checked against the tool's schema.
            key: of the call, for methods that act.
            traceparent: of the call; "" for none.

        Raises:
            ArgumentsError: an argument cannot stand in its place.
        """
        config = self.entry
        headers = {"Accept": "application/json, text/*;q=0.9, */*;q=0.5"}
        for name, value in config.headers.items():
            template = Template(value)
            if template.is_filled(arguments):
                headers[name] = template.fill(arguments, in_header)
        given = {name.lower() for name in headers}
        if config.method not in SAFE_METHODS and "idempotency-key" not in given:
            headers["Idempotency-Key"] = key
        if traceparent and "traceparent" not in given:
            headers["traceparent"] = traceparent
        body = self._body(arguments)
        if body is not None and "content-type" not in given:
            headers["Content-Type"] = JSON_TYPE if config.form is None else FORM_TYPE
        return Request(config.method, self._url(arguments), headers, body)

    def show(self, arguments: Arguments) -> str:
        """Return method and URL of a call, for a person.

        Raises ArgumentsError if it cannot be sent.
        """
        request = self.build(arguments, "")
        return f"{request.method} {request.url}"

    def _url(self, arguments: Arguments) -> str:
        path = Template(self.target.path).fill(arguments, in_path, quote)
        require_segments(path)
        query = [f"{key}={value}" for key, value in pairs(self.entry.query, arguments)]
        if self.target.query:
            query.insert(0, Template(self.target.query).fill({}, in_path, quote))
        return f"{self.target.scheme}://{self.target.netloc}{path or '/'}" + (
            f"?{'&'.join(query)}" if query else ""
        )

    def _body(self, arguments: Arguments) -> bytes | None:
        config = self.entry
        if config.form is not None:
            filled = pairs(config.form, arguments)
            return "&".join(f"{key}={value}" for key, value in filled).encode()
        if config.body is None:
            return None
        body = in_json(config.body, arguments)
        if body is ABSENT:
            return None
        try:
            return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        except ValueError as error:
            raise ArgumentsError(f"the body has no JSON form: {error}") from None


def parse_url(url: str) -> SplitResult:
    """Parse the parts of a URL with places.

    Raises:
        ToolDefinitionError: it is none, or has a place before its path.
    """
    try:
        target = urlsplit(url)
        port = target.port
    except ValueError as error:
        raise _wrong_url(f"{url} is no URL: {error}") from None
    if target.scheme not in ("http", "https"):
        raise _wrong_url("a URL begins with http:// or https://, without an argument")
    if PLACE.search(target.netloc):
        raise _wrong_url("an argument cannot stand in the host or port of a URL")
    if "@" in target.netloc:
        raise _wrong_url("a URL holds no user; write an Authorization header")
    host = target.netloc.removesuffix(f":{port}")
    if not host:
        raise _wrong_url(f"there is no host; a URL begins with {target.scheme}://HOST/")
    if HOST.fullmatch(host) is None or port == 0:
        raise _wrong_url(f"{target.netloc!r} is no host; write another alphabet in its xn-- form")
    if target.fragment or "#" in url:
        raise _wrong_url("a URL has no fragment here: no server gets it")
    if PLACE.search(target.query):
        raise _wrong_url("write arguments of the query under query, not in the URL", "bad-value")
    for part in (PLACE_OR_ESCAPED.sub("", target.path), ESCAPED.sub("", target.query)):
        if URL_TEXT.fullmatch(part) is None:
            raise _wrong_url("the URL has a character that must be percent-encoded", "bad-value")
    require_literal_path(target.path)
    return target


def require_literal_path(path: str) -> None:
    """Check the segments that the operator wrote; raises ToolDefinitionError."""
    if any(part in (".", "..") for part in path.split("/")):
        raise _wrong_url("the path has a '.' or '..' segment", "bad-value")


def _wrong_url(message: str, code: DefinitionCode = "url-host") -> ToolDefinitionError:
    return ToolDefinitionError(message, "url", code)
