"""The crew of the harness: its tools act, and a ledger outside counts it."""

from pathlib import Path
from typing import Any

from tests.support.crews import write_crew

ACTS = '''
import ctypes, json, os, re, signal, urllib.request
from tests.faults.crashing import reach


def _act(kind, about):
    body = json.dumps({"kind": kind, "key": re.search(r"run-[0-9]+", about)[0]}).encode()
    reach("before_dispatch")
    urllib.request.urlopen(urllib.request.Request(os.environ["LEDGER"], body), timeout=10).read()
    reach("after_dispatch")
    return kind


def look(about: str) -> str:
    """Read; hold up the process, with the interpreter's lock, if asked to."""
    if "stall" in about:
        ctypes.PyDLL(None).sleep(7)
    return _act("read", about)


def note(about: str) -> str:
    """Write what may be written twice."""
    return _act("idempotent", about)


def pay(about: str) -> str:
    """Pay."""
    return _act("once", about)


def end(about: str) -> str:
    """End the process."""
    _act("poison", about)
    os.kill(os.getpid(), signal.SIGKILL)
'''


TOOLS = {
    "look": {"kind": "python", "function": "acts.py:look", "effect": "read"},
    "note": {"kind": "python", "function": "acts.py:note", "effect": "idempotent"},
    "pay": {"kind": "python", "function": "acts.py:pay", "effect": "once"},
    "end": {"kind": "python", "function": "acts.py:end"},
}


RULES: list[dict[str, Any]] = [
    {"agent": "a", "hears": "poison", "say": 'end("{{heard}}")'},
    {"agent": "a", "after": "note", "say": "{{heard}} [G]"},
    {"agent": "a", "after": "look", "say": 'note("{{heard}}")'},
    {"agent": "a", "say": 'look("{{heard}}")'},
    {"agent": "b", "after": "pay", "say": "b has paid {{heard}}"},
    {"agent": "b", "say": 'pay("{{heard}}")'},
    {"agent": "c", "after": "note", "say": "c has noted {{heard}}"},
    {"agent": "c", "say": 'note("{{heard}}")'},
    {"agent": "d", "hears": "go on", "say": "{{heard}} we go [E]"},
    {"agent": "d", "say": "what now?"},
    {"agent": "e", "after": "pay", "say": "paid, and done"},
    {"agent": "e", "say": 'pay("{{heard}}")'},
]


ROUTING = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}], "d": [{"signal": "[E]", "target": "e"}]},
    "agent_behaviors": {"d": {"wait_for_signal": True}},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
}


def crew(folder: Path) -> Path:
    """Tools of every effect, a group, a pause, in every run."""
    agents: dict[str, Any] = {
        "a": {"tools": ["look", "note", "end"]},
        "b": {"tools": ["pay"]},
        "c": {"tools": ["note"]},
        "d": {},
    }
    agents["e"] = {"tools": ["pay"], "is_terminal": True}
    settings = {
        "disconnect_grace_seconds": -1,
        "max_rounds": 20,
        "tool_result_timeout_seconds": 60,
        "tool_execution_timeout_seconds": 30,
    }
    write_crew(folder, agents, RULES, TOOLS, routing=ROUTING, settings=settings)
    (folder / "acts.py").write_text(ACTS)
    return folder
