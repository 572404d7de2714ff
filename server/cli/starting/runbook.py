"""A runbook in Markdown -> a crew of one agent that follows it, with its commands as tools."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from server.cli.starting.starter import Made, SampleCall, operator_crew, without_variables
from tools.errors import ToolDefinitionError
from tools.kinds.command.arguments import find_program
from tools.schemas.places import names_in

# a larger one is not a prompt
MAX_CHARS = 30_000
# languages of code that is commands
SHELLS = frozenset({"", "sh", "bash", "shell", "console", "zsh", "terminal"})
# what only a shell understands
FOR_SHELLS = re.compile(r"[|&;<>$`*?~]|\\$")
# what a shell takes as it stands; in double quotes it still reads `$` and backquotes
QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\$`]|\\.)*"|\\.""")
COMMENT = re.compile(r"(?:^|\s)#")
# an entry of tools.yaml would read this as a variable of the environment
FROM_ENVIRONMENT = "${"
OF_SHELLS = frozenset({"sudo", "cd", "export", "source", "."})
# `<host>` stands for what the reader puts in
PLACE = re.compile(r"<([A-Za-z][\w -]*)>")
NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
PROMPT = """\
You are {{name}}, {{role}}. Follow the runbook below. Begin with what only looks; a person approves
each command. Say what each step has shown before you go on. The steps that need more than your
tools you name, and leave to the person.

"""


@dataclass(slots=True)
class Commands:
    """The commands of a runbook, as entries of tools.yaml."""

    entries: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, line: str, step: str) -> None:
        """Make a tool of a command, or say why none can be made.

        Args:
            line: the command as it is written.
            step: the heading that it stands under.
        """
        line = _without_comment(line)
        try:
            words = _words(line)
            find_program(words[0])
        except (ValueError, ToolDefinitionError) as error:
            self.left_out.append(f"{line}: {error}")
            return
        entry: dict[str, Any] = {
            "kind": "command",
            "description": f"{step}: {line}" if step else line,
            "argv": words,
            "requires_approval": True,
        }
        if names := dict.fromkeys(_argument(found) for found in PLACE.findall(line)):
            properties = {name: {"type": "string"} for name in names}
            schema = {"type": "object", "properties": properties, "required": list(names)}
            entry["parameters"] = schema
        self.entries[self._name(words)] = entry

    def _name(self, words: list[str]) -> str:
        """Return the program and what it is to do, such as `systemctl_status`."""
        said = [Path(words[0]).name, *(one for one in words[1:] if one[:1] not in "-{/")][:3]
        name = NOT_IN_NAMES.sub("_", "_".join(said).lower()).strip("_")[:40] or "command"
        number = 2
        unique = name
        while unique in self.entries:
            unique, number = f"{name}_{number}", number + 1
        return unique


def _words(line: str) -> list[str]:
    """Return the program of a command and its arguments; `<host>` becomes `{host}`.

    Raises:
        ValueError: it cannot be one of a tool, with why.
    """
    if names_in([PLACE.sub("", line)]) or FROM_ENVIRONMENT in line:
        raise ValueError("its braces would be an argument or a variable in tools.yaml")
    words = shlex.split(PLACE.sub(lambda found: f"{{{_argument(found[1])}}}", line))
    unquoted = QUOTED.sub("q", PLACE.sub("place", line))
    if FOR_SHELLS.search(unquoted) or not words or words[0] in OF_SHELLS:
        raise ValueError("needs a shell or more rights; tools have neither")
    return words


def _without_comment(line: str) -> str:
    """Return a command without the comment behind it; a `#` within quotes begins none."""
    found = COMMENT.search(QUOTED.sub(lambda quoted: "q" * len(quoted[0]), line))
    return line[: found.start()].rstrip() if found else line


def crew_of_runbook(file: Path) -> Made:
    """Return the crew of a runbook.

    Raises:
        ToolDefinitionError: the file cannot be read, or is too long for a prompt.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ToolDefinitionError(f"{file} cannot be read: {reason}") from None
    if not text.strip() or len(text) > MAX_CHARS:
        raise ToolDefinitionError(
            f"{file} has {len(text):,} characters; a runbook has 1 to {MAX_CHARS:,}"
        )
    title, commands = _read(MarkdownIt().parse(text))
    rehearsed = [
        SampleCall(
            name,
            dict.fromkeys(entry.get("parameters", {}).get("required", ()), "example"),
            is_asked=bool(entry.get("requires_approval")),
        )
        for name, entry in commands.entries.items()
    ]
    files = operator_crew(PROMPT + without_variables(text), commands.entries, rehearsed)
    query = f"{title}: please begin" if title else "Please begin"
    told = [f"left out: {one}" for one in commands.left_out]
    return Made(files, query, told, option=" --dry" if commands.entries else "")


def _read(tokens: list[Token]) -> tuple[str, Commands]:
    """Return the title, and the commands in blocks of code."""
    title, step, commands = "", "", Commands()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            step = tokens[place + 1].content.strip()
            title = title or step
        elif token.type in ("fence", "code_block"):
            language = token.info.split()[0].lower() if token.info.split() else ""
            if language in SHELLS:
                for line in _lines(token.content, prompts=language == "console"):
                    commands.add(line, step)
    return title, commands


def _lines(code: str, *, prompts: bool) -> list[str]:
    """Return the commands of a block; with prompts, what stands behind `$ ` or `# `."""
    lines = [line.strip() for line in code.replace("\\\n", " ").splitlines()]
    if prompts:
        return [line[2:].strip() for line in lines if line.startswith(("$ ", "# "))]
    plain = [line.removeprefix("$ ").strip() for line in lines]
    return [line for line in plain if line and not line.startswith("#")]


def _argument(name: str) -> str:
    return NOT_IN_NAMES.sub("_", name.lower()).strip("_")
