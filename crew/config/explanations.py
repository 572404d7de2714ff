"""Every code that a problem can have: what it means, what to do, and files that show it."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args

import yaml

from crew.config.problems import ErrorCode, Severity, WarningCode

FILE = Path(__file__).with_name("explanations.yaml")
# the crew that each example changes
BASE = {
    "crew.yaml": "agents: [a]\n",
    "agents/a.yaml": (
        "id: a\nname: A\nrole: helper\nprovider: scripted\nsystem_prompt: You help.\n"
    ),
    "script.yaml": "rules: [{say: hello}]\n",
}
# stands for a second agent's file where an example says `b`
AGENT_B = "id: b\nname: B\nrole: helper\nprovider: scripted\nsystem_prompt: You help.\n"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A code."""

    code: str
    severity: Severity
    means: str
    remedy: str
    # files by name, in the forms of `write_example`
    example: dict[str, Any] = field(default_factory=dict)
    # what is said of it, where that depends on the machine
    said: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """The files of the example that can be shown, without the base's."""
        changed = {
            name: content for name, content in self.example.items() if isinstance(content, str)
        }
        return {name: text for name, text in changed.items() if text not in ("b", BASE.get(name))}


@cache
def explanations() -> dict[str, Explanation]:
    """Return all codes, errors first, in the order of `problems`."""
    written = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    severity: dict[str, Severity] = dict.fromkeys(get_args(ErrorCode), "error")
    severity |= dict.fromkeys(get_args(WarningCode), "warning")
    return {code: Explanation(code, severity[code], **written[code]) for code in severity}


@cache
def explained_at(code: str) -> str:
    """Return the address of the lines that explain a code, for an editor; "": there are none."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    line = next((number for number, one in enumerate(lines, 1) if one == f"{code}:"), None)
    return f"{FILE.as_uri()}#L{line}" if line is not None else ""


def write_example(folder: Path, explanation: Explanation) -> None:
    """Write the crew of an example.

    A file is a text; `b`, a second agent; bytes; `{repeat: text, times: n}`;
    `{numbered: key, times: n}`, so many keys; `{link: target}`; or null, not there.
    """
    for name, content in {**BASE, **explanation.example}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case str():
                path.write_text(AGENT_B if content == "b" else content, encoding="utf-8")
            case bytes():
                path.write_bytes(content)
            case {"repeat": text, "times": times}:
                path.write_text(text * times, encoding="utf-8")
            case {"numbered": key, "times": times}:
                lines = [f"{key}{number}: 1\n" for number in range(times)]
                path.write_text("".join(lines), encoding="utf-8")
            case {"link": target}:
                path.symlink_to(target)
