"""Conditions of approvals: each is on an argument that there is, and can hold; pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tools.approval import ApprovalRule, Condition, can_hold, dead_values
from tools.errors import ToolDefinitionError
from tools.text.suggest import nearest

# what some YAML takes for true and false
FLAGS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
# a comparison as a text, which compares nothing
COMPARISON = re.compile(r"\s*([<>])=?\s*(-?\d+(?:\.\d+)?)\s*")


def _meant(condition: Condition, schema: Any) -> str:
    """Return what is written for a comparison or a flag, where a condition has it as a text."""
    for value in condition.values or ():
        is_flag = isinstance(schema, Mapping) and schema.get("type") == "boolean"
        if is_flag and isinstance(value, str) and (flag := FLAGS.get(value.lower())) is not None:
            return f"; write {flag}"
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
            text += _meant(condition, known[name])
            raise ToolDefinitionError(text, ("requires_approval", "when", name), "bad-value")
        if name in known and (dead := dead_values(condition, known[name], definitions)):
            shown = json.dumps(dead[0], ensure_ascii=False)
            text = f"{shown} is no value of {name!r} by its schema, so nobody would ever be asked"
            text += f" about that{_meant(condition, known[name])}"
            raise ToolDefinitionError(text, ("requires_approval", "when", name), "bad-value")
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near!r}?" if near else f"; it has {', '.join(known) or 'none'}"
            text = f"when is on an argument {name!r} that the tool does not have{hint}"
            raise ToolDefinitionError(text, "requires_approval", "bad-value")
