"""One connection to an MCP server, by the official SDK."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    PARSE_ERROR,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import ValidationError

from tools.context import ToolContext
from tools.errors import PermanentError
from tools.kinds.mcp.definitions import MAX_PAGES, MAX_TOOLS, Definition, SessionEndedError
from tools.kinds.mcp.door import NOT_REACHED, SESSION_GONE, Door
from tools.kinds.mcp.plan import Address, ServerPlan
from tools.kinds.mcp.results import to_text
from tools.kinds.mcp.stdio import program

# what the SDK logs with tracebacks is in the results of calls, and in the state of the server
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("client").setLevel(logging.CRITICAL)

# the SDK names its older era so
MODES = {"2025-11-25": "legacy"}


class ServerError(Exception):
    """A server cannot be used: it does not start, or breaks the protocol."""


class Link:
    """A connection that is up."""

    def __init__(self, plan: ServerPlan, client: Client, definitions: list[Definition]) -> None:
        self._plan, self._client = plan, client
        self.definitions = {one.name: one for one in definitions}

    async def call(self, tool: str, arguments: dict[str, Any], context: ToolContext) -> str:
        """Call a tool.

        Raises:
            ConnectionError: there is no readable answer.
            SessionEndedError: the server does not know the connection any more.
            PermanentError: the tool failed, or asks for something that is not offered.
        """

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            context.progress(progress, total, message or "")

        # from here on it may have acted
        context.note(sent=True)
        try:
            result = await self._client.session.call_tool(
                tool, arguments, progress_callback=tell, allow_input_required=True
            )
        except MCPError as error:
            raise _translated(error, context) from error
        except ValidationError as error:
            text = "the answer breaks the protocol"
            raise ConnectionError(f"{text}: {error.errors()[0]['msg']}") from error
        except RuntimeError as error:
            # the SDK's, for structured content that breaks the tool's own schema
            raise PermanentError(str(error).partition("\n")[0]) from error
        if isinstance(result, InputRequiredResult):
            raise PermanentError("the tool asks its user a question, which is not offered here")
        assert isinstance(result, CallToolResult), "no extension is used"
        return to_text(result, self._plan.max_result_bytes)


def _translated(error: MCPError, context: ToolContext) -> Exception:
    """An error of the protocol as the executor takes it."""
    if error.code in (NOT_REACHED, SESSION_GONE):
        context.note(sent=bool((error.data or {}).get("sent")))
        known = ConnectionError if error.code == NOT_REACHED else SessionEndedError
        return known(error.message)
    if error.code in (CONNECTION_CLOSED, PARSE_ERROR):
        return ConnectionError(error.message)
    return PermanentError(error.message)


@asynccontextmanager
async def connected(plan: ServerPlan, on_end: Callable[[str], None]) -> AsyncIterator[Link]:
    """Connect, and list the tools; to be left by the task that entered it.

    Args:
        plan: the server.
        on_end: is told when the server ends by itself, and why.

    Raises:
        ServerError: it cannot be used.
    """
    ended: list[str] = []

    def tell_end(reason: str) -> None:
        ended.append(reason)
        on_end(reason)

    failure: ServerError | None = None
    try:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(plan.startup_seconds):
                    client = await stack.enter_async_context(_client(plan, tell_end, stack))
                    definitions = await list_tools(client)
            except TimeoutError:
                text = f"it has not listed its tools within {plan.startup_seconds:g} s"
                failure = ServerError(text)
            except Exception as error:  # noqa: BLE001 # raised below, outside the SDK's tasks
                failure = _failure(error, ended)
            else:
                yield Link(plan, client, definitions)
    except ExceptionGroup as group:
        # of the SDK's tasks, when the connection breaks
        failure = _failure(group, ended)
    if failure is not None:
        raise failure


def _failure(error: Exception, ended: list[str]) -> ServerError:
    """Why a server cannot be used: what it said at its end counts most."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    said = next((reason for reason in ended if reason), "")
    if isinstance(error, ServerError) and not said:
        return error
    if isinstance(error, ValidationError) and not said:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = f"its answer breaks the protocol: {where}: {first['msg']}"
    text = said or " ".join(str(error).split())[:500] or type(error).__name__
    failure = ServerError(text)
    failure.__cause__ = error
    return failure


def _client(plan: ServerPlan, on_end: Callable[[str], None], stack: AsyncExitStack) -> Client:
    reached = plan.reached
    transport: Any
    if isinstance(reached, Address):
        http = httpx2.AsyncClient(
            transport=Door(reached, plan.max_result_bytes * 2),
            headers=reached.headers,
            # the deadlines of calls count
            timeout=None,
            trust_env=False,
        )
        stack.push_async_callback(http.aclose)
        size = plan.max_result_bytes * 2
        transport = streamable_http_client(reached.url, http_client=http, max_sse_event_size=size)
    else:
        transport = program(reached, plan.max_line_bytes, on_end)
    mode = MODES.get(plan.protocol, plan.protocol)
    info = Implementation(name="crewline", version="1")
    return Client(transport, mode=mode, client_info=info, cache=None)


async def list_tools(client: Client) -> list[Definition]:
    """All tools of a server.

    Raises:
        ServerError: there are too many, or one twice.
    """
    found: dict[str, Definition] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for tool in page.tools:
            if tool.name in found:
                raise ServerError(f"it lists the tool {tool.name!r} twice")
            found[tool.name] = _definition(tool)
        if len(found) > MAX_TOOLS:
            raise ServerError(f"it lists more than {MAX_TOOLS} tools")
        cursor = page.next_cursor
        if cursor is None:
            return list(found.values())
    raise ServerError(f"it lists its tools in more than {MAX_PAGES} pages")


def _definition(tool: Tool) -> Definition:
    notes = tool.annotations
    annotations = {} if notes is None else notes.model_dump(by_alias=True, exclude_none=True)
    return Definition(tool.name, tool.description or "", dict(tool.input_schema), annotations)


def list_now(plan: ServerPlan) -> list[Definition]:
    """The tools of a server that is started for this, and ended.

    Raises:
        ServerError: it cannot be used.
    """

    async def listed() -> list[Definition]:
        async with connected(plan, lambda _reason: None) as link:
            return list(link.definitions.values())

    return asyncio.run(listed())
