"""The crew of the harness: its tools act, and a ledger outside counts it."""

from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.mcp_servers import raw_server

# a run that harms nobody may be in several processes when these are killed
MAX_RECOVERIES = 6


ACTS = '''
import ctypes, os, signal
from tests.faults.crashing import reach
from . import witness


def _act(kind, about):
    reach("before_dispatch")
    witness.act(kind, about)
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


def sign(about: str) -> str:
    """Sign what a person has approved."""
    return _act("signed", about)


def end(about: str) -> str:
    """End the process."""
    _act("poison", about)
    os.kill(os.getpid(), signal.SIGKILL)
'''


# used by the module above, by a command and by an MCP server
WITNESS = """
import json, os, sys, urllib.request


def act(kind, about):
    body = json.dumps({"kind": kind, "about": about}).encode()
    urllib.request.urlopen(urllib.request.Request(os.environ["LEDGER"], body), timeout=10).read()


if __name__ == "__main__":
    act(*sys.argv[1:])
    print("ok")
"""


MCP_SERVER = """
import witness

TOOL["inputSchema"] = {"type": "object", "properties": {"about": {"type": "string"}}, "required": ["about"]}

def called(request):
    witness.act("once", request["params"]["arguments"]["about"])
    text(request)
"""


TOOLS = {
    "look": {"kind": "python", "function": "acts.py:look", "effect": "read"},
    "note": {"kind": "python", "function": "acts.py:note", "effect": "idempotent"},
    "pay": {"kind": "python", "function": "acts.py:pay", "effect": "once"},
    "end": {"kind": "python", "function": "acts.py:end"},
    "sign": {
        "kind": "python",
        "function": "acts.py:sign",
        "effect": "once",
        "requires_approval": True,
    },
    "mark": {
        "kind": "command",
        "description": "Write what may be written twice.",
        "argv": ["python3", "witness.py", "idempotent", "{about}"],
        "effect": "idempotent",
        "env": {"LEDGER": "${LEDGER}"},
        "network": True,
    },
    # its server keeps the keys of its calls
    "charge": {
        "kind": "http",
        "description": "Pay by a server that knows keys.",
        "method": "POST",
        "url": "${LEDGER}",
        "body": {"kind": "keyed", "about": "{about}"},
        "effect": "once",
        "allow_private": True,
    },
}


RULES: list[dict[str, Any]] = [
    {"agent": "a", "hears": "poison", "say": 'end("{{heard}}")'},
    {"agent": "a", "after": "note", "say": "{{heard}} [G]"},
    {"agent": "a", "after": "look", "say": 'note("{{heard}}")'},
    {"agent": "a", "say": 'look("{{heard}}")'},
    {"agent": "b", "after": "pay", "say": "b has paid {{heard}}"},
    {"agent": "b", "say": 'pay("{{heard}}")'},
    {"agent": "c", "after": "desk_t", "say": "c has told {{heard}}"},
    {"agent": "c", "after": "mark", "say": 'desk_t("{{heard}}")'},
    {"agent": "c", "say": 'mark("{{heard}}")'},
    {"agent": "d", "hears": "go on", "say": "{{heard}} we go [E]"},
    {"agent": "d", "say": "what now?"},
    {"agent": "e", "after": "sign", "say": "paid, and done"},
    {"agent": "e", "after": "charge", "say": 'sign("{{heard}}")'},
    {"agent": "e", "say": 'charge("{{heard}}")'},
]


ROUTING = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}], "d": [{"signal": "[E]", "target": "e"}]},
    "agent_behaviors": {"d": {"wait_for_signal": True}},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
}


def crew(folder: Path) -> Path:
    """Tools of every kind and effect, a group, a pause, in every run."""
    agents: dict[str, Any] = {
        "a": {"tools": ["look", "note", "end"]},
        "b": {"tools": ["pay"]},
        "c": {"tools": ["mark", "desk"]},
        "d": {},
    }
    agents["e"] = {"tools": ["charge", "sign"], "is_terminal": True}
    settings = {
        "disconnect_grace_seconds": -1,
        "max_rounds": 20,
        "tool_result_timeout_seconds": 60,
        "tool_execution_timeout_seconds": 30,
        "max_recoveries": MAX_RECOVERIES,
    }
    folder.mkdir()
    desk = raw_server(folder, MCP_SERVER, env={"LEDGER": "${LEDGER}"}, pin=False)
    write_crew(folder, agents, RULES, TOOLS | {"desk": desk}, routing=ROUTING, settings=settings)
    (folder / "acts.py").write_text(ACTS)
    (folder / "witness.py").write_text(WITNESS)
    return folder
