"""The crew that is written: agents, where each leads, tools, and the table."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.cli.imports.foreign import Foreign, Part
from server.cli.imports.models import Meant
from server.cli.imports.rehearsing import imported_rehearsals
from server.cli.imports.servers import ImportedServers
from server.cli.starting.starter import Files, Made
from tools.errors import ToolDefinitionError
from tools.kinds.mcp.lock import LOCK_FILE, to_lock
from tools.text.yaml_text import to_yaml

TABLE_FILE = "imported.md"
QUERY = "What can you do?"
REHEARSED = "This is a rehearsal of {name}."


@dataclass(slots=True)
class Draft:
    """A crew in the making."""

    name: str
    folder: Path
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    description: str = ""
    entry_point: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    signals: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    defaults: dict[str, str | None] = field(default_factory=dict)
    behaviors: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    providers: dict[str, Any] = field(default_factory=dict)
    servers: ImportedServers = field(init=False)
    # where each agent stands
    places: dict[str, tuple[Foreign, tuple[str | int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.servers = ImportedServers(self.folder)

    def add(self, id_: str, keys: dict[str, Any], foreign: Foreign, *path: str | int) -> None:
        """Add an agent that stands at a place of a file."""
        self.agents[id_] = keys
        self.places[id_] = foreign, path

    def use(self, model: Meant) -> dict[str, Any]:
        """Return the keys of an agent that has a model; its provider is declared."""
        self.providers |= model.providers
        return model.keys

    def lead(self, agent: str, signal: str, target: str | None, when: str = "") -> None:
        """Add a signal by which an agent leads to a target."""
        said = {"signal": signal, "target": target, "description": " ".join(when.split())}
        self.signals.setdefault(agent, []).append(
            {k: v for k, v in said.items() if v or k == "target"}
        )

    def made(self, *foreign: Foreign) -> Made:
        """Return the files of the crew, with the table.

        Raises:
            ToolDefinitionError: no agent is left.
        """
        self._leave_out_unreachable()
        self._open_loops()
        if not self.agents:
            raise ToolDefinitionError(f"{foreign[0].file}: no agent of it can be taken over")
        routing = {
            "signals": self.signals,
            "defaults": self.defaults,
            "agent_behaviors": self.behaviors,
            "parallel_groups": self.groups,
        }
        crew: dict[str, Any] = {
            "version": "1.0",
            "name": self.name,
            "description": self.description,
            "entry_point": self.entry_point or next(iter(self.agents)),
            "agents": list(self.agents),
            "settings": self.settings,
            "routing": {key: value for key, value in routing.items() if value},
            "providers": self.providers,
        }
        files: Files = {"crew.yaml": to_yaml({key: value for key, value in crew.items() if value})}
        for id_, keys in self.agents.items():
            files[f"agents/{id_}.yaml"] = to_yaml({"id": id_, **keys})
        files["script.yaml"] = to_yaml({"rules": [self._rule(one) for one in self.agents]})
        if self.servers.entries:
            files["tools.yaml"] = to_yaml({"tools": self.servers.entries})
            files[LOCK_FILE] = to_lock(self.servers.locked)
        files |= imported_rehearsals(files, crew["entry_point"], QUERY)
        parts = [part for one in foreign for part in one.table()]
        files[TABLE_FILE] = _as_markdown(foreign, parts)
        told = [str(part) for part in parts if part.fate != "taken"]
        return Made(files, QUERY, told, option=" --provider scripted")

    def _leave_out_unreachable(self) -> None:
        """Leave out agents that nothing leads to, which are errors in a crew."""
        entry = self.entry_point or next(iter(self.agents), "")
        reached, following = set[str](), [entry]
        while following:
            here = following.pop()
            if here not in reached:
                reached.add(here)
                following += self._ways(here)
        for id_ in [one for one in self.agents if one not in reached]:
            del self.agents[id_]
            for known in (self.signals, self.defaults, self.behaviors):
                known.pop(id_, None)
            foreign, path = self.places[id_]
            foreign.left_out(*path, why="nothing leads to it")
        self.groups = {name: one for name, one in self.groups.items() if name in reached}

    def _open_loops(self) -> None:
        """Let an agent end each loop that nothing leaves, which is an error in a crew."""
        ends = {one for one in self.agents if self._may_end(one)}
        while True:
            led = {
                *ends,
                *(one for one in (*self.agents, *self.groups) if ends & {*self._ways(one)}),
            }
            if led != ends:
                ends = led
                continue
            closed = [one for one in self.agents if one not in ends]
            if not closed:
                return
            self.lead(closed[0], "[DONE]", None, "all is done")
            ends.add(closed[0])

    def _may_end(self, agent: str) -> bool:
        ends = any(one["target"] is None for one in self.signals.get(agent, []))
        # one that leads nowhere: the last one, or a member of a group
        return ends or not self._ways(agent) or self.agents[agent].get("is_terminal") is True

    def _ways(self, here: str) -> list[str]:
        """Return where an agent or a group leads."""
        if here in self.groups:
            group = self.groups[here]
            return [*group["agents"], *filter(None, [group.get("next_agent")])]
        ways = [one["target"] for one in self.signals.get(here, [])] + [self.defaults.get(here)]
        return [one for one in ways if one is not None]

    def _rule(self, agent: str) -> dict[str, Any]:
        """Return what the scripted model says for an agent.

        A signal that ends the run, or leads on.
        """
        said = REHEARSED.format(name=self.agents[agent]["name"])
        ways = self.signals.get(agent, [])
        ends = [one for one in ways if one["target"] is None]
        others = [one for one in ways if one["target"] not in (None, agent)]
        chosen = (ends or others)[:1]
        return {"agent": agent, "say": " ".join([said, *(one["signal"] for one in chosen)])}


def _as_markdown(foreign: tuple[Foreign, ...], parts: list[Part]) -> str:
    names = ", ".join(one.file for one in foreign)
    lines = [
        f"# What became of {names}",
        "",
        "| line | part | what became of it | why |",
        "| --- | --- | --- | --- |",
    ]
    for part in parts:
        cells = [f"{part.file}:{part.line}", f"`{part.what}`", part.fate, part.why]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
