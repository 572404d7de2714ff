"""A difference as people read it; pure."""

import difflib
from typing import Any

from pydantic_core import to_json

MAX_SHOWN = 80
# prompts and other texts: how many lines differ says more than the lines
TEXTS = frozenset({"system_prompt", "backstory", "description", "prompt", "instructions"})


def shown_value(value: Any) -> str:
    """Return a value as people read it."""
    if value is None:
        return "none"
    if isinstance(value, str):
        text = value
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list) else to_json(value).decode()
    text = " ".join(text.split()) or "nothing"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def change_text(path: tuple[str, ...], then: Any, now: Any) -> str:
    """Return what has changed at a path, in the crew's words."""
    match path:
        case ("routing", "signals", agent, signal, "target"):
            to, was = _target(now), _target(then)
            return f"route {agent} {signal} → {to} (was {was})"
        case ("routing", "defaults", agent):
            return f"route {agent} without a signal → {_target(now)} (was {_target(then)})"
        case ("routing", "parallel_groups", group, *rest):
            return f"group {group}: {_value(rest, then, now)}"
        case ("routing", *rest) | ("settings", *rest):
            return _value(rest, then, now)
        case ("agents",):
            return f"agents: {_lists(then, now)}"
        case ("agents", agent, *rest):
            return f"agent {agent}: {_value(rest, then, now)}"
        case ("tools", tool, "requires_approval"):
            return f"tool {tool}: {'asks a person' if now else 'no longer asks a person'}"
        case ("tools", tool, "requires_approval", *rest):
            return f"tool {tool}: approval: {_value(rest, then, now)}"
        case ("script",) if then is None or now is None:
            return f"script: {'gone' if now is None else 'new'}"
        case ("script",):
            return f"script: {_changed_lines(then, now)}"
        case ("tools", tool, *rest):
            return f"tool {tool}: {_value(rest, then, now)}"
        case _:
            return _value(list(path), then, now)


def _value(path: list[str], then: Any, now: Any) -> str:
    name = ".".join(path)
    if path and path[-1] in TEXTS:
        return f"{name}, {_changed_lines(then, now)}"
    if isinstance(then, list) and isinstance(now, list):
        return f"{name}: {_lists(then, now)}"
    return f"{name} {shown_value(then)} → {shown_value(now)}"


def _lists(then: Any, now: Any) -> str:
    """Return what comes to a list, and what goes; its order, where that is all."""
    before, after = list(then or ()), list(now or ())
    comes = [one for one in after if one not in before]
    goes = [one for one in before if one not in after]
    parts = [f"{shown_value(comes)} more"] if comes else []
    parts += [f"{shown_value(goes)} less"] if goes else []
    return ", ".join(parts) or f"in another order: {shown_value(after)}"


def _changed_lines(then: Any, now: Any) -> str:
    before, after = str(then or "").splitlines(), str(now or "").splitlines()
    found = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    count = sum(max(b - a, d - c) for kind, a, b, c, d in found if kind != "equal")
    return f"{count} line{'s' * (count != 1)}"


def _target(value: Any) -> str:
    return "the end" if value is None else str(value)
