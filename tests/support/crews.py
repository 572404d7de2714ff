"""Crews written from Python, and runs of them in this process."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.records.rows import RunRow
from tools import Tool

ROOT = Path(__file__).parents[2]
# the one of C, where it is there, takes a tenth of the time
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
SHARED_CREWS = ROOT.parent / "shared" / "crews"


def write_crew(
    folder: Path,
    agents: Mapping[str, Any],
    rules: Sequence[Any] | None = None,
    tools: Mapping[str, Any] | None = None,
    **crew: Any,
) -> Path:
    """Write a crew's files; name, role and provider of the agents are filled in.

    A crew with conversations has much time to load them: the machine may be busy.

    Args:
        folder: where to.
        agents: by id, their keys.
        rules: of the script.
        tools: of tools.yaml.
        crew: keys of crew.yaml.
    """
    (folder / "agents").mkdir(parents=True, exist_ok=True)
    if "conversations" in crew:
        crew["context"] = {"load_timeout_millis": 10_000, **(crew.get("context") or {})}
    write_yaml(folder / "crew.yaml", {"name": "test-crew", "agents": list(agents), **crew})
    for agent_id, keys in agents.items():
        defaults = {
            "id": agent_id,
            "name": agent_id.title(),
            "role": agent_id,
            "provider": "scripted",
            "system_prompt": f"You are {agent_id}.",
        }
        write_yaml(folder / "agents" / f"{agent_id}.yaml", defaults | dict(keys))
    write_yaml(folder / "script.yaml", {"rules": [{"say": "x"}] if rules is None else list(rules)})
    if tools is not None:
        write_yaml(folder / "tools.yaml", {"tools": dict(tools)})
    return folder


def copy_example(name: str, folder: Path) -> Path:
    """Copy a crew of examples into a folder, without its runs."""
    shutil.copytree(ROOT / "examples" / name, folder / name, ignore=shutil.ignore_patterns(".crew"))
    return folder / name


def write_yaml(path: Path, data: Mapping[str, Any]) -> None:
    """Write a file of YAML, its keys in their order."""
    keys: dict[str, Any] = {"allow_unicode": True, "sort_keys": False}
    text = yaml.dump(dict(data), Dumper=DUMPER, **keys)
    if "\\U" in text:
        # that of C writes an emoji as an escape
        text = yaml.dump(dict(data), Dumper=yaml.SafeDumper, **keys)
    path.write_text(text, encoding="utf-8")


@dataclass
class Played:
    """The events of a run, and how it ended."""

    row: RunRow
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def types(self) -> list[str]:
        """The types of all events, in order."""
        return [event["type"] for event in self.events]

    @property
    def path(self) -> list[str]:
        """The agents that spoke, in order."""
        return [event["metadata"]["agent_id"] for event in self.of("agent_response")]


async def play(
    crew: Crew, *texts: str | Answer, query: Query | None = None, runs: Runs | None = None
) -> Played:
    """Run a crew on a query, and answer its pauses with the further texts."""
    own = runs or Runs(crew, MemoryStore())
    run = await own.start(query or Query(str(texts[0])))
    for text in texts[1:] if query is None else texts:
        await run.outcome()
        run = await own.resume(run.id, Answer(text) if isinstance(text, str) else text)
    row = await run.outcome()
    events = [json.loads(event.encoded) async for event in own.follow(run.id) if event is not None]
    if runs is None:
        await own.__aexit__(None, None, None)
    return Played(row, events)


def crew_of(
    folder: Path, agents: Mapping[str, Any], rules: Sequence[Any], *given: Tool, **crew: Any
) -> Crew:
    """Write a scripted crew and load it."""
    return load_crew(write_crew(folder, agents, rules, **crew), tools=given)


def long_winded(
    folder: Path,
    turns: int,
    window_tokens: int,
    compact: str = "inline",
    *,
    first: Mapping[str, Any] | None = None,
    rules: Sequence[Any] = (),
    tools: Mapping[str, Any] | None = None,
) -> Path:
    """Write a crew whose agent says and does so much in one run that it does not fit its window.

    Args:
        folder: where to.
        turns: of that agent, `a`.
        window_tokens: of the crew.
        compact: of the block `summary`.
        first: other agents, which come first in the list.
        rules: of those agents.
        tools: of tools.yaml.
    """
    said = "The disk of the database was nearly full at noon, and nobody noticed anything. " * 8
    calls = ["GetSystemInfo"]
    script: list[Any] = [
        {"helper": "summary", "say": json.dumps({"summary": "Much was looked at."})},
        *rules,
        {"seen": f"turn {turns}: ", "say": "done"},
        *(
            # the newest one is always shown, whatever is left out
            {"seen": f"turn {turn}: ", "say": f"turn {turn + 1}: {said}", "calls": calls}
            for turn in reversed(range(1, turns))
        ),
        {"say": f"turn 1: {said}", "calls": calls},
    ]
    blocks = [{"kind": "summary", "compact": compact, "max_tokens": 50}]
    blocks.append({"kind": "history", "keep_results": 1, "min_tokens": 100})
    context = {"window_tokens": window_tokens, "answer_tokens": 50, "blocks": blocks}
    agents = {**(first or {}), "a": {"tools": ["GetSystemInfo"], "is_terminal": True}}
    settings = {"max_rounds": turns + 2, "max_tool_output_chars": 200}
    more: dict[str, Any] = {"context": context, "conversations": {}, "settings": settings}
    return write_crew(folder, agents, script, tools, **more)
