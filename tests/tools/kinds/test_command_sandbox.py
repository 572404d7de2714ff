"""What a command may read, write and reach."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.support.commands import (
    files_in,
    needs_landlock,
    needs_linux,
    python,
    sh,
    until_none_is_left,
)
from tests.support.made_tools import tool_of
from tools import ToolDefinitionError
from tools.confinement import landlock

pytestmark = needs_linux


async def test_where_it_runs(tmp_path: Path):
    """In the crew's folder, or below; a link does not lead out of it."""
    crew, outside = tmp_path / "crew", tmp_path / "outside"
    (crew / "below").mkdir(parents=True)
    outside.mkdir()
    (crew / "link").symlink_to(outside)
    async with tool_of("command", crew, argv=["pwd"], cwd="below") as tool:
        assert (await tool()).output == f"{crew}/below\n"
        # exchanged for a link after it was checked
        (crew / "below").rmdir()
        (crew / "below").symlink_to(outside)
        result = await tool()
        assert (result.status, result.facts["sent"]) == ("error", False)
    for cwd in ("link", "..", "nosuch", "../outside"):
        with pytest.raises(ToolDefinitionError) as raised:
            async with tool_of("command", crew, argv=["pwd"], cwd=cwd):
                pass
        assert (raised.value.path, raised.value.code) == (("cwd",), "bad-value")


@needs_landlock
async def test_what_a_confined_program_may_read_and_write(tmp_path: Path):
    """The crew's folder but for its runs and keys, what the entry names, and no more."""
    crew, other, given = (tmp_path / name for name in ("crew", "other", "given"))
    for folder in (crew / ".crew", other, given):
        folder.mkdir(parents=True)
    for file in (
        crew / "crew.yaml",
        crew / ".crew/crew.db",
        crew / ".env",
        other / "x",
        given / "x",
    ):
        file.write_text("text")
    script = f"""
    for f in {crew}/crew.yaml {crew}/.crew/crew.db {crew}/.env {other}/x {given}/x /etc/hostname; do
      cat $f >/dev/null 2>&1 && echo "read $f"
    done
    for f in {crew}/new {crew}/crew.yaml {other}/new {given}/new $HOME/new /tmp/crew-test-new /dev/null; do
      (echo x > $f) 2>/dev/null && echo "wrote $f"
    done
    rm -f {crew}/crew.yaml 2>/dev/null && echo removed
    mv {crew}/crew.yaml {given}/ 2>/dev/null && echo moved
    ln {other}/x {given}/linked 2>/dev/null && echo linked
    cat /proc/{os.getpid()}/environ >/dev/null 2>&1 && echo "read the server's environment"
    kill -0 {os.getpid()} 2>/dev/null && echo "may signal the server"
    true
    """
    result = await sh(crew, script, read=[str(given)], sandbox="landlock")
    assert result.status == "success", result.output
    read = [f"read {one}" for one in (crew / "crew.yaml", given / "x", "/etc/hostname")]
    lines = result.output.splitlines()
    assert [line for line in lines if not line.startswith("wrote ")] == read
    wrote = [line.removeprefix("wrote ") for line in lines if line.startswith("wrote ")]
    assert wrote[1:] == ["/dev/null"]
    assert wrote[0].endswith("/new")
    writing = await sh(crew, f"echo x > {given}/new; cat {given}/new", write=[str(given)])
    assert writing.output == "x\n"


