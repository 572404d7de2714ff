"""The span of a call goes out with it, whatever kind of tool it is; without a trace nothing does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_tools import HOME
from tests.support.made_tools import CALLER, MadeTool, tool_of, tools_of
from tests.support.mcp_servers import raw_server as mcp_server
from tests.support.raw_server import answer, raw_server
from tools.tracing import TraceContext, derive_tool_span_id

TRACE = TraceContext("0af7651916cd43dd8448eb211c80319c", "", 1)
# of the first call of `CALLER`
HEADER = TRACE.at(derive_tool_span_id("run1-call1")).header
PYTHON = '''
from tools import ToolContext

def show(context: ToolContext) -> str:
    """Show the span."""
    return context.traceparent
'''


async def both(tool: MadeTool) -> list[str]:
    """The output of the first call of a traced run, and of one of a run that is not."""
    said = []
    for trace in (TRACE, None):
        tool.caller = replace(CALLER, trace=trace)
        result = await tool()
        assert result.status == "success", result.output
        said.append(result.output.strip())
    return said


async def test_http():
    """As a header, unless the entry has one of its own."""
    async with raw_server(answer("ok", Content_Type="text/plain")) as server:
        async with tool_of("http", url=server.url, **HOME) as tool:
            await both(tool)
        own = {"traceparent": "00-mine"}
        async with tool_of("http", url=server.url, headers=own, **HOME) as tool:
            await both(tool)
    heads = [head.lower() for head in server.heads()]
    assert [f"traceparent: {HEADER}" in head for head in heads] == [True, False, False, False]
    assert ["traceparent: " in head for head in heads] == [True, False, True, True]


async def test_a_command(tmp_path: Path):
    """As a variable, unless the entry has one of its own."""
    argv = ["/bin/sh", "-c", 'printf %s "$TRACEPARENT"']
    async with tool_of("command", tmp_path, description="d", argv=argv) as tool:
        assert await both(tool) == [HEADER, ""]
    mine = {"TRACEPARENT": "mine"}
    async with tool_of("command", tmp_path, description="d", argv=argv, env=mine) as tool:
        assert await both(tool) == ["mine", "mine"]


async def test_mcp(tmp_path: Path):
    """In the request's `_meta`."""
    code = "def called(request):\n    text(request, str(request['params'].get('_meta', {}).get('traceparent')))"
    async with tools_of(**mcp_server(tmp_path, code), folder=tmp_path) as tools:
        assert await both(tools["T_t"]) == [HEADER, "None"]


@pytest.mark.parametrize("more", [{}, {"isolate": "process"}], ids=["here", "isolated"])
async def test_python(more: dict[str, Any], tmp_path: Path):
    """In what a function is told of its call."""
    (tmp_path / "acts.py").write_text(PYTHON)
    async with tool_of("python", tmp_path, function="acts.py:show", **more) as tool:
        assert await both(tool) == [HEADER, ""]
