"""Operations of an OpenAPI document as tools."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tools.config.common import SeveralTools
from tools.config.http import HeaderName, Reached
from tools.definition import Effect

DOCUMENT_ENDINGS = (".json", ".yaml", ".yml")
OperationName = Annotated[str, Field(min_length=1, max_length=500)]


class OpenApiTool(SeveralTools, Reached):
    """Operations of an OpenAPI document, each as an HTTP tool of its own.

    The effect of each is that of its method (`read` for GET, HEAD and OPTIONS, else `once`) unless
    given.
    """

    synonyms: ClassVar[dict[str, str]] = {
        "spec": "document",
        "schema": "document",
        "file": "document",
        "base_url": "server",
        "url": "server",
        "tools": "operations",
    }

    breaks: ClassVar[bool] = True
    gives_untrusted: ClassVar[bool] = True

    kind: Literal["openapi"]
    """What runs the tools."""
    document: Annotated[str, Field(pattern=r"^[^\\]+\.(json|ya?ml)$", max_length=500)]
    """A file of the crew's folder, OpenAPI 3.0 or 3.1, as JSON or YAML."""
    server: Annotated[str, Field(min_length=1, max_length=8000)]
    """The URL that the paths of the document are appended to; the servers that the document names
    are not used."""
    operations: Annotated[list[OperationName], Field(min_length=1, max_length=1000)]
    """The operations: an operationId each, or a method and path such as `GET /pets/{id}`."""
    headers: dict[HeaderName, str] = {}
    """Sent with every request, such as `Authorization`."""
    effects: dict[str, Effect] = {}
    """The effect of some operations, by the names in `operations`."""
