"""Every code that a problem can have: what it means, what to do, and an example that shows it.

The page of all codes.
"""

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import yaml

from crew.config.problems import ErrorCode, Problem, Severity, WarningCode, as_text
from crew.config.sources import gather
from crew.crew import Recipe

FILE = Path(__file__).with_name("explanations.yaml")
# on top of which each example is written
BASE = {
    "crew.yaml": "agents: [a]\n",
    "agents/a.yaml": "id: a\nname: A\nrole: helper\nprovider: scripted\nsystem_prompt: You help.\n",
    "script.yaml": "rules: [{say: hello}]\n",
}
B = "id: b\nname: B\nrole: helper\nprovider: scripted\nsystem_prompt: You help.\n"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A code. `example`: files by name.

    None for one that is not there, bytes for one that is no text.
    """

    code: str
    severity: Severity
    means: str
    remedy: str
    example: dict[str, Any]

    def shown(self) -> tuple[list[Problem], str]:
        """What is found in the example, and what is said of it."""
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) / "crew"
            _write(folder, self.example)
            checked = Recipe(environment={}).check(gather(folder))
            found = [problem for problem in checked.problems if problem.code == self.code]
            text = "\n".join(as_text(problem, checked.files.texts) for problem in found)
            return found, text.replace(f"{folder}", "my-crew")

    def as_markdown(self) -> str:
        """A section of the page."""
        parts = [f"## {self.code}", f"*{self.severity}*: {self.means} {self.remedy}"]
        for name, content in self.example.items():
            # what cannot be shown is described by what is said of it
            if (
                isinstance(content, str)
                and (name not in BASE or content != BASE[name])
                and content != B
            ):
                parts.append(f"```yaml\n# {name}\n{content.rstrip()}\n```")
        parts.append(f"```text\n{self.shown()[1]}\n```")
        return "\n\n".join(parts)


@cache
def explanations() -> dict[str, Explanation]:
    """All codes, errors first, in the order of crew/problems."""
    said = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    severity: dict[str, Severity] = dict.fromkeys(get_args(ErrorCode), "error")
    severity |= dict.fromkeys(get_args(WarningCode), "warning")
    return {
        code: Explanation(code, severity[code], **{"example": {}, **said[code]})
        for code in severity
    }


def page() -> str:
    """The page of all codes, as markdown."""
    head = (
        "# What `crew validate` says\n\nEvery code, with an example and what is said of it. `crew explain CODE` shows one. "
        "A warning is allowed in place by a comment on its line or above it: `# crew: allow <code>`, with a reason behind a "
        "colon if you like. Made by `make docs`."
    )
    return "\n\n".join([head, *(one.as_markdown() for one in explanations().values())])


def _write(folder: Path, example: dict[str, Any]) -> None:
    for name, content in {**BASE, **example}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case str():
                path.write_text(B if content == "b" else content, encoding="utf-8")
            case bytes():
                path.write_bytes(content)
            case {"repeat": text, "times": times}:
                path.write_text(text * times, encoding="utf-8")
            case {"numbered": key, "times": times}:
                path.write_text(
                    "".join(f"{key}{number}: 1\n" for number in range(times)), encoding="utf-8"
                )
            case {"link": target}:
                path.symlink_to(target)