CONNECT = """
import socket
for port in (PORT,):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
        print("connected")
    except OSError as error:
        print(type(error).__name__)
try:
    socket.create_server(("127.0.0.1", 0)).close()
    print("listens")
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(landlock.version() < 4, reason="the kernel's Landlock knows no network")
async def test_the_network_is_closed_unless_it_is_opened(tmp_path: Path):
    """TCP, both ways."""
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    code = CONNECT.replace("PORT", str(server.sockets[0].getsockname()[1]))
    closed = await python(tmp_path, code)
    assert closed.output == "PermissionError\nPermissionError\n", closed.output
    opened = await python(tmp_path, code, network=True)
    assert opened.output == "connected\nlistens\n"
    off = await python(tmp_path, code, sandbox="off")
    assert off.output == "connected\nlistens\n"
    server.close()


@pytest.mark.skipif(landlock.version() < 4, reason="the kernel's Landlock knows no network")
async def test_a_refusal_of_the_sandbox_names_its_key(tmp_path: Path):
    """What fails for another reason does not."""
    crew, other = tmp_path / "crew", tmp_path / "other"
    crew.mkdir()
    other.mkdir()
    (other / "x").write_text("text")
    network = "`network: true` in its entry opens it"
    for script, key in (
        ("exec 2>&1; echo 'curl: (7) Failed to connect'; exit 7", network),
        (f"cat {other}/x", f"read {other}/x; name it under `read`"),
        (f"echo x > {other}/new", f"write {other}/new; name it under `write`"),
        ("echo x > new", "what `write` names"),
    ):
        told = (await sh(crew, script, sandbox="landlock")).output
        assert (key in told, told.count("the tool's sandbox")) == (True, 1), told
    for script in (f"cat {crew}/none", "cat /etc/none", "echo wrong >&2; exit 1"):
        assert "the tool's sandbox" not in (await sh(crew, script, sandbox="landlock")).output
    opened = await sh(crew, "echo 'Failed to connect' >&2; exit 7", network=True)
    assert "the tool's sandbox" not in opened.output
    off = await sh(crew, f"cat {other}/x /none; echo 'Failed to connect'; exit 7", sandbox="off")
    assert "the tool's sandbox" not in off.output


async def test_a_client_of_others_shows_why_it_cannot_connect(tmp_path: Path):
    """curl, to a server that listens."""
    if landlock.version() < 4 or shutil.which("curl") is None:
        pytest.skip("there is no curl, or the kernel's Landlock knows no network")
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with tool_of("command", tmp_path, argv=["curl", "-sS", url]) as tool:
        result = await tool()
    lines = result.output.splitlines()
    assert lines[:2] == [
        "exit code 7",
        "the tool's sandbox allows no TCP; `network: true` in its entry opens it",
    ]
    server.close()


@needs_landlock
async def test_only_the_program_is_confined(tmp_path: Path):
    """The server goes on as before, and starts others without a sandbox."""
    await sh(tmp_path, "true", sandbox="landlock")
    (tmp_path / "after").write_text("x")
    secret = tmp_path.parent / "secret"
    secret.write_text("x")
    result = await sh(tmp_path, f"cat {secret}", sandbox="off")
    assert result.output == "x"


async def test_a_sandbox_that_cannot_be_had_is_an_error(tmp_path: Path):
    """Never a silent fallback."""
    if shutil.which("bwrap") is not None:
        pytest.skip("bubblewrap is here")
    with pytest.raises(ToolDefinitionError) as raised:
        async with tool_of("command", tmp_path, argv=["true"], sandbox="bwrap"):
            pass
    assert (raised.value.path, raised.value.code) == (("sandbox",), "no-sandbox")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not here")
async def test_bubblewrap_confines_too(tmp_path: Path):
    """In namespaces of its own."""
    crew, other = tmp_path / "crew", tmp_path / "other"
    crew.mkdir()
    other.mkdir()
    (other / "x").write_text("text")
    script = (
        f"cat {other}/x; echo x > {crew}/new; ls /proc | grep -c '^[0-9]'; touch $HOME/x && echo ok"
    )
    result = await sh(crew, script, sandbox="bwrap")
    assert result.status == "success", result.output
    lines = result.output.splitlines()
    assert int(lines[0]) < 10
    assert lines[1] == "ok"
    assert files_in(crew) == []
    refused = await sh(crew, f"echo x > {crew}/new", sandbox="bwrap")
    assert f"write {crew}/new; name it under `write`" in refused.output, refused.output
    (crew / "data").mkdir()
    for path, write in ((crew / "data" / "x", "data"), (crew / "x", ".")):
        wrote = await sh(crew, f"echo x > {path}", sandbox="bwrap", write=[write])
        assert (wrote.status, path.read_text()) == ("success", "x\n"), wrote.output
    unread = await sh(crew, f"cat {other}/x", sandbox="bwrap")
    assert f"read {other}/x; name it under `read`" in unread.output, unread.output
    hanging = await sh(crew, "setsid sleep 600 & sleep 600", sandbox="bwrap", timeout_seconds=2)
    assert hanging.status == "timeout"
    await until_none_is_left()
