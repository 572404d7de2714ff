"""`crew tools` and `crew call`: what tools may do, and a call by hand."""

import json
from pathlib import Path
from typing import Any

from tests.support.commands import needs_landlock, needs_linux
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.mcp_servers import raw_server

TOOLS: dict[str, Any] = {
    "greet": {"kind": "python", "function": "mine.py:greet"},
    "restart": {"kind": "python", "function": "mine.py:greet", "requires_approval": True},
    "count": {
        "kind": "command",
        "argv": ["printf", "%s", "{n}"],
        "parameters": {"properties": {"n": {"type": "array"}}},
        "write": ["/var/tmp"],
        "sandbox": "landlock",
    },
    "ticket": {
        "kind": "http",
        "url": "https://tickets.example.com/x",
        "redirects": ["b.example.com"],
    },
    "secret": {"kind": "python", "function": "mine.py:secret"},
}
CODE = '''
from tools import ToolContext

def greet(name: str, times: int = 1) -> str:
    """Greet."""
    return f"Hello, {name}!\\x1b[31m" * times

def secret(context: ToolContext) -> str:
    """Tell."""
    context.progress(1, 2, "half")
    return "it is " + context.secret("MY_OWN")
'''


def folder(path: Path) -> Path:
    write_crew(path, {"a": {"tools": [*TOOLS, "PingHost"]}, "b": {"tools": ["greet"]}}, tools=TOOLS)
    (path / "mine.py").write_text(CODE)
    return path


@needs_landlock
def test_what_each_tool_may_do(tmp_path: Path):
    """Kind, effect, approval, where it reaches, what it runs, reads and writes."""
    shown = crew("tools", folder(tmp_path))
    assert shown.returncode == 0, shown.stderr
    blocks = {
        text.partition(":")[0]: text for text in shown.stdout.replace("\n  ", "\t").split("\n")
    }
    assert blocks["greet"].startswith("greet: python, idempotent; for a, b\truns     mine.py:greet")
    assert blocks["restart"].startswith("restart: python, idempotent, asks a person; for a\t")
    assert "\treaches  tickets.example.com, b.example.com\t" in blocks["ticket"]
    assert blocks["ticket"].startswith("ticket: http, read; for a")
    assert "\truns     /usr/bin/printf %s {n}\t" in blocks["count"]
    assert (
        f"\treads    system, {tmp_path}\twrites   /var/tmp\tsandbox  landlock\t" in blocks["count"]
    )
    assert "\truns     ping\t" in blocks["PingHost"]
    lines = [json.loads(line) for line in crew("tools", tmp_path, "--json").stdout.splitlines()]
    assert [one["tool"] for one in lines] == [*TOOLS, "PingHost"]
    count = lines[2]
    assert count["writes"] == ["/var/tmp"]
    assert count["schema_bytes"] > 20
    assert lines[0]["agents"] == ["a", "b"]


def test_a_call_by_hand(tmp_path: Path):
    """Arguments by name; JSON where the schema wants it; control characters made visible."""
    folder(tmp_path)
    good = crew("call", tmp_path, "greet", "--arg", "name=1", "--arg", "times=2")
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout == "Hello, 1!\\x1b[31mHello, 1!\\x1b[31m\n"
    listed = crew("call", tmp_path, "count", "--arg", 'n=["a","b"]', "--json")
    document = json.loads(listed.stdout)
    assert (document["status"], document["output"], document["exit_code"]) == ("success", "ab", 0)
    wrong = crew("call", tmp_path, "greet", "--arg", "nam=x")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "did you mean 'name'?" in wrong.stderr
    unknown = crew("call", tmp_path, "gret")
    assert (unknown.returncode, "did you mean 'greet'?" in unknown.stderr) == (2, True)
    assert crew("call", tmp_path, "greet", "--arg", "name").returncode == 2


def test_a_call_that_asks_a_person(tmp_path: Path):
    """Nobody is there to ask: it is not made."""
    folder(tmp_path)
    asked = crew("call", tmp_path, "restart", "--arg", "name=x")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert 'restart asks a person first: {"name": "x"}; approve it with --yes' in asked.stderr
    assert crew("call", tmp_path, "restart", "--arg", "name=x", "--yes").returncode == 0


