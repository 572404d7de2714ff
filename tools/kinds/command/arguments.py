"""An entry of tools.yaml and arguments -> argv and standard input; pure. No shell sees them."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.approval import DEFINITION
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
# programs that run code which stands in an argument, and the options before that
INTERPRETERS = tuple(
    (re.compile(names), re.compile(options))
    for names, options in (
        (r"(?:ba|da|z|k|mk|a|fi)?sh|busybox", r"-[A-Za-z]*c[A-Za-z]*"),
        (r"(?:python|pypy)[\d.]*", r"-[A-Za-z]*c"),
        (r"perl[\d.]*", r"-[A-Za-z]*[eE]"),
        (r"ruby[\d.]*|lua[\d.]*|Rscript", r"-[A-Za-z]*e"),
        (r"node|nodejs|deno|bun", r"-[a-z]*[ep]|--(?:eval|print)|eval"),
        (r"php[\d.]*", r"-[A-Za-z]*r"),
        (r"pwsh", r"-c|-Command"),
        (r"env", r"-[A-Za-z]*S"),
    )
)
# options of these with a value of their own
WITH_VALUE = re.compile(r"-[A-Za-z]*[oOWX]|--(?:rcfile|init-file)")
# what has no text of a model
BOUND_TYPES = frozenset({"integer", "number", "boolean", "null"})
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


def require_no_code(argv: Sequence[str], parameters: Mapping[str, Any]) -> None:
    """Check that no argument stands within the code of a shell, or of another interpreter.

    Its text would be a part of that code. One that is the whole code is meant so.

    Args:
        argv: of an entry.
        parameters: the schema of its arguments.

    Raises:
        ToolDefinitionError: one does, and may be any text.
    """
    for place, program in _code_in(argv):
        if PLACE.fullmatch(argv[place]):
            continue
        for name in names_in(argv[place]):
            if _is_bound(parameters.get("properties", {}).get(name), parameters.get("$defs", {})):
                continue
            text = f"{{{name}}} stands in code for {program}, so that what a model writes is run"
            how = f'["bash", "-c", \'echo "$1"\', "_", "{{{name}}}"]'
            text = f"{text}; give it as an argument of its own, as {how}, or write a script"
            raise ToolDefinitionError(text, ("argv", place), "bad-value")


def _is_bound(schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Return whether an argument is a number, a flag, one of a list, or as a whole pattern says."""
    if not isinstance(schema, Mapping):
        return False
    if isinstance(name := schema.get("$ref"), str) and name.startswith(DEFINITION):
        return _is_bound(definitions.get(name.removeprefix(DEFINITION)), {})
    for key in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(key), list) and parts:
            return all(_is_bound(one, definitions) for one in parts)
    pattern, kind = str(schema.get("pattern", "")), schema.get("type")
    if "enum" in schema or "const" in schema or (pattern[:1] == "^" and pattern[-1:] == "$"):
        return True
    return BOUND_TYPES.issuperset(kind if isinstance(kind, list) else [kind])


def _code_in(argv: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the place of each item that is code, or has some, and the program that runs it."""
    program, options = "", None
    is_next = is_value = False
    for place, word in enumerate(argv):
        if is_next and word != "--":
            yield place, program
            is_next, options = False, None
        elif is_value or is_next:
            is_value = False
        elif options is not None and options.fullmatch(word):
            is_next = True
        elif options is not None and word.startswith("-"):
            # the code may stand right behind its option
            if options.match(word):
                yield place, program
            is_value = WITH_VALUE.fullmatch(word) is not None
        else:
            program = word.rpartition("/")[2]
            known = (one for names, one in INTERPRETERS if names.fullmatch(program))
            options = next(known, None)


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
