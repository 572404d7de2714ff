"""Commands: what reaches a program, what comes back of it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.commands import files_in, needs_linux, sh, until_none_is_left
from tests.support.made_tools import tool_of
from tools import ToolDefinitionError
from tools.kinds.command.marks import VARIABLE

pytestmark = needs_linux


async def test_a_command_gives_its_output(tmp_path: Path):
    """Arguments are whole items, or stand within one; one that is absent leaves its item out."""
    argv = ["printf", "%s|", "{a}", "b={b}", "{list}", "{gone}", "{not an argument}"]
    parameters = {
        "properties": {"a": {}, "b": {"type": "integer"}, "list": {"type": "array"}, "gone": {}}
    }
    async with tool_of("command", tmp_path, argv=argv, parameters=parameters) as tool:
        result = await tool(a="x y", b=3, list=["1", "{a}"])
    assert result.status == "success", result.output
    assert result.output == "x y|b=3|1|{a}|{not an argument}|"
    assert result.facts == {"sent": True, "exit_code": 0}


@pytest.mark.parametrize(
    "value",
    [
        *("$(touch pwned)", "`touch pwned`", "; touch pwned", "| touch pwned", "a && touch pwned"),
        *("*", "~", "$HOME", "'", '"', "\\", "a\nb", "\t", "é→😀", "", "x -rf", "{a}"),
    ],
)
async def test_no_shell_sees_an_argument(tmp_path: Path, value: str):
    """It arrives as it is."""
    async with tool_of("command", tmp_path, argv=["printf", "%s", "{a}"]) as tool:
        result = await tool(a=value)
    assert (result.status, result.output) == ("success", value)
    assert files_in(tmp_path) == []


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None
)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50))
async def test_any_text_arrives_or_is_refused(tmp_path: Path, value: str):
    """Never as something else."""
    async with tool_of("command", tmp_path, argv=["printf", "%s", "{a}"]) as tool:
        result = await tool(a=value)
    if value.startswith(("-", "@")):
        assert (result.status, result.attempts) == ("error", 1)
        assert result.facts == {}
    else:
        assert (result.status, result.output) == ("success", value)


@pytest.mark.parametrize(
    "value",
    [
        "-rf",
        "--help",
        "@/etc/passwd",
        "a\0b",
        "\ud800",
        "x" * 140_000,
        "é" * 70_000,
        {"a": 1},
        [["a"]],
    ],
)
async def test_arguments_that_are_refused(tmp_path: Path, value: Any):
    """Nothing is started."""
    async with tool_of("command", tmp_path, argv=["touch", "{a}"], retries=0) as tool:
        result = await tool(a=value)
    assert result.status == "error"
    assert "sent" not in result.facts
    assert files_in(tmp_path) == []


async def test_dashes_may_be_allowed(tmp_path: Path):
    """By the operator."""
    entry: dict[str, Any] = {"argv": ["printf", "%s", "{a}"], "dash_arguments": True}
    async with tool_of("command", tmp_path, **entry) as tool:
        assert (await tool(a="-x")).output == "-x"


async def test_the_environment_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing of the server's, and a folder that is removed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    result = await sh(tmp_path, "env; ls -A $HOME; touch $HOME/x; pwd", env={"MINE": "{x} is kept"})
    lines = dict(line.partition("=")[::2] for line in result.output.splitlines())
    assert lines["MINE"] == "{x} is kept"
    assert lines["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert lines["LANG"] == "C.UTF-8"
    assert lines["HOME"] == lines["TMPDIR"]
    assert files_in(Path(lines["HOME"]).parent, lines["HOME"]) == []
    # a shell's own
    own = {"PATH", "LANG", "HOME", "TMPDIR", "MINE", VARIABLE, "PWD", "OLDPWD", "_", "SHLVL"}
    assert set(lines) - own - {str(tmp_path)} == set()
    assert result.output.splitlines()[-1] == str(tmp_path)


async def test_standard_input(tmp_path: Path):
    """Empty unless the entry gives it."""
    result = await sh(tmp_path, "cat; echo end")
    assert result.output == "end\n"
    result = await sh(tmp_path, "cat", {"a": "two\nlines"}, stdin="<{a}>" * 50_000)
    assert result.output.startswith("<two\nlines><two")
    assert result.output_chars > 60_000
    refused = await sh(tmp_path, "cat", {"a": "\ud800"}, stdin="{a}", retries=0)
    assert refused.status == "error"


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("echo out; echo err >&2; exit 3", "exit code 3\nerr\n\nout\n"),
        ("exit 126", "exit code 126 (the program cannot be run)"),
        ("nosuchprogram", "exit code 127 (the program is not found)"),
        ("kill -9 $$", "ended by SIGKILL (killed, maybe since the machine had no memory left)"),
        ("kill -11 $$", "ended by SIGSEGV"),
        ("head -c 20000 /dev/zero | tr '\\0' e >&2; exit 1", "exit code 1\n" + "e" * 2000),
    ],
)
async def test_how_it_ended_is_told_in_words(tmp_path: Path, script: str, output: str):
    """Code, what it says of errors, what it wrote."""
    result = await sh(tmp_path, script)
    assert result.status == "error"
    assert result.output.startswith(output)


async def test_codes_that_are_no_errors(tmp_path: Path):
    """Grep's 1, say."""
    result = await sh(tmp_path, "echo none; exit 1", ok_codes=[0, 1])
    assert (result.status, result.output, result.facts["exit_code"]) == ("success", "none\n", 1)


