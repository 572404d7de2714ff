"""Crews with rehearsals, written by tests, and what becomes of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from crew.rehearsal.playing.suite import Result, Suite
from tests.support.crews import write_crew

RESTART = {
    "kind": "python",
    "function": "acts.py:restart",
    "effect": "once",
    "requires_approval": {"deadline_seconds": 900, "on_deadline": "refuse"},
}
ACTS = '''
def restart(service: str, delay: int = 0) -> str:
    """Restart a service."""
    raise AssertionError("a rehearsal calls no tool")


def look(where: str) -> str:
    """Look somewhere."""
    raise AssertionError("a rehearsal calls no tool")
'''
LOOK = {"kind": "python", "function": "acts.py:look", "effect": "read"}
# says what a desk and a fixer do with a broken service
RULES = [
    {"agent": "desk", "hears": "thanks", "say": "You are welcome. [DONE]"},
    {"agent": "desk", "hears": "broken", "say": "For Fay. [FIX]"},
    {"agent": "desk", "say": "What is wrong?"},
    {"agent": "fixer", "after": "restart", "say": "It is done: {{result.restart}}"},
    {"agent": "fixer", "calls": [{"tool": "restart", "arguments": {"service": "web"}}]},
]


def repair_crew(folder: Path, rules: Sequence[Any] = RULES, **keys: Any) -> Path:
    """Write a crew that mends a service if a person agrees."""
    signals = [{"signal": "[FIX]", "target": "fixer"}, {"signal": "[DONE]", "target": None}]
    routing = {
        "signals": {"desk": signals},
        "agent_behaviors": {"desk": {"wait_for_signal": True}},
    }
    agents = {"desk": {}, "fixer": {"tools": ["restart", "look"], "is_terminal": True}}
    (folder / "acts.py").parent.mkdir(parents=True, exist_ok=True)
    (folder / "acts.py").write_text(ACTS)
    tools = {"restart": RESTART, "look": LOOK}
    return write_crew(folder, agents, rules, tools, **{"routing": routing, **keys})


def rehearse(folder: Path, *cases: Mapping[str, Any], **keys: Any) -> Suite:
    """Write rehearsals beside a crew, and read them."""
    (folder / "tests").mkdir(exist_ok=True)
    data = {**keys, "rehearsals": list(cases)}
    # flow style would need no other reader, but lines are what errors name
    text = yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False, allow_unicode=True)
    (folder / "tests" / "a.yaml").write_text(text)
    return Suite.read(folder)


def played(suite: Suite) -> list[Result]:
    """Play them all; their files have no mistake."""
    assert suite.problems == []
    return list(suite.play_all(suite.cases))


def play_one(folder: Path, **case: Any) -> Result:
    """Play one rehearsal."""
    (result,) = played(rehearse(folder, {"name": "one", **case}))
    return result


def kinds(result: Result) -> list[str]:
    """What is wrong with it."""
    return list(dict.fromkeys(one.kind for one in result.mismatches))
