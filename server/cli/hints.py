"""Commands that a person pastes to answer a paused run."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.text.texts import UNSAFE, visible

# what an approval gives a full budget, by what that has none of
GIVES = {"USD": '{"usd": 1}', "tokens": '{"tokens": 5000}', "calls": '{"again": true}'}
# in this order
DECISIONS = ("approve", "retry", "skip", "deny")


def command_here(folder: Path, run_id: str) -> str:
    """Return the beginning of a command that answers a run of a folder."""
    return f"crew run {quoted(folder)} --answer {run_id}"


def command_there(where: str, run_id: str) -> str:
    """Return the same for a run of a server; `where`: the option that names it."""
    return f"crew answer {run_id} {where}"


def answer_commands(base: str, question: str, calls: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how a pause is answered on the command line, one way a line.

    Args:
        base: the beginning of each command.
        question: what kind the pause asks; "" for an agent's own words.
        calls: those that it asks about.
    """
    if not question:
        return [f'{base} "your answer"']
    if question == "form":
        (call, *_) = calls
        return [f"{base} {_call(call, 'approve={…}')}", f"{base} --decision deny"]
    if question == "budget":
        (call, *_) = calls
        more = _call(call, f"approve={budget_example(call)}")
        return [f"{base} {more}", f"{base} --decision deny"]
    may = [one for one in DECISIONS if all(one in call.get("may", ()) for call in calls)]
    commands = [f"{base} --decision {one}" for one in may]
    if question == "plan":
        commands.append(f'{base} "what is to be planned otherwise"')
    if len(calls) > 1:
        each = [_call(call, _first_of(call)) for call in calls]
        commands.append(" ".join([base, *each]))
    elif "done" in calls[0].get("may", ()):
        commands.append(f'{base} "what it returned" --decision done')
    return commands


def budget_example(call: Mapping[str, Any]) -> str:
    """Return arguments by which an approval gives a full budget room."""
    return GIVES.get(str(call.get("arguments", {}).get("unit")), GIVES["USD"])


def say_how_to_answer(commands: Sequence[str]) -> None:
    """Print how a run is answered that is left in its pause."""
    print("Paused. To answer:", file=sys.stderr)
    for command in commands:
        print(visible(f"  {command}"), file=sys.stderr)


def quoted(folder: Path) -> str:
    """Return a folder as the shell reads it, and no command takes it for an option."""
    text = str(folder)
    return shell_quoted(f"./{text}" if text.startswith("-") else text)


def shell_quoted(text: str) -> str:
    """Return a text as the shell reads it.

    What would command a terminal as bash and zsh escape it.
    """
    if UNSAFE.search(text) is None:
        return shlex.quote(text)
    # no quotation mark is left: a shell that knows no $'…' reads it as one word, too
    escaped = text.replace("\\", "\\\\").replace("'", "\\x27")
    return f"$'{UNSAFE.sub(_as_bytes, escaped)}'"


def _as_bytes(found: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode())


def _first_of(call: Mapping[str, Any]) -> str:
    return next((one for one in DECISIONS if one in call.get("may", ())), "deny")


def _call(call: Mapping[str, Any], decision: str) -> str:
    """Return the option for one call; its id is the model's, so the shell must read it as text."""
    decided = f"{call['agent_id']}/{call['call_id']}={decision}"
    return f"--call {shell_quoted(decided)}"
