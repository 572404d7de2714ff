"""An agent's system prompt: `{{variables}}` replaced once, or built where the agent has none."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.outputs.answers import texts_of
from tools.clock import Clock

# a name, or output.<agent>.<field>
NAME = r"[A-Za-z_]\w*|output\.[^{}]*?"
VARIABLE = re.compile(rf"(?<!\\)\{{\{{\s*({NAME})\s*\}}\}}")
# stands for the text {{name}} itself
ESCAPED = re.compile(rf"\\(\{{\{{\s*(?:{NAME})\s*\}}\}})")
VARIABLE_OR_ESCAPED = re.compile(f"{VARIABLE.pattern}|{ESCAPED.pattern}")
NO_OUTPUTS: Mapping[str, Mapping[str, Any]] = {}
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


# begins the name of a value of a typed answer
OUTPUT = "output."


def parse_output_name(variable: str) -> tuple[str, str] | None:
    """Return the agent and the field that a variable names; None for any other variable."""
    if not variable.startswith(OUTPUT):
        return None
    agent_id, _, field = variable.removeprefix(OUTPUT).partition(".")
    return agent_id, field


def fill(template: str, values: Mapping[str, str]) -> str:
    r"""Replace the known variables once; unknown ones stay as written, `\{{x}}` is `{{x}}`."""

    def part(found: re.Match[str]) -> str:
        return found[2] if found[1] is None else values.get(found[1], found[0])

    return VARIABLE_OR_ESCAPED.sub(part, template)


def _value(name: str, outputs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a value of a typed answer as text; "" where there is none."""
    named = parse_output_name(name)
    assert named is not None, "only names of outputs are kept"
    return ", ".join(texts_of(outputs.get(named[0], {}).get(named[1])))


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
    # the values of typed answers that it names
    outputs: tuple[str, ...] = ()
    _day: str = ""
    _text: str = ""

    def text(self, outputs: Mapping[str, Mapping[str, Any]] = NO_OUTPUTS) -> str:
        """Return the prompt as of today (UTC, ISO 8601).

        Args:
            outputs: by agent, its newest typed answer in the run.
        """
        today = self.clock.now().date().isoformat()
        if self.outputs:
            return self._filled(today, {name: _value(name, outputs) for name in self.outputs})
        if today != self._day:
            self._text, self._day = self._filled(today, {}), today
        return self._text

    def _filled(self, today: str, outputs: Mapping[str, str]) -> str:
        values = {**self.values, **outputs, "today": today}
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
