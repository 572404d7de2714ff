"""A copy of a crew with planted secrets, and with the hostile model."""

import os
import shutil
from pathlib import Path
from secrets import token_hex
from typing import Any

import yaml

from crew.config.files.environment import SECRET_NAME, VARIABLE
from crew.config.files.sources import ENDINGS
from crew.config.files.yaml_reader import read
from server.cli.leaks.hostile_model import NOTICES
from server.variables import VARIABLES
from tools.schemas.yaml_shape import plain

# has what URLs and base64 write in another way
CANARY = "cnry/{}+{}"


class Plant:
    """What is planted, by the name of its variable or its place."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        # of the server that is started
        self.token = token_hex(16)

    def value(self, name: str) -> str:
        """Return the planted value of a name."""
        return self.values.setdefault(name, CANARY.format(token_hex(8), token_hex(4)))

    def address(self, name: str, port: int) -> str:
        """Return a planted address on this machine."""
        made = f"http://127.0.0.1:{port}{NOTICES}{token_hex(12)}"
        return self.values.setdefault(name, made)


def plant_environment(folder: Path, plant: Plant) -> dict[str, str]:
    """Return this process's environment, with planted values under all names that may be secrets.

    Args:
        folder: of a crew; its files name further ones.
        plant: gets them.
    """
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    wanted = {name for name in environment if SECRET_NAME.search(name)} | {"OPENAI_API_KEY"}
    for path in _yaml_files(folder):
        for found in VARIABLE.finditer(path.read_text(encoding="utf-8", errors="replace")):
            given = environment.get(found[1], found[2] or "")
            # a number or an address is needed as it is
            if not given.replace(".", "", 1).isdigit() and "://" not in given:
                wanted.add(found[1])
    for name in wanted:
        environment[name] = plant.value(name)
    environment["CREW_API_TOKENS"] = plant.token
    return environment


def copy_crew(folder: Path, target: Path) -> None:
    """Copy a crew without its runs."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns(".crew", ".git", ".venv"))


def redirect(folder: Path, port: int, plant: Plant) -> None:
    """Change a copy of a crew: its agents and channels use a port of this machine.

    Nothing is started but by who asks: it has no schedules, and no MCP servers.
    """
    servers = _mcp_names(folder)
    for path in _yaml_files(folder):
        is_crew = path.parent == folder
        if is_crew and path.stem not in ("crew", "tools"):
            continue
        # as crews are read: `on` is a text
        data = plain(read(path.name, path.read_bytes()).data)
        if not isinstance(data, dict):
            continue
        if is_crew:
            _without_servers(data)
        if is_crew and path.stem == "crew":
            data.pop("schedules", None)
            for name, channel in (data.get("notify") or {}).items():
                _redirect_channel(channel)
                channel["url"] = f"http://127.0.0.1:{port}{NOTICES}{name}"
                if channel["kind"] == "slack":
                    # who knows the address may post
                    channel["url"] = plant.address(f"address of notify.{name}", port)
            providers = data.setdefault("providers", {})
            providers.setdefault("openai", {})
            for name, provider in providers.items():
                if name != "scripted":
                    _redirect_provider(provider, port, plant)
        elif not is_crew:
            data["tools"] = [
                name for name in data.get("tools") or [] if not name.startswith(servers)
            ]
            for part in (data, data.get("primary"), data.get("backup")):
                _redirect_agent(part)
        path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")


def _mcp_names(folder: Path) -> tuple[str, ...]:
    """Return the names of entries that are MCP servers; their tools' names begin with them."""
    found = []
    for stem in ("crew", "tools"):
        for ending in ENDINGS:
            path = folder / f"{stem}{ending}"
            data = plain(read(path.name, path.read_bytes()).data) if path.is_file() else None
            tools = data.get("tools") if isinstance(data, dict) else None
            found += [name for name, one in (tools or {}).items() if _is_server(one)]
    # no name begins with this one
    return tuple(found) or ("\0",)


def _is_server(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("kind") == "mcp"


def _without_servers(data: dict[str, Any]) -> None:
    tools = data.get("tools")
    if isinstance(tools, dict):
        data["tools"] = {name: one for name, one in tools.items() if not _is_server(one)}


def _redirect_channel(channel: dict[str, Any]) -> None:
    """Redirect a channel to this machine, an email as a webhook."""
    if channel.get("kind") == "email":
        kept = {"on": channel["on"]} if "on" in channel else {}
        channel.clear()
        channel |= {"kind": "webhook", **kept}


def _redirect_provider(provider: dict[str, Any], port: int, plant: Plant) -> None:
    provider["base_url"] = f"http://127.0.0.1:{port}/v1"
    provider["max_retries"] = 1
    if not VARIABLE.search(str(provider.get("api_key", "${NONE}"))):
        # one that stands in the file
        provider["api_key"] = plant.value("api_key in crew.yaml")


def _redirect_agent(part: Any) -> None:
    if isinstance(part, dict) and "provider" in part:
        part.pop("provider_url", None)
        if part["provider"] in ("scripted", "ollama"):
            part["provider"] = "openai"


def _yaml_files(folder: Path) -> list[Path]:
    files = [*folder.iterdir(), *(folder / "agents").glob("*")]
    return [path for path in files if path.suffix in ENDINGS and path.is_file()]
