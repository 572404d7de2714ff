"""MCP servers that ask their user before a call goes on: over HTTP, in a browser, after a kill -9."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from tests.support.browser import NEEDS_CHROMIUM
from tests.support.commands import needs_linux
from tests.support.crews import write_crew
from tests.support.fleet import events
from tests.support.forked import crew
from tests.support.processes import BIN, client, serving

pytestmark = needs_linux

ASKING = '''
import sys
from typing import Annotated, Literal
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("desk", log_level="ERROR")

class Details(BaseModel):
    day: str
    seats: int = 1
    window: bool = False
    meal: Literal["rice", "noodles"] = "rice"

async def ask(city: str) -> Elicit[Details]:
    return Elicit(f"When in {city}?", Details)

@server.tool()
async def book(city: str, details: Annotated[Details, Resolve(ask)]) -> str:
    """Book a seat."""
    one = details
    return f"{one.seats} in {city} on {one.day}, {one.meal}, window {one.window}"

server.run()
'''
WRONG = """
from mcp.server.mcpserver import MCPServer
from mcp_types import InputRequiredResult

server = MCPServer("desk", log_level="ERROR")
PLAIN = {"type": "object", "properties": {}}

def form(**params):
    return {"q": {"method": "elicitation/create", "params": {"message": "m", **params}}}

def of(**field):
    return form(requestedSchema={"type": "object", "properties": {"x": field}})

ASKS = [
    {"q": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}},
    of(type="nothing"),
    of(type="object", properties={}),
    form(requestedSchema={"type": "object", "properties": {"x": True}}),
    of(**{"$ref": "http://a.example/"}),
    form(mode="url", url="file:///etc/passwd"),
    {f"q{n}": form(requestedSchema=PLAIN)["q"] for n in range(21)},
    form(message="m" * 70_000, requestedSchema=PLAIN),
    None,
]

@server.tool()
def book(n: int) -> InputRequiredResult:
    return InputRequiredResult.model_validate({"inputRequests": ASKS[n], "requestState": "s"})

