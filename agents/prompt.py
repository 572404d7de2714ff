"""An agent's system prompt: `{{variables}}` replaced once, or built where the agent has none."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tools.clock import Clock

VARIABLE = re.compile(r"(?<!\\)\{\{\s*([A-Za-z_]\w*)\s*\}\}")
# stands for the text {{name}} itself
ESCAPED = re.compile(r"\\(\{\{\s*[A-Za-z_]\w*\s*\}\})")
VARIABLE_OR_ESCAPED = re.compile(f"{VARIABLE.pattern}|{ESCAPED.pattern}")
VARIABLES = (
    "name",
    "role",
    "description",
    "backstory",
    "language",
    "organization",
    "tools",
    "signals",
    "today",
)


def fill(template: str, values: Mapping[str, str]) -> str:
    r"""Replace the known variables once; unknown ones stay as written, `\{{x}}` is `{{x}}`."""

    def part(found: re.Match[str]) -> str:
        return found[2] if found[1] is None else values.get(found[1], found[0])

    return VARIABLE_OR_ESCAPED.sub(part, template)


def variables(template: str) -> list[str]:
    """Return the names between double braces, as written."""
    return [found[1] for found in VARIABLE.finditer(template)]


@dataclass(slots=True)
class Prompt:
    """A system prompt that is filled on the day it is used."""

    # "" for one that is built from the values
    template: str
    # of all variables but `today`; the backstory's own variables are not replaced yet
    values: Mapping[str, str]
    is_terminal: bool
    clock: Clock
    # added after the prompt, each a paragraph: route hints, how to call tools in text
    sections: tuple[str, ...] = ()
    _day: str = ""
    _text: str = ""

    def text(self) -> str:
        """Return the prompt as of today (UTC, ISO 8601)."""
        today = self.clock.now().date().isoformat()
        if today != self._day:
            self._text, self._day = self._filled(today), today
        return self._text

    def _filled(self, today: str) -> str:
        values = {**self.values, "today": today}
        # a backstory that names itself keeps that as written
        others = {name: value for name, value in values.items() if name != "backstory"}
        values["backstory"] = fill(values["backstory"], others)
        if self.template.strip():
            body = fill(self.template, values)
        else:
            body = self._built(values)
        return "\n\n".join((body.rstrip(), *self.sections))

    def _built(self, values: Mapping[str, str]) -> str:
        parts = [f"You are {values['name']}. Role: {values['role']}"]
        about = (values["description"].strip(), values["backstory"].strip())
        parts += [text for text in about if text]
        if values["tools"]:
            parts.append(f"Your tools:\n{values['tools']}")
        if self.is_terminal:
            parts.append("You are the last agent: your answer ends the work, so make it complete.")
        return "\n\n".join(parts)
