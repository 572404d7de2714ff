"""An MCP server that does not come up: it is told where operators look, and the rest goes on."""

import re
import subprocess
from pathlib import Path

from tests.support.commands import needs_linux
from tests.support.crews import write_crew
from tests.support.mcp_servers import raw_server
from tests.support.processes import BIN, client, serving, sse

pytestmark = needs_linux

# is there when it is asked for its tools, and never again
GONE = """
if os.path.exists('listed'):
    sys.exit('gone for good')
open('listed', 'a')
"""


def metric(text: str, name: str) -> float:
    found = re.search(rf'^{name}{{server="far"}} (\S+)$', text, re.MULTILINE)
    return float(found[1]) if found else -1.0


def test_a_server_that_is_down(tmp_path: Path):
    """After five failed starts: the call says so, the probe, the metrics, and a warning."""
    entry = raw_server(tmp_path, GONE, timeout_seconds=60, retries=0)
    rules = [{"after": "far_t", "say": "{{result.far_t}}"}, {"say": "", "calls": ["far_t"]}]
    write_crew(tmp_path, {"a": {"tools": ["far"]}}, rules, {"far": entry})
    subprocess.run([BIN / "crew", "tools", tmp_path, "--lock"], check=True, capture_output=True)
    with serving(tmp_path) as server, client(server) as http:
        assert http.get("/ready").json()["status"] == "ready"
        told = sse(http.post("/api/crew/stream", json={"query": "x"}).text)
        ready = http.get("/ready")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert ready.json()["mcp_down"] == ["far"]
        metrics = http.get("/metrics").text
        assert metric(metrics, "crew_mcp_up") == 0
        assert metric(metrics, "crew_mcp_restarts_total") == 4
    (result,) = [event for event in told if event["type"] == "tool_result"]
    assert "is not up since" in result["content"]
    assert "gone for good" in result["content"]
    warned = [event["metadata"]["code"] for event in told if event["type"] == "warning"]
    assert warned == ["mcp_down"]
