"""microsoft/conductor: a workflow of agents; what decides between routes is a signal here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from server.cli.imports.draft import Draft
from server.cli.imports.foreign import Foreign, items, line_of, mapping, number_of
from server.cli.imports.models import meant
from server.cli.imports.servers import servers_of
from server.cli.imports.texts import EXPRESSION, id_of, is_filled_in, prompt_of, signal_of
from server.cli.starting.starter import Made

END = "$end"
GATE = "human_gate"
MAX_HANDOFFS, MAX_SECONDS = 1000, 86_400
ASKS = """\
Show the person what is asked below, and let them choose. When they have chosen, answer with the \
signal of their choice alone."""


class Workflow:
    """A workflow in the making of a crew."""

    def __init__(self, path: Path, foreign: Foreign) -> None:
        self.foreign, self.data = foreign, foreign.data
        self.about = mapping(self.data.get("workflow"))
        self.runtime = mapping(self.about.get("runtime"))
        self.draft = Draft(id_of(self.about.get("name") or path.stem), path.parent)
        self.steps: dict[str, tuple[int, Mapping[str, Any]]] = {}
        # by its name there: the agent or the group that it is here
        self.ids: dict[str, str] = {}
        self.groups: dict[str, tuple[int, Mapping[str, Any]]] = {}
        # what is left out, with where it led
        self.gone: dict[str, Sequence[Mapping[str, Any]]] = {}

    def made(self) -> Made:
        """Return the crew."""
        self._list()
        tools = self._servers()
        for name, (number, step) in self.steps.items():
            self._add(number, name, step, tools)
        for name, (number, step) in self.steps.items():
            self._lead(("agents", number), name, step)
        self._groups()
        self._enter()
        self._about()
        return self.draft.made(self.foreign)

    def _each(self, key: str) -> list[tuple[int, dict[str, Any]]]:
        """Return the entries of a list of the file, each with its place and a name."""
        found = enumerate(map(mapping, items(self.data.get(key))))
        return [
            (number, {**one, "name": str(one.get("name") or f"{key}_{number}")})
            for number, one in found
        ]

    def _list(self) -> None:
        """List the steps that become agents and groups; others, such as scripts, do not."""
        for number, step in self._each("agents"):
            name, kind = step["name"], step.get("type", "agent")
            if name in self.steps:
                self.foreign.left_out("agents", number, why="another one has this name")
            elif kind in ("agent", GATE):
                self.steps[name] = number, step
                self.ids[name] = id_of(name, self.ids.values())
            else:
                self.gone[name] = items(step.get("routes"))
                why = f"a step of type {kind}; crewline has agents, groups and people"
                self.foreign.left_out("agents", number, why=why)
        for number, group in self._each("parallel"):
            name = group["name"]
            if name in self.ids or not self._members(group):
                why = "none of its agents is there, or another one has its name"
                self.foreign.left_out("parallel", number, why=why)
                self.gone[name] = items(group.get("routes"))
            else:
                self.groups[name] = number, group
                self.ids[name] = id_of(name, self.ids.values())
        for number, each in self._each("for_each"):
            self.gone[each["name"]] = items(each.get("routes"))
            self.foreign.left_out("for_each", number, why="crewline has no loop over a list")

    def _members(self, group: Mapping[str, Any]) -> list[str]:
        """Return the agents of a group that are there."""
        wanted = map(str, items(group.get("agents")))
        return [self.ids[one] for one in dict.fromkeys(wanted) if one in self.steps]

    def _servers(self) -> list[str]:
        given = self.runtime.get("mcp_servers")
        path = ("workflow", "runtime", "mcp_servers")
        found = servers_of(self.foreign, self.draft.servers, path, given)
        return [own for _, own in found if own is not None]

    def _add(self, number: int, name: str, step: Mapping[str, Any], tools: list[str]) -> None:
        place = ("agents", number)
        is_gate = step.get("type") == GATE
        wanted = mapping(step.get("output"))
        parts = [
            f"- {key}: {one.get('description') or one.get('type') or ''}".rstrip(": ")
            for key, one in wanted.items()
            if isinstance(one, Mapping)
        ]
        answer = "\n".join(["Your answer has:", *parts]) if parts else ""
        asks = ASKS if is_gate else ""
        prompt = prompt_of(asks, step.get("system_prompt"), step.get("prompt"), answer)
        keys = {"name": name, "role": line_of(step.get("description") or name)}
        model = str(step.get("model") or self.runtime.get("default_model") or "")
        found = meant(str(step.get("provider") or self.runtime.get("provider") or "openai"), model)
        if not is_gate and model:
            keys |= self.draft.use(found)
        used = step.get("tools")
        own = {"tools": tools} if tools and used != [] and not is_gate else {}
        made = {**keys, **own, "system_prompt": prompt}
        self.draft.add(self.ids[name], made, self.foreign, *place)
        why = "what is filled in there is what was said before"
        for key in step:
            match key:
                case "prompt" | "system_prompt" if is_filled_in(step[key]):
                    self.foreign.changed(*place, key, why=why)
                case "model" if found.why:
                    self.foreign.changed(*place, key, why=found.why)
                case "name" | "description" | "prompt" | "system_prompt" | "model" | "type":
                    self.foreign.taken(*place, key)
                case "output":
                    self.foreign.changed(*place, key, why="it is asked for in the prompt")
                case "input":
                    why_input = "each agent is shown all that was said before it"
                    self.foreign.changed(*place, key, why=why_input)
                case "tools":
                    why_tools = "all tools of the servers, or none"
                    self.foreign.changed(*place, key, why=why_tools)
                case _:
                    # routes and options are said one by one
                    pass

    def _target(self, name: Any, seen: frozenset[str] = frozenset()) -> str | None:
        """Return where a route leads; behind a step that is left out, to the next one."""
        name = str(name)
        if name in self.ids:
            return self.ids[name]
        if name in self.gone and name not in seen:
            following = mapping(next(iter(self.gone[name]), {}))
            return self._target(following.get("to"), seen | {name})
        return None

    def _lead(self, place: tuple[str | int, ...], name: str, step: Mapping[str, Any]) -> None:
        id_ = self.ids[name]
        routes, options = _ways(step, "routes", "to"), _ways(step, "options", "route")
        for path, one, to in [*routes, *options]:
            target, when = self._target(to), one.get("when") or one.get("label")
            if when is None:
                if target is None:
                    self.draft.behaviors.setdefault(id_, {})["auto_route"] = False
                else:
                    self.draft.defaults.setdefault(id_, target)
                self.foreign.taken(*place, *path)
                continue
            text = one.get("value") if path[0] == "options" else to
            signal = signal_of("END" if text == END else text)
            said = EXPRESSION.sub(lambda found: found[1], str(when))
            if signal not in [known["signal"] for known in self.draft.signals.get(id_, [])]:
                self.draft.lead(id_, signal, target, said)
            self.foreign.changed(*place, *path, why=f"the agent says {signal}")
        if options:
            self.draft.behaviors[id_] = {"wait_for_signal": True}
        elif not routes and not self._is_member(name):
            self.draft.behaviors.setdefault(id_, {})["auto_route"] = False

    def _is_member(self, name: str) -> bool:
        return any(name in items(group.get("agents")) for _, group in self.groups.values())

    def _groups(self) -> None:
        for name, (number, group) in self.groups.items():
            place = ("parallel", number)
            routes = [mapping(one) for one in items(group.get("routes"))]
            last: dict[str, Any] = next((one for one in routes if not one.get("when")), {})
            made: dict[str, Any] = {"agents": self._members(group), "wait_for_all": True}
            # a group does not end a run by itself
            made["next_agent"] = self._target(last.get("to")) or self._conclusion(place)
            if group.get("description"):
                made["description"] = str(group["description"])
            self.draft.groups[self.ids[name]] = made
            for key in ("name", "description", "agents"):
                if key in group:
                    self.foreign.taken(*place, key)
            for n, one in enumerate(routes):
                if one is last:
                    self.foreign.taken(*place, "routes", n)
                else:
                    self.foreign.left_out(*place, "routes", n, why="a group leads to one place")
            if "failure_mode" in group:
                why = "what some members say is enough; a group of which all fail fails"
                self.foreign.changed(*place, "failure_mode", why=why)

    def _conclusion(self, place: tuple[str | int, ...]) -> str:
        """Return an agent with which a run ends behind a group."""
        id_ = id_of("conclusion", [*self.draft.agents, *self.draft.groups])
        keys = {"name": "Conclusion", "role": "puts together what the others have said"}
        keys["system_prompt"] = "Put together, in short, what the others have said."
        self.draft.add(id_, {**keys, "is_terminal": True}, self.foreign, *place)
        return id_

    def _enter(self) -> None:
        entry = self._target(self.about.get("entry_point"))
        if entry in self.draft.groups:
            # a run begins with an agent
            keys = {
                "name": "Start",
                "role": "passes the query on",
                "system_prompt": "Repeat the query.",
            }
            start = id_of("start", self.draft.agents)
            self.draft.add(start, keys, self.foreign, "workflow", "entry_point")
            self.draft.defaults[start] = entry
            entry = start
        self.draft.entry_point = entry or ""

    def _about(self) -> None:
        """Read the keys beside the steps."""
        limits = mapping(self.about.get("limits"))
        for key, own, most in (
            ("max_iterations", "max_handoffs", MAX_HANDOFFS),
            ("timeout_seconds", "timeout_seconds", MAX_SECONDS),
        ):
            if number := number_of(limits.get(key), 1, most):
                self.draft.settings[own] = int(number)
                self.foreign.changed("workflow", "limits", key, why=f"settings.{own}")
        self.draft.description = line_of(self.about.get("description") or "")
        for key in ("name", "description", "entry_point"):
            if key in self.about:
                self.foreign.taken("workflow", key)
        if "input" in self.about:
            names = ", ".join(mapping(self.about["input"]))
            self.foreign.changed("workflow", "input", why=f"the query says it: {names}")
        if "default_model" in self.runtime:
            self.foreign.taken("workflow", "runtime", "default_model")
        if "provider" in self.runtime:
            found = meant(str(self.runtime["provider"]), "")
            why = found.why or "the provider of each agent"
            self.foreign.changed("workflow", "runtime", "provider", why=why)
        if "tools" in self.data:
            self.foreign.left_out("tools", why="names of tools; the servers say which they have")
        if "output" in self.data:
            self.foreign.left_out("output", why="a run's answer is that of its last agent")


def _ways(
    step: Mapping[str, Any], key: str, to: str
) -> list[tuple[tuple[str, int], dict[str, Any], Any]]:
    """Return the ways on from a step: where each stands, what it says, and where it leads."""
    found = enumerate(map(mapping, items(step.get(key))))
    return [((key, number), one, one.get(to)) for number, one in found]


def crew_of_workflow(path: Path, foreign: Foreign) -> Made:
    """Return a crew of a workflow's agents, groups and gates."""
    return Workflow(path, foreign).made()
