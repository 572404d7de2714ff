"""A program of this machine as a tool."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tools.config.common import OneTool
from tools.schemas.yaml_shape import Shape

Sandbox = Literal["auto", "off", "landlock", "bwrap"]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Confined(Shape):
    """What a program may do."""

    sandbox: Sandbox = "auto"
    """What confines it: `landlock` (the kernel), `bwrap` (bubblewrap), `off`; `auto` is landlock
    where the kernel has it."""
    read: list[str] = []
    """Files and folders that it may read, beside the system's and the crew's folder."""
    write: list[str] = []
    """Files and folders that it may write, beside a folder of each call's own."""
    network: bool = False
    """Whether it may use the network."""


class CommandTool(OneTool, Confined):
    """A program, without a shell. Its effect is `once` unless given."""

    synonyms: ClassVar[dict[str, str]] = {
        "command": "argv",
        "cmd": "argv",
        "args": "argv",
        "exec": "argv",
        "environment": "env",
        "working_dir": "cwd",
        "workdir": "cwd",
    }

    kind: Literal["command"]
    """What runs the tool."""
    argv: Annotated[list[str], Field(min_length=1, max_length=1000)]
    """The program and its arguments, with `{argument}` as a whole one or within one."""
    env: dict[VariableName, str] = {}
    """Its environment, beside PATH, LANG, HOME and TMPDIR; it has nothing of the server's."""
    cwd: str = "."
    """Where it runs, relative to the crew's folder."""
    stdin: str | None = None
    """What it reads, with `{argument}` in it; nothing unless given."""
    ok_codes: Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=1)] = [0]
    """Exit codes that are no error."""
    dash_arguments: bool = False
    """Allow arguments of the model that begin with `-` or `@`: a program may read options in
    them."""
    memory_mb: Annotated[int, Field(ge=16, le=1_048_576)] = 2048
    """Of each of its processes."""
    cpu_seconds: Annotated[int, Field(ge=1, le=86_400)] | None = None
    """Of each of its processes; its timeout + 1 unless given."""
    file_mb: Annotated[int, Field(ge=1, le=1_048_576)] = 100
    """The largest file that it may write."""
