"""What `crew init` writes: a small crew that runs at once, one with every key, or a given one.

Beside it are the JSON Schemas for editors.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.authoring.schemas import KINDS, schema_of
from tools.text.yaml_text import to_yaml

STARTERS = Path(__file__).parent / "starters"
# of a script: a run has ten rounds unless its crew says otherwise
MAX_REHEARSED = 6
# endings of a starter's files; beside them Python keeps its own
WRITTEN = (".yaml", ".py", ".json", ".jsonl", ".md", ".csv")
# the database of the runs lies there too, and belongs to one machine
GITIGNORE = ".crew/*.db*\n.crew/*.lock\n"
REHEARSALS = "# yaml-language-server: $schema=../.crew/schemas/rehearsal.json\n# crew test\n"
REHEARSED = "This is a rehearsal: set a provider in agents/operator.yaml."
Files = dict[str, str]


@dataclass(frozen=True, slots=True)
class SampleCall:
    """A call of a tool in the script and the rehearsals of a new crew."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    # a person is asked first
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A crew that was made from something: its files, and how to try it."""

    files: Files
    # what it may be asked first
    query: str
    # what is another than it was, or is left out, each with why
    told: list[str] = field(default_factory=list)
    # of the first run: `--dry` where it has tools that act, say
    option: str = ""


def starter_files(name: str | None) -> Files:
    """Return the files of a starter, `small` or `full`, by their names.

    None: only those beside it.
    """
    written: Files = {}
    if name is not None:
        folder = STARTERS / name
        found = (path for path in folder.rglob("*") if path.suffix in WRITTEN)
        written = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(found)
        }
    for kind in KINDS:
        schema = json.dumps(schema_of(kind), indent=2, ensure_ascii=False)
        written[f".crew/schemas/{kind}.json"] = schema + "\n"
    return {**written, ".gitignore": GITIGNORE}


def operator_crew(
    prompt: str,
    entries: dict[str, Any],
    rehearsed: Sequence[SampleCall],
    **agent: Any,
) -> Files:
    """Return the files of a crew of one agent, with a script that calls some of its tools in turn.

    Two rehearsals come with it.

    Args:
        prompt: the agent's.
        entries: of tools.yaml, by name.
        rehearsed: the script's calls, of which the first are made.
        agent: keys of the agent's file that are to be others.
    """
    operator = {
        "id": "operator",
        "name": "Olga",
        "role": "operator",
        "provider": "scripted",
        "tools": list(entries),
        "system_prompt": prompt,
    }
    files = {
        "crew.yaml": to_yaml({"version": "1.0", "name": "my-crew", "agents": ["operator"]}),
        "agents/operator.yaml": to_yaml({**operator, **agent}),
        "script.yaml": to_yaml(_script(rehearsed[:MAX_REHEARSED])),
        "tests/operator.yaml": REHEARSALS + to_yaml({"rehearsals": _rehearsals(rehearsed[:1])}),
    }
    return {**files, "tools.yaml": to_yaml({"tools": entries})} if entries else files


def _rehearsals(rehearsed: Sequence[SampleCall]) -> list[dict[str, Any]]:
    """Return two rehearsals, of an answer and of a call."""
    answers = {
        "name": "it answers",
        "query": "What can you do?",
        "says": {"operator": ["I help with this machine."]},
        "expect": {"path": ["operator", "end"], "answer": "I help"},
    }
    if not rehearsed:
        again = {"says": {"operator": ["It is well."]}, "expect": {"answer": "It is well."}}
        return [answers, {"name": "it answers again", "query": "How is it?", **again}]
    call = rehearsed[0]
    made = {"tool": call.tool, **({"arguments": call.arguments} if call.arguments else {})}
    calls = {
        "name": "it calls a tool",
        "query": "Please look",
        "says": {"operator": [{"calls": [made]}, "It is well."]},
        "returns": {call.tool: "all is well"},
        **({"answers": [{"approve": True}]} if call.is_asked else {}),
        "expect": {
            "path": ["operator", *(["pause"] if call.is_asked else []), "end"],
            "calls": [{**made, "times": 1}],
            "answer": "It is well.",
        },
    }
    return [answers, calls]


def _script(rehearsed: Sequence[SampleCall]) -> dict[str, Any]:
    """Return one call after the other; rules of later calls stand first."""
    rules: list[dict[str, Any]] = []
    last = ""
    for one in rehearsed:
        call = {"tool": one.tool, "arguments": one.arguments}
        after = {"after": last} if last else {}
        rules.insert(0, {**after, "say": f"I call {one.tool}.", "calls": [call]})
        last = one.tool
    if last:
        end = {"after": last, "say": f"{{{{result.{last}}}}}\n\n{REHEARSED}"}
        return {
            "rules": [end, *rules],
            "results": {one.tool: f"{one.tool} was rehearsed" for one in rehearsed},
        }
    return {"rules": [{"say": REHEARSED}]}


def without_variables(text: str) -> str:
    """Return a text for a prompt.

    What stands in it between double braces is no variable of ours.
    """
    return text.replace("{{", "((").replace("}}", "))")
