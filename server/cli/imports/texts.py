"""Prompts, variables and names of other programs, as they stand in a crew's files; pure."""

import re
from typing import Any

from server.cli.starting.starter import without_variables

NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]+")
MAX_ID = 64
# what a template of theirs fills in
EXPRESSION = re.compile(r"\{\{\s*(.*?)\s*\}\}", re.DOTALL)
STATEMENT = re.compile(r"[ \t]*\{[%#].*?[%#]\}[ \t]*\n?", re.DOTALL)
FIELD = re.compile(r"(?<!\{)\{([A-Za-z_][\w.]*)\}(?!\})")
# a secret of the environment, in the ways of desktop clients and editors
VARIABLES = re.compile(
    r"\$\{(?:env:|input:)?([A-Za-z_][\w-]*)(?::-([^{}]*))?\}|\$([A-Z][A-Z0-9_]+)\b"
)
BY_PERSON = "What stands in <angle brackets> is in the query, or in what was said before."


def id_of(text: Any, known: Any = ()) -> str:
    """Return an id that crewline takes, unlike those that are known."""
    made = NOT_IN_IDS.sub("_", str(text)).strip("_")[:MAX_ID] or "agent"
    made = made if not made.startswith("x-") else f"a_{made}"
    number, found = 2, made
    while found in known:
        found, number = f"{made}_{number}", number + 1
    return found


def signal_of(text: Any) -> str:
    """Return the signal by which an agent is handed over to."""
    return f"[{NOT_IN_IDS.sub('_', str(text)).strip('_').upper() or 'NEXT'}]"


def prompt_of(*texts: Any) -> str:
    """Return their prompts as one of ours."""
    text = "\n\n".join(str(one).strip() for one in texts if one)
    filled = filled_in(text)
    if filled == text:
        return without_variables(text)
    return f"{without_variables(filled)}\n\n{BY_PERSON}"


def filled_in(text: Any) -> str:
    """Return a text in which `<topic>` stands for what a template of theirs fills in."""
    filled = STATEMENT.sub("", str(text))
    filled = EXPRESSION.sub(lambda found: f"<{_words(found[1])}>", filled)
    return FIELD.sub(lambda found: f"<{_words(found[1])}>", filled)


def is_filled_in(text: Any) -> bool:
    """Return whether a template of theirs fills something in."""
    return any(pattern.search(str(text)) for pattern in (STATEMENT, EXPRESSION, FIELD))


def _words(expression: str) -> str:
    """Return an expression in words: `planner.output.plan | json` is the plan of the planner."""
    name = re.split(r"[|\s(\[]", expression.strip(), maxsplit=1)[0].strip("'\"")
    parts = [part for part in name.split(".") if part not in ("workflow", "input", "output", "")]
    if not parts:
        return "input"
    parts = [part.replace("_", " ") for part in parts]
    return " of ".join(reversed(parts))


def variables_of(text: str) -> str:
    """Return a text with environment variables as crewline writes them, each with a default."""
    return VARIABLES.sub(
        lambda found: f"${{{(found[1] or found[3]).replace('-', '_').upper()}:-{found[2] or ''}}}",
        text,
    )