server.run()
"""
RULES: list[dict[str, Any]] = [
    {"after": "desk_book", "say": "{{result.desk_book}}"},
    {"say": "", "calls": [{"tool": "desk_book", "arguments": {"city": "Hue"}}]},
]


def folder_of(folder: Path, **entry: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "desk.py").write_text(ASKING)
    desk = {"kind": "mcp", "command": sys.executable, "args": [str(folder / "desk.py")], **entry}
    return write_crew(folder, {"a": {"tools": ["desk"]}}, RULES, {"desk": desk})


def lock(folder: Path) -> None:
    subprocess.run([BIN / "crew", "tools", folder, "--lock"], check=True, capture_output=True)


def last_pause(http: Any, run_id: str) -> dict[str, Any]:
    found: dict[str, Any] = [e for e in events(http, run_id) if e["type"] == "pause"][-1]
    return dict(found["metadata"])


def test_another_process_goes_on(tmp_path: Path):
    """The server has forgotten what it asked with its process: the same form is not asked twice."""
    folder = folder_of(tmp_path)
    lock(folder)
    with serving(folder) as first, client(first) as http:
        run_id = http.post("/api/crew/run", json={"query": "go"}).json()["run_id"]
        pause = last_pause(http, run_id)
        assert (pause["question"], pause["form"]["message"]) == ("form", "When in Hue?")
        assert pause["calls"][0]["arguments"] == {"city": "Hue"}
        first.kill()
    with serving(folder) as second, client(second) as http:
        call_id = pause["calls"][0]["call_id"]
        filled = {"call_id": call_id, "decision": "approve", "arguments": {"day": "Monday"}}
        body = {"query": "so", "run_id": run_id, "decisions": [filled]}
        wrong = {**filled, "arguments": {"day": "Monday", "seats": "some"}}
        refused = http.post("/api/crew/run", json={**body, "decisions": [wrong]})
        assert (refused.status_code, "seats" in refused.json()["detail"]) == (400, True)
        # another question is
        desk = folder / "desk.py"
        desk.write_text(ASKING.replace("When in", "On which day in"))
        other = http.post("/api/crew/run", json=body).json()
        assert other["status"] == "paused"
        assert last_pause(http, run_id)["form"]["message"] == "On which day in Hue?"
        ended = http.post("/api/crew/run", json=body).json()
        assert ended["answer"] == "1 in Hue on Monday, rice, window False"


@NEEDS_CHROMIUM
def test_in_the_console(browser: Browser, tmp_path: Path):
    """A form with a field for each property; what must be filled in is asked for."""
    folder = folder_of(tmp_path)
    lock(folder)
    with serving(folder) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.fill("#query", "go")
        page.click("#send")
        form = page.locator(".talk .form")
        expect(form).to_contain_text("When in Hue?")
        expect(page.locator("[name=approve]")).to_have_text("send the form")
        page.click("[name=approve]")
        expect(page.locator(".talk")).not_to_contain_text("window")
        form.get_by_label("Day").fill("Monday")
        form.get_by_label("Seats").fill("3")
        form.get_by_label("Window").check()
        form.get_by_label("Meal").select_option("noodles")
        page.click("[name=approve]")
        expect(page.locator(".talk")).to_contain_text("3 in Hue on Monday, noodles, window True")


def test_on_the_command_line(tmp_path: Path):
    """The form is shown, and filled in by `--call`."""
    folder = folder_of(tmp_path)
    lock(folder)
    paused = crew("run", folder, "go")
    assert paused.returncode == 3
    for shown in ("When in Hue?", "- day (string) Day", "one of rice, noodles"):
        assert shown in paused.stdout
    run_id = json.loads(crew("runs", folder, "--json").stdout.splitlines()[0])["run_id"]
    no = crew("call", folder, "desk_book", "--arg", "city=Hue")
    assert (no.returncode, "the tool asks: When in Hue?" in no.stderr) == (1, True)
    filled = '=approve={"day": "Monday"}'
    # of another process of the server
    ended = crew("run", folder, "--answer", run_id, "--call", f"call_1_1{filled}")
    assert ended.returncode == 0, ended
    assert "1 in Hue on Monday" in ended.stdout


def test_a_server_of_the_older_era(tmp_path: Path):
    """Asks in the middle of a call, and is told no; people see it."""
    folder = folder_of(tmp_path, protocol="2025-11-25")
    lock(folder)
    with serving(folder) as server, client(server) as http:
        ended = http.post("/api/crew/run", json={"query": "go"}).json()
        assert ended["status"] == "completed"
        told = events(http, ended["run_id"])
    (warning,) = [e for e in told if e["type"] == "warning"]
    assert warning["metadata"]["code"] == "elicitation_declined"
    assert "When in Hue?" in warning["content"]


def test_what_is_asked_and_is_no_form(tmp_path: Path):
    """Is an error of the call: other requests, broken schemas, addresses that are no pages."""
    folder = folder_of(tmp_path, pin=False, retries=0, effect="read")
    (folder / "desk.py").write_text(WRONG)
    calls = [{"tool": "desk_book", "arguments": {"n": n}} for n in range(9)]
    rules = [{"turn": n + 1, "say": "", "calls": [call]} for n, call in enumerate(calls)]
    script = {"rules": [*rules, {"say": "done"}]}
    (folder / "script.yaml").write_text(json.dumps(script))
    with serving(folder) as server, client(server) as http:
        ended = http.post("/api/crew/run", json={"query": "go"}).json()
        assert (ended["status"], ended["answer"]) == ("completed", "done"), ended
        results = [
            e["metadata"] for e in events(http, ended["run_id"]) if e["type"] == "tool_result"
        ]
    said = (
        "sampling/createMessage",
        *["no form"] * 4,
        "no web page",
        "20",
        "bytes",
        "10 times",
    )
    assert [one["status"] for one in results] == ["error"] * 9
    for one, part in zip(results, said, strict=True):
        assert part in one["output"], one