def test_secrets_and_progress(tmp_path: Path):
    """What a tool asks for is masked from then on."""
    folder(tmp_path)
    told = crew("call", tmp_path, "secret", MY_OWN="correct horse battery")
    assert (told.returncode, told.stdout, told.stderr) == (0, "it is ***\n", "1 of 2 half\n")
    missing = crew("call", tmp_path, "secret")
    assert "the environment variable MY_OWN is not set" in missing.stderr


API = """\
openapi: 3.1.0
paths:
  /users/{name}:
    get:
      operationId: findUser
      parameters: [{ name: name, in: path, required: true, schema: { type: string } }]
    delete:
      operationId: removeUser
      parameters: [{ name: name, in: path, required: true, schema: { type: string } }]
  /upload:
    post:
      operationId: upload
      requestBody: { required: true, content: { multipart/form-data: {} } }
"""


def api_folder(path: Path, **entry: Any) -> Path:
    users = {
        "kind": "openapi",
        "document": "api/users.yaml",
        "server": "https://users.example.com/v1/",
        "operations": ["findUser", "removeUser"],
        **entry,
    }
    write_crew(path, {"a": {"tools": ["users"]}}, tools={"users": users})
    (path / "api").mkdir()
    (path / "api" / "users.yaml").write_text(API)
    return path


def test_an_entry_of_several_tools(tmp_path: Path):
    """Each is shown; an agent names them all by the entry's name."""
    made = api_folder(tmp_path / "crew", effects={"removeUser": "idempotent"})
    shown = [json.loads(line) for line in crew("tools", "--json", made).stdout.splitlines()]
    told = [(one["tool"], one["kind"], one["effect"], one["agents"]) for one in shown]
    assert told == [
        ("users_findUser", "openapi", "read", ["a"]),
        ("users_removeUser", "openapi", "idempotent", ["a"]),
    ]
    assert {(*one["reaches"], one["pin"]) for one in shown} == {
        ("users.example.com", "api/users.yaml")
    }
    valid = crew("validate", "--strict", made)
    assert (valid.returncode, valid.stderr) == (0, "")


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"operations": ["findUsers"]}, "did you mean 'findUser'?"),
    ({"document": "api/other.yaml"}, "no file api/other.yaml in the crew's folder"),
    ({"document": "../users.yaml"}, "no file ../users.yaml in the crew's folder"),
    ({"operations": ["upload"]}, "a body of multipart/form-data; only JSON"),
    ({"server": "users.example.com"}, "begins with http:// or https://"),
    ({"parameters": {}}, "unknown key 'parameters'"),
]


def test_mistakes_around_a_document(tmp_path: Path):
    """Each with its place."""
    for n, (entry, told) in enumerate(MISTAKES):
        made = api_folder(tmp_path / str(n), **entry)
        (tmp_path / "users.yaml").write_text(API)
        result = crew("validate", made)
        assert (result.returncode, told in result.stdout + result.stderr) == (1, True), result
        assert "tools.yaml:" in result.stdout + result.stderr
    (tmp_path / "0" / "api" / "users.yaml").write_text(API + "  x: [")
    broken = crew("validate", tmp_path / "0")
    assert "api/users.yaml:15" in broken.stdout + broken.stderr


def test_operations_are_printed_as_entries(tmp_path: Path):
    """That load, and make the same tools; those that cannot be tools are named."""
    made = api_folder(tmp_path / "crew")
    document = made / "api" / "users.yaml"
    printed = crew("tools", "import", document, "--server", "https://users.example.com/v1")
    assert (printed.returncode, "left out: users.yaml: POST /upload" in printed.stderr) == (0, True)
    (made / "tools.yaml").write_text(printed.stdout)
    agent = made / "agents" / "a.yaml"
    agent.write_text(agent.read_text().replace("- users", "- findUser\n- removeUser"))
    valid = crew("validate", "--strict", made)
    assert (valid.returncode, valid.stderr) == (0, "")
    shown = [json.loads(line) for line in crew("tools", "--json", made).stdout.splitlines()]
    assert [(one["tool"], one["effect"]) for one in shown] == [
        ("findUser", "read"),
        ("removeUser", "once"),
    ]
    for arguments, told in (
        ([document, "--operations", "upload"], "only JSON"),
        ([document, "--operations", "none"], "no operation 'none'"),
        ([tmp_path / "none.json"], "cannot be read"),
        ([document, "--prefix", "a b"], "prefix"),
    ):
        refused = crew("tools", "import", *arguments)
        assert (refused.returncode, told in refused.stderr) == (2, True), refused


