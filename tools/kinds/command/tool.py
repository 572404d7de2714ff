"""One call of a command: start the program, read what it writes, end it in time."""

import shlex
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.config.command import CommandTool
from tools.context import ToolContext
from tools.definition import Tool
from tools.errors import PermanentError, ToolDefinitionError
from tools.handlers.output import HeadAndTail
from tools.kinds.command.arguments import fill_argv, fill_stdin, find_program, require_no_code
from tools.kinds.command.marks import VARIABLE, Marks
from tools.kinds.command.process import ProgramLimits, Running, Start
from tools.kinds.command.refusals import refusals
from tools.kinds.command.sandbox import Sandbox
from tools.schemas.places import PLACE, names_in, own_parameters, require_places, require_scalars
from tools.schemas.schema import JsonSchema

PATH = "/usr/local/bin:/usr/bin:/bin"
MAX_OUTPUT_BYTES = 64 << 20
# of what an erring program says
ERROR_CHARS = 2000
# a shell's, and those of all that start programs
EXIT_CODES = {126: "the program cannot be run", 127: "the program is not found"}
SIGNALS: dict[int, str] = {
    signal.SIGXCPU: "it used all its time of the CPU (cpu_seconds)",
    signal.SIGXFSZ: "it wrote a file that is too large (file_mb)",
    signal.SIGKILL: "killed, maybe since the machine had no memory left",
    signal.SIGSYS: "it did what it may not do",
}


def command_tool(name: str, config: CommandTool, folder: Path, marks: Marks) -> Tool:
    """Return the tool that an entry of kind command describes.

    Args:
        name: the tool's.
        config: its entry.
        folder: the crew's.
        marks: of this process's calls.

    Raises:
        ToolDefinitionError: there is no such program, or what it asks for cannot be had here.
    """
    if sys.platform != "linux":
        raise ToolDefinitionError("commands are run on Linux only", "kind", "no-sandbox")
    folder = folder.resolve()
    program = find_program(config.argv[0])
    sandbox = Sandbox.of(config, folder)
    places = names_in(config.argv[1:], config.stdin)
    schema = JsonSchema(config.parameters or own_parameters(places))
    require_places(places, [], schema.parameters)
    within = [one for one in config.argv[1:] if PLACE.fullmatch(one) is None]
    require_scalars(names_in(within, config.stdin), schema.parameters, "a text")
    require_no_code(config.argv, schema.parameters)
    call = _CommandCall(config, program, folder, sandbox, marks)
    call.require_cwd()
    return Tool(
        name=name,
        description=config.description or f"Run {' '.join(config.argv)}",
        parameters=schema.parameters,
        act=call,
        check=schema.check,
        timeout_seconds=config.timeout_seconds,
        retries=config.retries,
        effect=config.effect or "once",
        approval=config.approval,
        reach=sandbox.reach([program, *config.argv[1:]]),
        show=call.show,
        close=marks.close,
    )


class _CommandCall:
    """What a command does."""

    def __init__(
        self, config: CommandTool, program: str, folder: Path, sandbox: Sandbox, marks: Marks
    ) -> None:
        self.entry, self.program, self.folder = config, program, folder
        self.sandbox, self.marks = sandbox, marks

    def show(self, arguments: dict[str, Any]) -> str:
        """Return the command of a call, as a person would type it."""
        return shlex.join(fill_argv(self.entry, self.program, arguments))

    def require_cwd(self) -> Path:
        """Return where it runs.

        Raises:
            ToolDefinitionError: that is no folder, or a relative one that leads elsewhere.
        """
        written = Path(self.entry.cwd)
        cwd = (self.folder / written).resolve()
        if not written.is_absolute() and not cwd.is_relative_to(self.folder):
            text = f"{written} is outside the crew's folder; write its whole path"
            raise ToolDefinitionError(text, "cwd", "bad-value")
        if not cwd.is_dir():
            raise ToolDefinitionError(f"there is no folder {written}", "cwd", "bad-value")
        return cwd

    async def __call__(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Make a call.

        Raises:
            ArgumentsError: an argument cannot be one of a program.
            PermanentError: the program failed, or could not be started.
        """
        config = self.entry
        argv = fill_argv(config, self.program, arguments)
        stdin = fill_stdin(config, arguments)
        context.begin_sending()
        # of this call alone; a name that cannot be guessed, for its owner only
        own = Path(tempfile.mkdtemp(prefix="crew-call-"))
        mark = self.marks.new()
        try:
            with (own / "stdin").open("w+b") as given:
                given.write(stdin)
                given.seek(0)
                # it is the program's input, and no file of its folder
                (own / "stdin").unlink()
                start = Start(
                    argv,
                    self._environment(own, mark, context.traceparent),
                    self._cwd(),
                    given,
                    own,
                    self.sandbox,
                    ProgramLimits(config.memory_mb, self._cpu_seconds(context), config.file_mb),
                )
                return await self._run(start, context)
        finally:
            self.marks.end(mark)
            shutil.rmtree(own, ignore_errors=True)

    def _environment(self, own: Path, mark: str, traceparent: str) -> dict[str, str]:
        folder = str(own)
        base = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": folder, "TMPDIR": folder}
        traced = {"TRACEPARENT": traceparent} if traceparent else {}
        return {**base, **traced, **self.entry.env, VARIABLE: mark}

    def _cwd(self) -> Path:
        try:
            # it may have changed since it was checked
            return self.require_cwd()
        except ToolDefinitionError as error:
            raise PermanentError(str(error)) from error

    def _cpu_seconds(self, context: ToolContext) -> int:
        return self.entry.cpu_seconds or int(context.remaining_seconds) + 1

    async def _run(self, start: Start, context: ToolContext) -> str:
        try:
            process = start.spawn()
        except (OSError, ValueError) as error:
            raise PermanentError(f"{self.program} could not be started: {error}") from error
        context.note(sent=True)
        output, errors = _Output(), HeadAndTail(ERROR_CHARS * 4, head=0)
        code = await Running(process).read(output.add, errors.add)
        context.note(exit_code=code)
        if code in self.entry.ok_codes:
            return output.text()
        said = [errors.text()[-ERROR_CHARS:], output.text()]
        parts = [_ending(code), *refusals(self.sandbox, "\n".join(said)), *said]
        raise PermanentError("\n".join(part for part in parts if part))


class _Output:
    """What a program writes, as far as it is kept; one that writes without end is ended."""

    def __init__(self) -> None:
        self._kept = HeadAndTail(10 << 20)
        self._bytes = 0

    def add(self, chunk: bytes) -> None:
        """Add more of it."""
        self._bytes += len(chunk)
        if self._bytes > MAX_OUTPUT_BYTES:
            raise PermanentError(f"ended: it wrote more than {MAX_OUTPUT_BYTES >> 20} MiB")
        self._kept.add(chunk)

    def text(self) -> str:
        """Return what is kept."""
        return self._kept.text()


def _ending(code: int) -> str:
    """Return how a program ended that did not end well."""
    if code >= 0:
        known = EXIT_CODES.get(code)
        return f"exit code {code} ({known})" if known else f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    known = SIGNALS.get(-code)
    return f"ended by {name} ({known})" if known else f"ended by {name}"
