"""An agent's system prompt: `{{variables}}` replaced once.

Or built whole where the agent has none.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
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
    """Replace the known variables.

    What was put in is not looked at again, unknown ones stay as written.
    """
    return VARIABLE.sub(lambda found: values.get(found[1], found[0]), template)


def variables(template: str) -> list[str]:
    """The names between double braces, as written."""
    return [found[1] for found in VARIABLE.finditer(template)]


@dataclass(slots=True)
class Prompt:
    """A system prompt that is filled on the day it is used."""

    # "" for one that is built from the values
    template: str
    # of all variables but `today`; the backstory still with its own variables in it
    values: Mapping[str, str]
    is_terminal: bool
    # tells today's date, ISO 8601
    today: Callable[[], str]
    # added behind the prompt, each a paragraph: route hints, how to call tools in text
    sections: tuple[str, ...] = ()
    _day: str = ""
    _text: str = ""

    def text(self) -> str:
        """The prompt as of today."""
        today = self.today()
        if today != self._day:
            self._text, self._day = self._filled(today), today
        return self._text

    def _filled(self, today: str) -> str:
        values = {**self.values, "today": today}
        # a backstory that names itself keeps that as written
        values["backstory"] = fill(
            values["backstory"], {k: v for k, v in values.items() if k != "backstory"}
        )
        body = fill(self.template, values) if self.template.strip() else self._built(values)
        return "\n\n".join((body.rstrip(), *self.sections))

    def _built(self, values: Mapping[str, str]) -> str:
        parts = [f"You are {values['name']}. Role: {values['role']}"]
        parts += [values["description"]] if values["description"] else []
        parts += [values["backstory"].strip()] if values["backstory"].strip() else []
        parts += [f"Your tools:\n{values['tools']}"] if values["tools"] else []
        if self.is_terminal:
            parts.append("You are the last agent: your answer ends the work, so make it complete.")
        return "\n\n".join(parts)
