"""An entry of tools.yaml and arguments -> argv and standard input; pure. No shell sees them."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.config.command import CommandTool
from tools.errors import ArgumentsError, ToolDefinitionError
from tools.schemas.places import NUL_OR_SURROGATE, PLACE, Arguments, Template, as_text, names_in

# a program without a / is looked for here
FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
# to a shell these are no words; here they would be arguments
SHELL_SIGNS = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"})
NO_SHELL = "there is no shell for |, > or &&"
# of a command in one text
FOR_A_SHELL = re.compile(r"[;<>|&()`]+")
# what stands in a YAML list without quotes
PLAIN_WORD = re.compile(r"[A-Za-z0-9_./+=-][A-Za-z0-9_./+=:@-]*")
# programs that run code which stands in an argument, and what stands before that
INTERPRETER = re.compile(
    r"(?:ba|da|z|k|mk|a|fi|c|tc)?sh|busybox|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|node"
    r"|deno|bun|php[\d.]*|lua[\d.]*|Rscript|pwsh"
)
CODE = re.compile(r"-[A-Za-z]*[ceEprP]|--(?:eval|command|print|exec)|-Command|eval")
# MAX_ARG_STRLEN of Linux, with the NUL behind it
MAX_ARGUMENT_BYTES = 131_071


def find_program(name: str) -> str:
    """Find the path of a program.

    Raises:
        ToolDefinitionError: there is none.
    """
    if PLACE.search(name):
        raise ToolDefinitionError("the program cannot be an argument", "argv", "unknown-program")
    if " " in name and not _is_program(name):
        words = listed_words(name) or f"{NO_SHELL}; write a script, and name it"
        text = f"argv has a program and each of its arguments by itself: {words}"
        raise ToolDefinitionError(text, "argv", "unknown-program")
    if "/" not in name:
        for folder in FOLDERS:
            if _is_program(found := f"{folder}/{name}"):
                return found
        text = f"there is no program {name!r} in {':'.join(FOLDERS)}; write its path"
        raise ToolDefinitionError(text, "argv", "unknown-program")
    if not name.startswith("/"):
        text = f"write the whole path of {name!r}, or the program that reads it: [sh, {name}]"
        raise ToolDefinitionError(text, "argv", "unknown-program")
    if not _is_program(name):
        text = f"{name} is no program that can be run here"
        raise ToolDefinitionError(text, "argv", "unknown-program")
    return name


def listed_words(command: str) -> str:
    """Return the words of a command as a YAML list; "" where only a shell can read it."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        found = list(words)
    except ValueError:
        # a quote without its end
        return ""
    if any(FOR_A_SHELL.fullmatch(one) for one in found):
        return ""
    shown = (one if PLAIN_WORD.fullmatch(one) else json.dumps(one) for one in found)
    return f"[{', '.join(shown)}]"


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


def require_no_code(argv: Sequence[str], properties: Mapping[str, Any]) -> None:
    """Check that no argument stands within the code of a shell, or of another interpreter.

    Its text would be a part of that code. One that is the whole code is meant so.

    Args:
        argv: of an entry.
        properties: the schema of each argument.

    Raises:
        ToolDefinitionError: one does, and may be any text.
    """
    for place, program in _code_in(argv):
        if PLACE.fullmatch(argv[place]):
            continue
        for name in names_in(argv[place]):
            schema = properties.get(name, {})
            if "enum" in schema or schema.get("type") in ("integer", "number", "boolean"):
                continue
            text = f"{{{name}}} stands in code for {program}, so that what a model writes is run"
            how = f'["bash", "-c", \'echo "$1"\', "_", "{{{name}}}"]'
            text = f"{text}; give it as an argument of its own, as {how}, or write a script"
            raise ToolDefinitionError(text, ("argv", place), "bad-value")


def _code_in(argv: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the place of each item that is code, and the program that runs it."""
    program = ""
    for place, word in enumerate(argv):
        if program and CODE.fullmatch(argv[place - 1]):
            yield place, program
        if not word.startswith("-") and word != "eval":
            # its options stand directly behind a program
            name = word.rpartition("/")[2]
            program = name if INTERPRETER.fullmatch(name) else ""


def fill_argv(config: CommandTool, program: str, arguments: Arguments) -> list[str]:
    """Fill the program and its arguments; an item with an absent argument is left out.

    Raises:
        ArgumentsError: an argument cannot be one of a program.
    """
    filled = [program]
    for item in config.argv[1:]:
        if not Template(item).is_filled(arguments):
            continue
        whole = PLACE.fullmatch(item)
        value = arguments[whole[1]] if whole is not None else None
        if whole is not None and isinstance(value, list):
            filled += [_checked(whole[1], one, config) for one in value]
        else:
            filled.append(Template(item).fill(arguments, lambda n, v: _checked(n, v, config)))
    for item in filled:
        if len(item.encode()) > MAX_ARGUMENT_BYTES:
            raise ArgumentsError("an argument of a program is 128 KiB at most")
    return filled


def _checked(name: str, value: Any, config: CommandTool) -> str:
    text = as_text(name, value, NUL_OR_SURROGATE)
    if text.startswith(("-", "@")) and not config.dash_arguments:
        raise ArgumentsError(
            f"{name}: begins with {text[0]!r}, which a program may read as an option; "
            "dash_arguments can allow it"
        )
    return text


def fill_stdin(config: CommandTool, arguments: Arguments) -> bytes:
    """Fill what the program reads.

    Raises:
        ArgumentsError: an argument has no form as text.
    """
    if config.stdin is None or not Template(config.stdin).is_filled(arguments):
        return b""
    template = Template(config.stdin)
    return template.fill(arguments, lambda n, v: as_text(n, v, NUL_OR_SURROGATE)).encode()
