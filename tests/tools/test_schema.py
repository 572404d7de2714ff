"""Signatures become schemas; arguments become values; functions come by reference."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from tools import ArgumentsError, ToolContext, ToolDefinitionError, tool
from tools.builtin import BUILTIN_TOOLS
from tools.config import PythonTool
from tools.kinds.python.reference import load_reference, python_tool
from tools.schemas.schema import JsonSchema


class Colour(Enum):
    RED = "red"


@tool
def paint(
    colour: Colour,
    sizes: list[int],
    mode: Literal["a", "b"] = "a",
    depth: Annotated[int, Field(ge=1, le=9)] = 3,
    note: str | None = None,
    schema: str = "",
) -> str:
    """Paint something.

    In any colour.

    Args:
        colour: which
            of them
        sizes (list): how large

    Returns:
        Nothing of note.
    """
    return f"{colour.name} {sizes} {mode} {depth} {note} {schema}"


def test_a_signature_says_all():
    """Types, defaults, ranges, enums and the docstring are in the schema; names of pydantic's own do no harm."""
    properties = paint.parameters["properties"]
    assert paint.description == "Paint something.\n\nIn any colour."
    assert paint.parameters["required"] == ["colour", "sizes"]
    assert paint.parameters["additionalProperties"] is False
    assert properties["sizes"] == {
        "type": "array",
        "items": {"type": "integer"},
        "description": "how large",
    }
    assert properties["depth"]["maximum"] == 9
    assert properties["depth"]["default"] == 3
    assert properties["schema"]["type"] == "string"
    assert properties["sizes"]["description"] == "how large"
    assert "which of them" in str(paint.parameters)


def test_arguments_are_coerced():
    """What a model writes as text becomes what the function takes."""
    values = paint.check({"colour": "red", "sizes": ["1", 2.0], "depth": "4", "note": 5})
    assert paint(**values) == "RED [1, 2] a 4 5 "


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"sizes": []}, "colour: is missing"),
        ({"colour": "red", "sizes": [], "dept": 1}, "did you mean 'depth'?"),
        ({"colour": "red", "sizes": ["x"]}, "sizes.0"),
        ({"colour": "red", "sizes": [], "depth": 10}, "less than or equal to 9"),
    ],
)
def test_wrong_arguments_say_which(arguments: dict[str, Any], said: str):
    """The model reads what to change."""
    with pytest.raises(ArgumentsError, match=said.replace("?", r"\?")):
        paint.check(arguments)


def test_functions_that_make_no_tool_say_why():
    """No names, no types, no schema."""

    def starred(*parts: str) -> None: ...
    def bare(x) -> None: ...
    def odd(x: "Path.nope") -> None: ...  # type: ignore[name-defined]
    def opaque(x: object.__class__) -> None: ...  # type: ignore[valid-type]

    for function, said in (
        (starred, "cannot be given by name"),
        (bare, "has no type"),
        (odd, "no readable signature"),
    ):
        with pytest.raises(ToolDefinitionError, match=said):
            tool(function)


def test_null_stands_for_an_argument_that_is_left_out():
    """As models write it; not where null is a value, and not for one that is required."""
    schema = {
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": ["string", "null"]},
            "d": {},
        },
        "required": ["a"],
    }
    check = JsonSchema(schema).check
    assert check({"a": "x", "b": None, "c": None, "d": None}) == {"a": "x", "c": None, "d": None}
    with pytest.raises(ArgumentsError, match="null"):
        check({"a": None})


@pytest.mark.parametrize("schema", [{"type": "array"}, {"properties": {"x": {"type": "nope"}}}])
def test_a_schema_that_is_none_is_refused(schema: dict[str, Any]):
    """Before anything starts."""
    with pytest.raises(ToolDefinitionError):
        JsonSchema(schema)


def test_functions_by_reference(tmp_path: Path):
    """A file of the crew, or an installed module; every way to fail has its sentence."""
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\ndef f(x: int) -> int:\n    'Doc.'\n    return x\nlimit = 3\n"
    )
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    assert load_reference("mine.py:f", tmp_path)(3) == 3
    assert load_reference("os.path:join", tmp_path)("a", "b") == "a/b"
    for reference, said in (
        ("mine.py:g", "has no 'g'"),
        ("none.py:f", "there is no file none.py"),
        ("broken.py:f", "ModuleNotFoundError"),
        ("nothing_of_that_name:f", "does not import"),
        ("mine.py", "is no reference"),
    ):
        with pytest.raises(ToolDefinitionError, match=said):
            load_reference(reference, tmp_path)
    with pytest.raises(ToolDefinitionError, match="not a function"):
        python_tool("t", PythonTool(kind="python", function="mine.py:limit"), tmp_path)


def test_the_entry_beats_the_function(tmp_path: Path):
    """Description, schema, timeout, retries and effect of tools.yaml count, and its schema is checked too."""
    (tmp_path / "mine.py").write_text("def f(x: int) -> int:\n    'Doc.'\n    return x\n")
    config = PythonTool(
        kind="python", function="mine.py:f", description="Mine.", timeout_seconds=9, retries=0, effect="once",
        parameters={"properties": {"x": {"type": "integer", "maximum": 5}}},
    )  # fmt: skip
    made = python_tool("t", config, tmp_path)
    assert (made.name, made.description, made.timeout_seconds, made.retries, made.effect) == (
        "t",
        "Mine.",
        9,
        0,
        "once",
    )
    assert made.check({"x": "4"}) == {"x": 4}
    with pytest.raises(ArgumentsError, match="maximum"):
        made.check({"x": 6})


READINGS = {
    "GetCPUUsage": ({}, "cores"),
    "GetMemoryUsage": ({}, "GiB available"),
    "GetDiskSpace": ({"path": "/"}, "GiB free"),
    "GetSystemInfo": ({}, "Host: "),
    "GetRunningProcesses": ({"count": "3"}, "the 3 largest"),
    "CheckServiceStatus": ({"service": "python"}, "Processes named like python"),
    "CheckMemoryStatus": ({}, "Swap: "),
    "CheckDiskStatus": ({}, "Disk usage of /"),
    "GetSystemDiagnostics": ({}, "Network: "),
    "ResolveDNS": ({"hostname": "localhost"}, "127.0.0.1"),
}


@pytest.mark.parametrize("name", READINGS)
async def test_built_in_tools_read_this_machine(name: str):
    """Real readings, in words that a model can use."""
    arguments, said = READINGS[name]
    made = BUILTIN_TOOLS[name]
    assert said in await made.act(made.check(arguments), ToolContext())
    assert made.description
    assert made.effect == "read"


def test_hosts_and_services_are_no_options():
    """What goes into a command line cannot begin like an option, nor hold a space."""
    for name, key in (
        ("PingHost", "host"),
        ("ResolveDNS", "hostname"),
        ("CheckServiceStatus", "service"),
        ("CheckNetworkStatus", "host"),
    ):
        for bad in ("-f", "a b", "a;b", "$(x)", ""):
            with pytest.raises(ArgumentsError):
                BUILTIN_TOOLS[name].check({key: bad})


def test_the_built_in_tools_are_those_of_the_contract():
    """No more, no less; none runs a shell command."""
    named = {*READINGS, "PingHost", "CheckNetworkStatus"}
    named |= {"EditCore", "Remember", "Recall", "Forget"}
    named |= {"SearchDocuments", "ReadDocument", "ListDocuments"}
    assert set(BUILTIN_TOOLS) == named
