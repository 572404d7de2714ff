"""The tools of MCP servers that are programs: results, ends, restarts."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from crew import load_crew
from tests.support.commands import PYTHON_FOLDERS, come, needs_linux, until_none_is_left
from tests.support.crews import write_crew
from tests.support.made_tools import tools_of
from tests.support.mcp_servers import raw_server, sdk_server
from tools.calls import CallProgressed, CallWarned
from tools.errors import ToolDefinitionError
from tools.kinds.mcp.servers import Servers

pytestmark = needs_linux


async def test_a_server_of_the_sdk(tmp_path: Path):
    """Structured results, errors, its environment, its size limits, its annotations."""
    os.environ["A_SECRET_OF_OURS"] = "x"
    entry = sdk_server(tmp_path, trust_annotations=True, tools={"pid": {"effect": "idempotent"}})
    async with tools_of(**entry, folder=tmp_path) as tools:
        assert {name: one.tool.effect for name, one in tools.items()} == {
            **dict.fromkeys(("T_fail", "T_environment", "T_slow", "T_crash", "T_long"), "once"),
            "T_add": "read",
            "T_pid": "idempotent",
        }
        assert json.loads((await tools["T_add"](a=1, b="2")).output) == {"sum": 3}
        refused = await tools["T_add"](a=1)
        assert (refused.status, refused.attempts) == ("error", 0)
        failed = await tools["T_fail"](why="no")
        assert (failed.status, failed.facts["sent"], failed.attempts) == ("error", True, 1)
        given = (await tools["T_environment"]()).output.splitlines()
        assert "A_SECRET_OF_OURS" not in given
        assert set(given) <= {
            *("CREW_CALL", "TMPDIR", "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TZ"),
            *("USER", "LC_CTYPE"),
        }
        large = await tools["T_long"](size=1_100_000)
        assert (large.status, "max_result_kb" in large.output) == ("error", True)
        assert len((await tools["T_long"](size=900_000)).output) < 70_000
    del os.environ["A_SECRET_OF_OURS"]
    await until_none_is_left()


async def test_a_crew_whose_servers_were_listed_is_closed(tmp_path: Path):
    """They were listed in an event loop of their own, which has ended with what was to come."""
    tools = {
        "m": sdk_server(tmp_path),
        "say": {"kind": "command", "argv": ["true"], "effect": "read"},
    }
    crew = load_crew(write_crew(tmp_path, {"a": {"tools": ["m_add", "say"]}}, tools=tools))
    await crew.aclose()
    await until_none_is_left()


async def test_a_server_that_ends_is_started_anew(tmp_path: Path):
    """Its call has a result that says why; the next one waits for the new process."""
    async with tools_of(**sdk_server(tmp_path), folder=tmp_path) as tools:
        first = (await tools["T_pid"]()).output
        ended = await tools["T_crash"]()
        assert (ended.status, ended.attempts, ended.facts["sent"]) == ("error", 1, True)
        assert "it ended with 7" in ended.output
        second = (await tools["T_pid"]()).output
        assert first != second
        psutil.Process(int(second)).kill()
        await come(lambda: not psutil.pid_exists(int(second)))
        third = await tools["T_pid"]()
        while third.status == "error":
            third = await tools["T_pid"]()
        assert third.output != second


async def test_a_call_that_is_not_waited_for(tmp_path: Path):
    """Is ended at its deadline, tells its progress before, and the server goes on."""
    entry = sdk_server(tmp_path, tools={"slow": {"timeout_seconds": 2}}, retries=0)
    async with tools_of(**entry, folder=tmp_path) as tools:
        before = (await tools["T_pid"]()).output
        late = await tools["T_slow"](file=str(tmp_path / "begun"))
        assert late.status == "timeout"
        progress = [e.progress for e in tools["T_slow"].events if isinstance(e, CallProgressed)]
        assert [(one.progress, one.total, one.message) for one in progress] == [(1, 2, "half")]
        assert (await tools["T_pid"]()).output == before


@pytest.mark.parametrize("method", ["progress", "message"])
async def test_a_flood_without_an_end(method: str, tmp_path: Path):
    """The call ends at its deadline, few of the messages are told, and the server can be closed."""
    params = {
        "progress": "{'progressToken': request['params']['_meta']['progressToken'], 'progress': n}",
        "message": "{'level': 'info', 'data': 'x' * 100}",
    }[method]
    flood = f"n = 0\n    while True:\n        n += 1\n        say({{'jsonrpc': '2.0', 'method': 'notifications/{method}', 'params': {params}}})"
    entry = raw_server(tmp_path, CALLED + flood, timeout_seconds=2, retries=0)
    async with asyncio.timeout(40):
        async with tools_of(**entry, folder=tmp_path) as tools:
            assert (await tools["T_t"]()).status == "timeout"
            told = [one for one in tools["T_t"].events if isinstance(one, CallProgressed)]
            assert len(told) <= 20
    await until_none_is_left()


async def test_arguments_that_have_no_utf_8(tmp_path: Path):
    """Half of a surrogate pair is sent as `?`, and the server goes on."""
    listed = "TOOL['inputSchema'] = {'type': 'object', 'properties': {'a': {'type': 'string'}}}\n"
    code = listed + CALLED + "text(request, request['params']['arguments']['a'])"
    async with tools_of(**raw_server(tmp_path, code), folder=tmp_path) as tools:
        assert (await tools["T_t"](a="x\ud800")).output == "x?"
        assert (await tools["T_t"](a="é")).output == "é"


async def test_many_calls_at_once(tmp_path: Path):
    """Each has its own answer."""
    async with tools_of(**sdk_server(tmp_path), folder=tmp_path) as tools:
        results = await asyncio.gather(*(tools["T_add"](a=n, b=0) for n in range(50)))
    assert [json.loads(result.output)["sum"] for result in results] == list(range(50))


CALLED = "def called(request):\n    "
# what a server does, and what a call of its tool comes to
CALLS: list[tuple[str, str, str]] = [
    ("def called(request):\n    text(request, 'fine')", "success", "fine"),
    (CALLED + "os._exit(3)", "error", "it ended with 3"),
    (CALLED + "sys.stdout.write('{\"jsonrpc\": \"2.0\"'); sys.stdout.flush(); os._exit(0)", "error", "it ended"),
    (CALLED + "sys.stdout.write('junk\\n\\n\\x00\\n'); text(request)", "success", "ok"),
    (CALLED + "sys.stdout.write('{\"id\": %d, \"oops\\n' % request['id']); sys.stdout.flush()", "error", "cannot be read"),
    (CALLED + "text(request, chr(0xd800))", "error", "cannot be read"),
    (CALLED + "sys.stdout.write('x' * 9_000_000); sys.stdout.flush(); time.sleep(60)", "error", "max_line_kb"),
    (CALLED + "text({'id': 999}); text(request)", "success", "ok"),
    (CALLED + "text(request); text(request, 'again')", "success", "ok"),
    (CALLED + "result(request, content='no list')", "error", ""),
    (CALLED + "result(request)", "error", ""),
    (CALLED + "text(request, 'bad', isError=True)", "error", "bad"),
    (CALLED + "result(request, content=[{'type': 'image', 'data': 'QUJD', 'mimeType': 'image/png'}])", "success", "[image/png, 1 KB]"),
    (CALLED + "result(request, content=[], structuredContent={'a': 1})", "success", '{"a": 1}'),
    (CALLED + "result(request, content=[{'type': 'resource_link', 'name': 'n', 'uri': 'file:///x'}])", "success", "[n: file:///x]"),
    (CALLED + "say({'jsonrpc': '2.0', 'id': request['id'], 'error': {'code': -32602, 'message': 'no'}})", "error", "no"),
    (CALLED + "[say({'jsonrpc': '2.0', 'method': 'notifications/message', 'params': {'level': 'info', 'data': 'x'}}) for _ in range(5000)]; text(request)", "success", "ok"),
    (CALLED + "sys.stderr.write('e' * 5_000_000); text(request)", "success", "ok"),
    (CALLED + "say({'jsonrpc': '2.0', 'id': 1, 'method': 'sampling/createMessage', 'params': {}}); text(request)", "success", "ok"),
    (CALLED + "subprocess.Popen(['sleep', '600']); text(request)", "success", "ok"),
    ("import atexit, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); atexit.register(time.sleep, 600)", "success", "ok"),
    ("sys.stdout.write('Welcome v1\\n\\n'); sys.stdout.flush()", "success", "ok"),
    ("TOOL |= {'outputSchema': {'type': 'object', 'required': ['a']}}\n" + CALLED + "result(request, content=[], structuredContent={'b': 1})", "error", ""),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status", "told"), CALLS, ids=lambda text: str(text)[-60:])
async def test_what_servers_do(code: str, status: str, told: str, tmp_path: Path):
    """A call has one result; afterwards the server, or its successor, answers; nothing is left."""
    once = "done = os.path.exists('done')\nopen('done', 'a')\n"
    entry = raw_server(tmp_path, once + code, timeout_seconds=15, retries=0)
    async with tools_of(**entry, folder=tmp_path) as tools:
        result = await tools["T_t"]()
        assert (result.status, told in result.output) == (status, True), result
        if status == "success":
            again = await tools["T_t"]()
            assert again.status == "success", again
    await until_none_is_left()


# what a server does at its start, and what is said of it
STARTS: list[tuple[str, str]] = [
    ("sys.exit('no database')", "it ended with 1: no database"),
    ("time.sleep(600)", "it has not listed its tools within 2 s"),
    ("def listed(request):\n    pass", "it has not listed its tools within 2 s"),
    ("def listed(request):\n    result(request, tools=[TOOL, TOOL])", "lists the tool 't' twice"),
    ("def listed(request):\n    result(request, tools=[], nextCursor='x')", "more than 100 pages"),
    ("def listed(request):\n    result(request, tools=[{**TOOL, 'name': f't{n}'} for n in range(5000)])", "more than 1000 tools"),
    ("def listed(request):\n    result(request, tools='none')", "tools"),
    ("PROTOCOL = '1999-01-01'", "rotocol version"),
    ("def listed(request):\n    say({'jsonrpc': '2.0', 'id': request['id'], 'error': {'code': 1, 'message': 'not today'}})", "not today"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "told"), STARTS, ids=lambda text: str(text)[-40:])
async def test_a_server_that_cannot_be_asked(code: str, told: str, tmp_path: Path):
    """Is a mistake with its reason, and leaves nothing."""
    # only the servers that never answer wait for the deadline: on a busy machine a hundred answers take longer than 2 s
    entry = raw_server(tmp_path, code, startup_seconds=2 if "within 2 s" in told else 120)
    with pytest.raises(ToolDefinitionError) as raised:
        async with tools_of(**entry, folder=tmp_path):
            pass
    assert (raised.value.code, told in str(raised.value)) == ("mcp-unreachable", True), raised.value
    await until_none_is_left()


# what a server lists, and the code of the mistake; None: it makes tools of these names
LISTS: list[tuple[str, dict[str, Any], Any]] = [
    ("[{**TOOL, 'name': 'a.b/c d'}]", {}, ["T_a_b_c_d"]),
    ("[{**TOOL, 'name': 'x' * 100}]", {}, ["T_" + "x" * 62]),
    ("[{**TOOL, 'name': 'a.b'}, {**TOOL, 'name': 'a/b'}]", {}, "tool-twice"),
    ("[{**TOOL, 'name': 'a.b'}, {**TOOL, 'name': 'a/b'}]", {"deny": ["a/*"]}, ["T_a_b"]),
    ("[{**TOOL, 'name': n} for n in ('get_a', 'get_b', 'set_a')]", {"allow": ["get_*"], "prefix": ""}, ["get_a", "get_b"]),
    ("[{**TOOL, 'inputSchema': {'type': 'object', '$ref': 'https://evil.example/x'}}]", {}, "schema-ref"),
    ("[{**TOOL, 'inputSchema': {'type': 'object', 'properties': {'a': {'type': 'nothing'}}}}]", {}, "bad-value"),
    ("[{**TOOL, 'inputSchema': {'type': 'object', 'properties': {'a': {'$ref': '#/$defs/none'}}}}]", {}, "bad-value"),
    ("[TOOL]", {"tools": {"other": {"effect": "read"}}}, "bad-value"),
    ("[TOOL]", {"cwd": "nowhere"}, "bad-value"),
    ("[TOOL]", {"tools": {"t": {"requires_approval": {"when": {"x": 1}}}}}, "bad-value"),
    ("[TOOL]", {"command": "no-such-program"}, "unknown-program"),
    ("[TOOL]", {"command": None}, "bad-value"),
    ("[TOOL]", {"url": "https://mcp.example.com"}, "bad-value"),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "more", "expected"), LISTS, ids=lambda one: str(one)[:50])
async def test_what_servers_list(listed: str, more: dict[str, Any], expected: Any, tmp_path: Path):
    """Names that providers take; what cannot be a tool is a mistake that says so."""
    code = f"def listed(request):\n    result(request, tools={listed})"
    entry = {**raw_server(tmp_path, code), **more}
    if isinstance(expected, list):
        async with tools_of(**entry, folder=tmp_path) as tools:
            assert list(tools) == expected
        return
    with pytest.raises(ToolDefinitionError) as raised:
        async with tools_of(**entry, folder=tmp_path):
            pass
    assert raised.value.code == expected, raised.value


async def test_a_tool_that_is_another_one_than_it_was(tmp_path: Path):
    """Is not called, and people are told."""
    listed = "def listed(request):\n    n = os.path.exists('n'); open('n', 'a')\n    "
    changed = "result(request, tools=[{**TOOL, 'description': 'other' if n else 'd'}])"
    ends = "\ndef called(request):\n    os._exit(1)"
    entry = raw_server(tmp_path, listed + changed + ends, breaker=False)
    async with tools_of(**entry, folder=tmp_path) as tools:
        # at first its end may not be known yet
        made = [await tools["T_t"]() for _ in range(10)]
        assert {one.status for one in made} == {"error"}
        result = made[-1]
        assert not result.facts.get("sent")
        warned = [event for event in tools["T_t"].events if isinstance(event, CallWarned)]
        assert {(one.code, "described otherwise" in one.message) for one in warned} == {
            ("tool_changed", True)
        }


async def test_a_server_without_a_lock_file_is_started_once(tmp_path: Path):
    """It is listed when the files are read, and serves the calls afterwards, until it is given back."""
    entry = raw_server(tmp_path, "open('starts', 'a').write('x')")
    for starts in ("x", "xx"):
        async with tools_of(**entry, folder=tmp_path) as tools:
            assert (await tools["T_t"]()).status == "success"
            assert (await tools["T_t"]()).status == "success"
        assert (tmp_path / "starts").read_text() == starts
    # listed, and never called
    async with tools_of(**entry, folder=tmp_path):
        pass
    assert (tmp_path / "starts").read_text() == "xxx"
    await until_none_is_left()


async def test_a_server_that_is_up_and_does_not_list_its_tools_again(tmp_path: Path):
    """Files that are read again are refused, and what was read before goes on."""
    code = "n = []\ndef listed(request):\n    n.append(1)\n    len(n) > 1 or result(request, tools=[TOOL])"
    servers = Servers()
    entry = raw_server(tmp_path, code, startup_seconds=2)
    shared: dict[str, Any] = {**entry, "folder": tmp_path, "servers": servers}
    async with tools_of(**shared) as tools:
        assert (await tools["T_t"]()).status == "success"
        with pytest.raises(ToolDefinitionError, match="has not listed its tools within 2 s"):
            async with tools_of(**shared):
                pass
        assert (await tools["T_t"]()).status == "success"


async def test_a_server_that_does_not_come_up_again(tmp_path: Path):
    """Calls are not made, say why, and may be tried again by any effect."""
    code = "if os.path.exists('listed'): sys.exit('gone for good')\nopen('listed', 'a')"
    ends = "\ndef called(request):\n    os._exit(1)"
    entry = raw_server(tmp_path, code + ends, timeout_seconds=5, retries=0, breaker=False)
    async with tools_of(**entry, folder=tmp_path) as tools:
        # at first its end may not be known yet
        made = [await tools["T_t"]() for _ in range(10)]
        assert {one.status for one in made} == {"error"}
        result = made[-1]
        assert not result.facts.get("sent")
        assert "gone for good" in result.output


@pytest.mark.parametrize("sandbox", ["landlock", "off"])
async def test_a_server_is_confined(sandbox: str, tmp_path: Path):
    """By the same means as a command."""
    secret = tmp_path / "outside" / "secret"
    secret.parent.mkdir()
    secret.write_text("s3cret")
    folder = tmp_path / "crew"
    folder.mkdir()
    code = f"""
