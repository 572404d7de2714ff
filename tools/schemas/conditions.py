"""Conditions of approvals: each is on an argument that there is, and can hold; pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tools.approval import ApprovalRule, Condition, can_hold
from tools.errors import ToolDefinitionError
from tools.text.suggest import nearest

# a comparison as a text, which compares nothing
COMPARISON = re.compile(r"\s*([<>])=?\s*(-?\d+(?:\.\d+)?)\s*")


def _meant(condition: Condition) -> str:
    """Return what is written for a comparison, where a condition has one as its value."""
    for value in condition.values or ():
        found = COMPARISON.fullmatch(value) if isinstance(value, str) else None
        if found is not None:
            key = "above" if found[1].startswith(">") else "below"
            return f"; write {{{key}: {found[2]}}}"
        if isinstance(value, dict) and value.keys() <= {"above", "below", "matches", "not"}:
            return f"; write {json.dumps(value)} without the list"
    return ""


def require_conditions(
    rule: ApprovalRule, known: Mapping[str, Any], definitions: Mapping[str, Any]
) -> None:
    """Check that each condition of a rule is on a known argument, and can hold.

    Args:
        rule: of a tool.
        known: its arguments, with the schema of each.
        definitions: `$defs` of its schema.

    Raises:
        ToolDefinitionError: one is not, or the rule could never apply.
    """
    for name, condition in (pair for conditions in rule.when for pair in conditions.items()):
        if name in known and not can_hold(condition, known[name], definitions):
            text = f"no value of {name!r} meets this condition, so nobody would ever be asked"
            text += _meant(condition)
            raise ToolDefinitionError(text, ("requires_approval", "when", name), "bad-value")
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near!r}?" if near else f"; it has {', '.join(known) or 'none'}"
            text = f"when is on an argument {name!r} that the tool does not have{hint}"
            raise ToolDefinitionError(text, "requires_approval", "bad-value")