async def test_output_is_bounded(tmp_path: Path):
    """Its beginning and end are kept; one without end is ended."""
    result = await sh(tmp_path, "seq 1 200000", max_output_kb=1)
    assert result.status == "success"
    assert len(result.output.encode()) <= 1024
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("\n200000\n")
    assert "left out" in result.output
    assert result.facts["truncated"] is True
    endless = await sh(tmp_path, "cat /dev/zero")
    assert (endless.status, endless.output) == ("error", "ended: it wrote more than 64 MiB")
    errors = await sh(tmp_path, "head -c 3000000 /dev/zero >&2; echo done")
    assert (errors.status, errors.output) == ("success", "done\n")
    binary = await sh(tmp_path, "printf '\\377\\376a'")
    assert binary.output == "��a"
    await until_none_is_left()


NUMBER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
IN_CODE = [
    ["bash", "-c", "echo {x}"],
    ["sh", "-ec", "ls {x} | head"],
    ["/usr/bin/env", "bash", "-c", "cat '{x}'"],
    ["python3", "-I", "-c", "print({x})"],
    ["perl", "-e", "print '{x}'"],
    ["bash", "-eo", "pipefail", "-c", "echo '{x}'"],
    ["bash", "-ceu", "echo {x}"],
    ["bash", "-c", "--", "echo {x}"],
    ["python3", "-W", "ignore", "-c", "print('{x}')"],
    ["python3", "-cprint('{x}')"],
    ["/usr/bin/env", "-S", "bash -c 'ls {x}'"],
]
NO_CODE = [
    (["bash", "-c", 'echo "$1"', "_", "{x}"], None),
    (["bash", "-c", "{x}"], None),
    (["bash", "-c", "seq {x}"], NUMBER),
    (["sh", "mine.sh", "-e", "of {x}"], None),
    (["grep", "-e", "of {x}", "mine.sh"], None),
    (["sh", "-e", "{x}.sh"], None),
    (["bash", "-c", "df /mnt/{x}"], {"properties": {"x": {"pattern": "^[a-z]+$"}}}),
    (["bash", "-c", "seq {x}"], {"properties": {"x": {"type": ["integer", "null"]}}}),
    (["bash", "-c", "seq {x}"], {"properties": {"x": {"anyOf": [{"const": 1}, {"type": "null"}]}}}),
]


async def test_no_argument_is_code(tmp_path: Path):
    """A mistake at load, with what to write; a whole item is meant to be code."""
    (tmp_path / "mine.sh").write_text("echo mine\n")
    for argv in IN_CODE:
        with pytest.raises(ToolDefinitionError, match="what a model writes is run") as raised:
            async with tool_of("command", tmp_path, argv=argv):
                pass
        assert raised.value.path == ("argv", len(argv) - 1), argv
    for argv, parameters in NO_CODE:
        async with tool_of("command", tmp_path, argv=argv, parameters=parameters):
            pass


async def test_a_program_must_be_there_at_load(tmp_path: Path):
    """And is chosen by nobody but the operator."""
    (tmp_path / "mine.sh").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "mine.sh").chmod(0o755)
    for argv in (
        ["nosuch"],
        ["./mine.sh"],
        ["mine.sh"],
        ["/nosuch/x"],
        ["{a}"],
        ["/etc/passwd"],
        [""],
    ):
        with pytest.raises(ToolDefinitionError) as raised:
            async with tool_of("command", tmp_path, argv=argv):
                pass
        assert (raised.value.path, raised.value.code) == (("argv",), "unknown-program"), argv
    async with tool_of("command", tmp_path, argv=["sh", "mine.sh"]) as tool:
        assert (await tool()).output == "mine\n"