def called(request):
    try:
        text(request, open({str(secret)!r}).read())
    except OSError as error:
        text(request, type(error).__name__)
"""
    more = {"read": PYTHON_FOLDERS} if sandbox == "landlock" else {}
    entry = raw_server(folder, code, sandbox=sandbox, **more)
    async with tools_of(**entry, folder=folder) as tools:
        result = await tools["T_t"]()
    assert result.output == ("PermissionError" if sandbox == "landlock" else "s3cret")


async def test_one_server_for_all_revisions(tmp_path: Path):
    """Two crews' entries that are alike share a process, which ends with the last of them."""
    servers = Servers()
    entry = sdk_server(tmp_path)
    shared: dict[str, Any] = {"folder": tmp_path, "servers": servers}
    async with tools_of(**entry, **shared) as first:
        began = (await first["T_pid"]()).output
        async with tools_of(**entry, **shared) as second:
            assert (await second["T_pid"]()).output == began
        assert (await first["T_pid"]()).output == began
        async with tools_of(**entry, **shared, startup_seconds=11) as third:
            assert (await third["T_pid"]()).output != began
        assert [one.state for one in servers.statuses] == ["up"]
    assert servers.statuses == []
    await come(lambda: not psutil.pid_exists(int(began)))


OLDER = {
    "ends at what it does not know": "    raise SystemExit(3)",
    "is silent at what it does not know": "    pass",
}


@pytest.mark.parametrize("name", OLDER)
async def test_a_server_of_the_older_protocol_alone(tmp_path: Path, name: str):
    """It is tried once more by that."""
    entry = raw_server(tmp_path, startup_seconds=3)
    path = tmp_path / "raw.py"
    unknown = path.read_text().partition('case _ if "id" in request:\n')
    assert unknown[1]
    path.write_text(f"{unknown[0]}{unknown[1]}        {OLDER[name]}\n")
    async with tools_of(**entry, folder=tmp_path) as tools:
        assert (await tools["T_t"]()).output == "ok"
    await until_none_is_left()


async def test_a_list_that_ends_with_an_empty_cursor(tmp_path: Path):
    code = "def listed(request):\n    result(request, tools=[TOOL], nextCursor='')\n"
    async with tools_of(**raw_server(tmp_path, code), folder=tmp_path) as tools:
        assert (await tools["T_t"]()).output == "ok"