def mcp_folder(path: Path, code: str = "", **entry: Any) -> Path:
    path.mkdir()
    return write_crew(
        path, {"a": {"tools": ["notes"]}}, tools={"notes": raw_server(path, code, **entry)}
    )


@needs_linux
def test_the_tools_of_a_server_are_pinned(tmp_path: Path):
    """Written down once, they are known without the server, and not believed when they change."""
    made = mcp_folder(tmp_path / "crew", requires_approval=True)
    tools = (made / "tools.yaml").read_text()
    # also those that are left out now
    (made / "tools.yaml").write_text(f"{tools}    deny: [t]\n")
    assert "notes: t is new" in crew("tools", "--lock", made).stderr
    (made / "mcp.lock.json").rename(tmp_path / "lock")
    (made / "tools.yaml").write_text(tools)
    loose = crew("validate", made)
    assert ("warning[unpinned]" in loose.stdout, loose.returncode) == (True, 0)
    locked = crew("tools", "--lock", made)
    assert ("notes: t is new" in locked.stderr, locked.returncode) == (True, 0), locked
    assert "pin      locked" in locked.stdout
    assert (made / "mcp.lock.json").read_text() == (tmp_path / "lock").read_text()
    assert crew("validate", "--strict", made).returncode == 0
    # the server is not needed any more
    server = (made / "raw.py").read_text()
    (made / "raw.py").write_text("import sys; sys.exit('away')")
    assert crew("validate", "--strict", made).returncode == 0
    away = crew("call", made, "notes_t", "--yes")
    assert (away.returncode, "away" in away.stderr) == (1, True)
    (made / "raw.py").write_text(server.replace('"d"', '"another"'))
    other = crew("call", made, "notes_t", "--yes")
    assert (other.returncode, "is described otherwise" in other.stderr) == (1, True)
    assert "notes: t is described otherwise" in crew("tools", "--lock", made).stderr
    called = crew("call", made, "notes_t", "--yes")
    assert (called.returncode, called.stdout) == (0, "ok\n")


@needs_linux
def test_a_lock_file_that_is_none(tmp_path: Path):
    """Is a mistake, which writing it anew mends."""
    made = mcp_folder(tmp_path / "crew", requires_approval=True)
    crew("tools", "--lock", made)
    lock = made / "mcp.lock.json"
    text = lock.read_text()
    for wrong, told in (
        (text.replace('"d"', '"other"'), "notes.t was changed by hand"),
        (text.replace('"version": 1', '"version": 2'), "version"),
        ("{", "no JSON"),
    ):
        lock.write_text(wrong)
        found = crew("validate", made)
        assert (found.returncode, told in found.stdout) == (1, True), found
    assert crew("tools", "--lock", made).returncode == 0
    assert lock.read_text() == text
    none = crew("tools", "--lock", folder(tmp_path / "none"))
    assert (none.returncode, "no MCP server" in none.stderr) == (2, True)


@needs_linux
def test_what_a_server_is_and_may_do(tmp_path: Path):
    """Keys of the other form have no effect; a tool that acts unasked is a warning."""
    made = mcp_folder(tmp_path / "crew", headers={"X-A": "b"}, pin=False)
    found = crew("validate", made)
    assert "headers has no effect: the server is a program" in found.stdout
    assert "warning[unguarded]" in found.stdout
    assert "unpinned" not in found.stdout
    shown = json.loads(crew("tools", "--json", made).stdout)
    assert (shown["kind"], shown["effect"], shown["pin"]) == ("mcp", "once", "not locked")
    assert "raw.py" in shown["runs"][0]
    graph = crew("graph", made)
    assert graph.returncode == 0, graph
