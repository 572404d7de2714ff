"""The result of an MCP tool as text; pure."""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from tools.errors import PermanentError


def result_text(result: CallToolResult, max_bytes: int) -> str:
    """Return what the model reads: texts by lines, structured content where there are none.

    Raises:
        PermanentError: the tool failed, or its result is too large.
    """
    texts = list(_texts(result.content))
    if not texts and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(texts)
    if (size := len(text.encode(errors="surrogatepass"))) > max_bytes:
        limit = f"max_result_kb allows {max_bytes >> 10}"
        raise PermanentError(f"the result has {(size + 1023) >> 10} KB; {limit}")
    if result.is_error:
        raise PermanentError(text or "the tool failed, and does not say why")
    return text


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextContent(text=text):
                yield text
            case ImageContent() | AudioContent():
                yield f"[{block.mime_type}, {_kilobytes(block.data)}]"
            case ResourceLink():
                yield f"[{block.name}: {block.uri}]"
            case EmbeddedResource(resource=TextResourceContents(text=text)):
                yield text
            case EmbeddedResource(resource=resource):
                kind = resource.mime_type or "application/octet-stream"
                yield f"[{resource.uri}: {kind}, {_kilobytes(getattr(resource, 'blob', ''))}]"
            case _:
                yield f"[{getattr(block, 'type', 'something')}]"


def _kilobytes(data: str) -> str:
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        size = len(data)
    return f"{(size + 1023) >> 10} KB"
