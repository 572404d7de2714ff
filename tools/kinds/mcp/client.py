"""One connection to an MCP server, by the official SDK."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import httpx2
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    PARSE_ERROR,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    RequestParamsMeta,
    Tool,
)
from pydantic import ValidationError

from tools.context import ToolContext
from tools.errors import PermanentError
from tools.forms import FormReply
from tools.kinds.mcp.definitions import MAX_PAGES, MAX_TOOLS, Definition, SessionEndedError
from tools.kinds.mcp.forms import forms_needed, reply_again, responses_of
from tools.kinds.mcp.plan import Address, ServerPlan
from tools.kinds.mcp.results import result_text
from tools.kinds.mcp.stdio import program
from tools.kinds.mcp.transport import (
    NOT_REACHED,
    REFUSED,
    SESSION_GONE,
    UNKNOWN_SESSION,
    AddressTransport,
    is_about_session,
)

# as the SDKs of servers have it; other errors have this number, too
SESSION_NOT_FOUND = -32001
# what the SDK logs with tracebacks is in the results of calls, and in the state of the server
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("client").setLevel(logging.CRITICAL)

# the SDK names its older era so
OLDER = "2025-11-25"
MODES = {OLDER: "legacy"}
# of one call that only wants to be made again
MAX_ROUNDS = 10


class ServerError(Exception):
    """A server cannot be used: it does not start, or breaks the protocol."""

    def __init__(self, text: str, *, may_be_older: bool = False) -> None:
        """`may_be_older`: it may know the older protocol alone."""
        super().__init__(text)
        self.may_be_older = may_be_older


class _Asking:
    """What a server of the older era asks in the middle of a call, where no person can answer."""

    def __init__(self) -> None:
        # of the calls under way
        self.contexts: set[ToolContext] = set()

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        """Decline, with a warning."""
        for call in self.contexts:
            text = f"the MCP server asked its user, and was told no: {params.message}"
            call.warn("elicitation_declined", text)
        return ElicitResult(action="decline")


class Link:
    """A connection that is up."""

    def __init__(
        self, plan: ServerPlan, client: Client, asking: "_Asking", definitions: list[Definition]
    ) -> None:
        self._plan, self._client, self._asking = plan, client, asking
        self.definitions = {one.name: one for one in definitions}

    async def list_tools(self) -> list[Definition]:
        """List the tools as they are now.

        Raises:
            ConnectionError: they cannot be listed.
        """
        try:
            found = await list_tools(self._client)
        except (MCPError, ServerError, ValidationError) as error:
            raise ConnectionError(str(_failure(error, []))) from error
        self.definitions = {one.name: one for one in found}
        return found

    async def call(self, tool: str, arguments: dict[str, Any], context: ToolContext) -> str:
        """Call a tool.

        Raises:
            ConnectionError: there is no readable answer.
            SessionEndedError: the server does not know the connection any more.
            PermanentError: the tool failed, or asks for something that is not offered.
            FormsNeeded: it asks a person first.
        """
        self._asking.contexts.add(context)
        try:
            return await self._call(tool, arguments, context)
        finally:
            self._asking.contexts.discard(context)

    async def _call(self, tool: str, arguments: dict[str, Any], context: ToolContext) -> str:
        reply, forgotten = context.reply, None
        state = reply.state if reply is not None else None
        for _ in range(MAX_ROUNDS):
            try:
                result = await self._request(tool, arguments, context, reply, state)
            except MCPError as error:
                if error.code == INVALID_PARAMS and reply is not None and forgotten is None:
                    # it does not know any more what it asked, and asks again
                    forgotten, reply, state = reply, None, None
                    continue
                raise _translated(error, context) from error
            if isinstance(result, CallToolResult):
                return result_text(result, self._plan.max_result_bytes)
            # without questions it only wants to be called again
            reply, state = None, result.request_state
            if result.input_requests:
                needed = forms_needed(result)
                reply = reply_again(needed, forgotten)
                if reply is None:
                    raise needed
                # once: a second time it is not content with the answers
                forgotten = FormReply((), None)
        raise PermanentError(f"the tool wants to be called again more than {MAX_ROUNDS} times")

    async def _request(
        self,
        tool: str,
        arguments: dict[str, Any],
        context: ToolContext,
        reply: FormReply | None,
        state: str | None,
    ) -> CallToolResult | InputRequiredResult:

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            context.progress(progress, total, message or "")

        # from here on it may have acted
        context.note(sent=True)
        try:
            return await self._client.session.call_tool(
                tool,
                arguments,
                progress_callback=tell,
                input_responses=responses_of(reply),
                request_state=state,
                allow_input_required=True,
                meta=_meta(context),
            )
        except ValidationError as error:
            text = "the answer breaks the protocol"
            raise ConnectionError(f"{text}: {error.errors()[0]['msg']}") from error
        except RuntimeError as error:
            # the SDK's, for structured content that breaks the tool's own schema
            raise PermanentError(str(error).partition("\n")[0]) from error


def _meta(context: ToolContext) -> RequestParamsMeta | None:
    """Return what a request has beside its arguments: the span that it is part of."""
    if not context.traceparent:
        return None
    return cast(RequestParamsMeta, {"traceparent": context.traceparent})


def _translated(error: MCPError, context: ToolContext) -> Exception:
    """Return an error of the protocol as the executor takes it."""
    if error.code in (NOT_REACHED, SESSION_GONE):
        context.note(sent=bool((error.data or {}).get("sent")))
        known = ConnectionError if error.code == NOT_REACHED else SessionEndedError
        return known(error.message)
    if error.code == SESSION_NOT_FOUND and is_about_session(error.message):
        context.note(sent=False)
        return SessionEndedError(UNKNOWN_SESSION)
    if error.code == REFUSED:
        context.note(sent=bool((error.data or {}).get("sent")))
    if error.code in (CONNECTION_CLOSED, PARSE_ERROR):
        return ConnectionError(error.message)
    return PermanentError(error.message)


@asynccontextmanager
async def connected(plan: ServerPlan, on_end: Callable[[str], None]) -> AsyncIterator[Link]:
    """Connect, and list the tools; to be left by the task that entered it.

    A server that does not answer the first request of today's protocol, or ends at it, is tried
    by the older one.

    Args:
        plan: the server.
        on_end: called when the server ends by itself, with the reason.

    Raises:
        ServerError: it cannot be used.
    """
    is_linked = False

    def tell_end(reason: str) -> None:
        if is_linked:
            on_end(reason)

    try:
        async with _connected(plan, tell_end) as link:
            is_linked = True
            yield link
            return
    except ServerError as error:
        if is_linked or not error.may_be_older or plan.protocol != "auto":
            raise
        first = error
    try:
        async with _connected(replace(plan, protocol=OLDER), tell_end) as link:
            is_linked = True
            yield link
    except ServerError as error:
        if is_linked:
            raise
        raise first from error


@asynccontextmanager
async def _connected(plan: ServerPlan, on_end: Callable[[str], None]) -> AsyncIterator[Link]:
    """Connect by the protocol of a plan; see `connected`."""
    ended: list[str] = []
    asking = _Asking()

    def tell_end(reason: str) -> None:
        ended.append(reason)
        on_end(reason)

    failure: ServerError | None = None
    try:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(plan.startup_seconds):
                    made = _client(plan, tell_end, asking, stack)
                    client = await stack.enter_async_context(made)
                    definitions = await list_tools(client)
            except TimeoutError:
                text = f"it has not listed its tools within {plan.startup_seconds:g} s"
                failure = ServerError(text, may_be_older=True)
            except Exception as error:  # noqa: BLE001 # raised below, outside the SDK's tasks
                failure = _failure(error, ended)
            else:
                yield Link(plan, client, asking, definitions)
    except ExceptionGroup as group:
        # of the SDK's tasks, when the connection breaks
        failure = _failure(group, ended)
    if failure is not None:
        raise failure


def _failure(error: Exception, ended: list[str]) -> ServerError:
    """Return why a server cannot be used: what it said at its end counts most."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    # what the SDK itself finds wrong is said by it; the end is then of our own closing
    is_ours = isinstance(error, RuntimeError)
    said = "" if is_ours else next((reason for reason in ended if reason), "")
    if isinstance(error, ServerError) and not said:
        return error
    if isinstance(error, ValidationError) and not said:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = f"its answer breaks the protocol: {where}: {first['msg']}"
    text = said or " ".join(str(error).split())[:500] or type(error).__name__
    failure = ServerError(text, may_be_older=bool(said) and bool(ended))
    failure.__cause__ = error
    return failure


def _client(
    plan: ServerPlan, on_end: Callable[[str], None], asking: _Asking, stack: AsyncExitStack
) -> Client:
    reached = plan.reached
    transport: Any
    if isinstance(reached, Address):
        http = httpx2.AsyncClient(
            transport=AddressTransport(reached, plan.max_result_bytes * 2),
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
    return Client(transport, mode=mode, client_info=info, cache=None, elicitation_callback=asking)


async def list_tools(client: Client) -> list[Definition]:
    """List all tools of a server.

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
        # some say so by an empty text
        if not cursor:
            return list(found.values())
    raise ServerError(f"it lists its tools in more than {MAX_PAGES} pages")


def _definition(tool: Tool) -> Definition:
    notes = tool.annotations
    annotations = {} if notes is None else notes.model_dump(by_alias=True, exclude_none=True)
    return Definition(tool.name, tool.description or "", dict(tool.input_schema), annotations)
