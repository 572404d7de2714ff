"""The server of the official SDK, with the crew's tools."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from crew.crew import Crew
from server.protocols.mcp.calling import CrewAccess, CrewCall
from server.protocols.mcp.offered import offered_tools
from tools.tracing import TraceContext, incoming_traceparent

# since when a result may ask for more
ASKING_VERSION = "2026-07-28"
# of `_meta`, as other MCP clients say in which trace they call
TRACEPARENT = "traceparent"
Context = ServerRequestContext[Any]


def mcp_server(crew: Callable[[], Crew], access: Callable[[Context], CrewAccess]) -> Server[Any]:
    """Return the server of a crew.

    Args:
        crew: that is served now.
        access: of a request.
    """

    async def list_tools(
        context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=offered_tools(crew()))

    async def call_tool(
        context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        async def report(steps: int, text: str) -> None:
            await context.session.report_progress(steps, message=text)

        traceparent = (params.meta or {}).get(TRACEPARENT)
        if isinstance(traceparent, str) and TraceContext.parse(traceparent) is not None:
            # nearer to the call than the request's own
            incoming_traceparent.set(traceparent)
        wanted = ClientCapabilities(elicitation=ElicitationCapability())
        # since then a request that is closed is cancelled, too
        can_ask = context.protocol_version >= ASKING_VERSION
        elicits = can_ask and context.session.check_client_capability(wanted)
        call = CrewCall(access(context), report, elicits=elicits, cancels=can_ask)
        return await call.result(params)

    return Server(
        crew().name,
        version=version("crewline"),
        instructions=crew().config.description or None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
