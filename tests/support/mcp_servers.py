"""MCP servers of tests: a program by the official SDK, and one that says what it is told to."""

import sys
from pathlib import Path
from typing import Any

# a server as people write one
SDK_SERVER = '''
import asyncio, os, sys, time
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("test", log_level="ERROR")

class Sum(BaseModel):
    sum: int

@server.tool(description="Add two numbers.", annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> Sum:
    return Sum(sum=a + b)

@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)

@server.tool()
def pid() -> int:
    """The process."""
    return os.getpid()

@server.tool()
def environment() -> list[str]:
    """What it was given."""
    return sorted(os.environ)

@server.tool()
async def slow(file: str, context: Context) -> str:
    """Say that it has begun, and never end."""
    open(file, "a").write("begun\\n")
    await context.report_progress(1, 2, "half")
    await asyncio.sleep(600)
    return "never"

@server.tool()
def crash() -> str:
    """End the process."""
    os._exit(7)

@server.tool()
def long(size: int) -> str:
    """A long text."""
    return "x" * size
'''

# speaks JSON-RPC by hand: each line of `SAYS` answers one method, and may do anything first
RAW_SERVER = """
import json, os, subprocess, sys, time
PROTOCOL = "2025-11-25"
TOOL = {"name": "t", "description": "d", "inputSchema": {"type": "object"}}

def say(message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()

def result(request, **value):
    say({"jsonrpc": "2.0", "id": request["id"], "result": value})

def text(request, said="ok", **more):
    result(request, content=[{"type": "text", "text": said}], **more)

def listed(request):
    result(request, tools=[TOOL])

def called(request):
    text(request)

%s

for line in sys.stdin:
    request = json.loads(line)
    match request.get("method"):
        case "initialize":
            result(request, protocolVersion=PROTOCOL, capabilities={"tools": {}},
                   serverInfo={"name": "raw", "version": "1"})
        case "tools/list":
            listed(request)
        case "tools/call":
            called(request)
        case _ if "id" in request:
            say({"jsonrpc": "2.0", "id": request["id"],
                 "error": {"code": -32601, "message": "unknown"}})
"""


def sdk_server(folder: Path, **entry: Any) -> dict[str, Any]:
    """An entry whose server is written with the SDK."""
    (folder / "server.py").write_text(SDK_SERVER + "\nserver.run()\n")
    return {"kind": "mcp", "command": sys.executable, "args": [str(folder / "server.py")], **entry}


def raw_server(folder: Path, code: str = "", **entry: Any) -> dict[str, Any]:
    """An entry whose server does what the code says."""
    (folder / "raw.py").write_text(RAW_SERVER % code)
    return {"kind": "mcp", "command": sys.executable, "args": [str(folder / "raw.py")], **entry}
