"""docker's cagent: a team that a first agent leads; each member gives the word back to it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.cli.imports.draft import Draft
from server.cli.imports.foreign import Foreign, items, line_of, mapping, number_of
from server.cli.imports.models import Meant, meant, meant_by
from server.cli.imports.texts import id_of, is_filled_in, prompt_of, signal_of
from server.cli.starting.starter import Made

BUILT_IN = {
    "shell": "crewline runs no shell; name its commands in tools.yaml (kind: command)",
    "script": "its commands are run by a shell; write them in tools.yaml (kind: command)",
    "memory": "use `conversations` in crew.yaml",
}
OWN = "built into that program; an MCP server can stand for it"
# a hand-over and the way back, several times
HANDOFFS = 20
DONE = "[DONE]"
# keys of a model that an agent's file has too, with what they may be
NUMBERS = {"temperature": (0, 2), "top_p": (0.01, 1), "max_tokens": (1, 10**9)}


def crew_of_team(path: Path, foreign: Foreign) -> Made:
    """Return a crew of all agents of the file.

    The root is the entry point, and talks with the person.
    """
    draft, data = Draft(id_of(path.stem), path.parent), foreign.data
    ids: dict[str, str] = {}
    for name in data["agents"]:
        ids[name] = id_of(name, ids.values())
    root = "root" if "root" in ids else next(iter(ids), "")
    draft.entry_point = ids.get(root, "")
    for name, given in data["agents"].items():
        if isinstance(given, Mapping):
            _add(draft, foreign, ids, name, given)
    for name, given in data["agents"].items():
        _lead(draft, foreign, ids, name, given)
    if draft.signals:
        draft.settings["max_handoffs"] = HANDOFFS
    for id_ in draft.agents:
        if id_ == draft.entry_point and draft.signals.get(id_):
            # without a signal it has asked the person something
            draft.lead(id_, DONE, None, "what was asked for is done")
            draft.behaviors[id_] = {"wait_for_signal": True}
        elif id_ not in draft.defaults:
            draft.agents[id_].setdefault("is_terminal", True)
    for key in ("version", "metadata"):
        if key in data:
            foreign.left_out(key, why="it says nothing of the agents' work")
    return draft.made(foreign)


def _add(
    draft: Draft, foreign: Foreign, ids: Mapping[str, str], name: str, given: Mapping[str, Any]
) -> None:
    place = ("agents", name)
    date = "Today is {{today}}." if given.get("add_date") is True else ""
    prompt = prompt_of(given.get("instruction"))
    if is_filled_in(given.get("instruction")):
        foreign.changed(*place, "instruction", why="what is filled in there, the person says here")
    else:
        foreign.taken(*place, "instruction")
    keys: dict[str, Any] = {"name": str(given.get("name") or name)}
    keys["role"] = line_of(given.get("description") or name)
    keys |= _model(draft, foreign, name, given)
    tools = [
        own
        for number, one in enumerate(items(given.get("toolsets")))
        if (own := _toolset(draft, foreign, (*place, "toolsets", number), one)) is not None
    ]
    used = {"tools": list(dict.fromkeys(tools))} if tools else {}
    whole = "\n\n".join(part for part in (prompt, date) if part)
    draft.add(ids[name], {**keys, **used, "system_prompt": whole}, foreign, *place)
    for key in ("name", "description", "add_date"):
        if key in given:
            foreign.taken(*place, key)


def _lead(
    draft: Draft, foreign: Foreign, ids: Mapping[str, str], name: str, given: Mapping[str, Any]
) -> None:
    """Add the routes: `sub_agents` return to their agent, targets of `handoffs` do not."""
    for key, comes_back in (("sub_agents", True), ("handoffs", False)):
        for number, other in enumerate(map(str, items(given.get(key)))):
            place = ("agents", name, key, number)
            if other not in ids:
                foreign.left_out(*place, why="it is no agent of this file")
                continue
            target = ids[other]
            said = foreign.data["agents"][other]
            when = said.get("description") if isinstance(said, Mapping) else ""
            draft.lead(ids[name], signal_of(other), target, str(when or ""))
            why = f"the signal {signal_of(other)} leads to it"
            if comes_back:
                # an agent of two teams has one way back
                why = f"{why}; it leads back to {draft.defaults.setdefault(target, ids[name])}"
            foreign.changed(*place, why=why)


def _model(draft: Draft, foreign: Foreign, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    text = given.get("model")
    named = mapping(foreign.data.get("models")).get(str(text))
    more: dict[str, Any] = {}
    if isinstance(named, Mapping):
        url, key = str(named.get("base_url") or ""), str(named.get("token_key") or "")
        url = url if url.startswith(("http://", "https://")) else ""
        key = key if key.isidentifier() else ""
        found = meant(str(named.get("provider", "openai")), str(named.get("model") or ""), url, key)
        known = {"provider": True, "model": True, "base_url": url, "token_key": key}
        for part, is_used in known.items():
            if part in named and is_used:
                foreign.taken("models", str(text), part)
        for part, (least, most) in NUMBERS.items():
            if (number := number_of(named.get(part), least, most)) is not None:
                more[part] = int(number) if part == "max_tokens" else number
                foreign.taken("models", str(text), part)
    elif isinstance(text, str) and text != "auto":
        found = meant_by(text)
    else:
        found = Meant({})
    if "model" in given:
        if found.why:
            foreign.changed("agents", name, "model", why=found.why)
        else:
            foreign.taken("agents", name, "model")
    return {**draft.use(found), **more}


def _toolset(draft: Draft, foreign: Foreign, path: tuple[str | int, ...], given: Any) -> str | None:
    """Return a set of tools: the name of its entry in tools.yaml, if there is one."""
    kind = given.get("type") if isinstance(given, Mapping) else None
    if kind != "mcp":
        foreign.left_out(*path, why=BUILT_IN.get(str(kind), OWN))
        return None
    if "ref" in given:
        why = f"{given['ref']} is of Docker's catalogue; write the command or the url of the server"
        foreign.left_out(*path, why=why)
        return None
    own = {key: value for key, value in given.items() if key not in ("type", "remote")}
    reached = {**own, **mapping(given.get("remote"))}
    name = str(given.get("name") or _name_of(reached))
    reached.pop("name", None)
    return draft.servers.add(foreign, path, name, reached)


def _name_of(reached: Mapping[str, Any]) -> str:
    """Return a server without a name: of its package, its program or its host."""
    words = [str(one) for one in items(reached.get("args")) if not str(one).startswith("-")]
    text = (words or [str(reached.get("command") or reached.get("url") or "server")])[0]
    return text.rstrip("/").rpartition("/")[2] or "server"
