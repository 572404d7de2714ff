"""An MCP server on stdin and stdout, by hand: one tool that finds a step of the runbook.

One with the SDK is shorter; this one needs nothing to be installed.
"""

import json
import sys
from typing import Any

STEPS = {
    "slow host": "Restart it, after five minutes' notice.",
    "full disk": "Remove what is older than a week from /var/tmp.",
}
TOOL = {
    "name": "find_step",
    "description": "Find what the runbook says of a problem.",
    "inputSchema": {
        "type": "object",
        "properties": {"words": {"type": "string"}},
        "required": ["words"],
    },
    "annotations": {"readOnlyHint": True},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that is not known."""
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "runbook", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            words = str(params["arguments"]["words"]).lower()
            text = STEPS.get(words, f"Nothing; it knows of {', '.join(STEPS)}.")
            return {"content": [{"type": "text", "text": text}]}
        case _:
            return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    said: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        said["error"] = {"code": -32601, "message": "unknown"}
    else:
        said["result"] = result
    print(json.dumps(said), flush=True)
