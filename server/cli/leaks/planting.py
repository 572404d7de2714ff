"""A copy of a crew whose secrets are planted ones, and whose models are the hostile one."""

import os
import shutil
from pathlib import Path
from secrets import token_hex
from typing import Any

import yaml

from crew.config.environment import SECRET_NAME, VARIABLE
from crew.config.sources import ENDINGS
from crew.config.yaml_reader import Loader
from server.settings import VARIABLES

# has what URLs and base64 write in another way
CANARY = "cnry/{}+{}"


class Plant:
    """What is planted, by the name of its variable or its place."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        # of the server that is started
        self.token = token_hex(16)

    def value(self, name: str) -> str:
        """The planted value of a name."""
        return self.values.setdefault(name, CANARY.format(token_hex(8), token_hex(4)))


def plant_environment(folder: Path, plant: Plant) -> dict[str, str]:
    """This process's environment, with planted values under all names that may be secrets.

    Args:
        folder: of a crew, whose files name further ones.
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
    """Change a copy of a crew: its agents ask a provider on a port of this machine."""
    for path in _yaml_files(folder):
        is_crew = path.parent == folder
        if is_crew and path.stem != "crew":
            continue
        data = yaml.load(path.read_text(encoding="utf-8"), Loader)  # noqa: S506 # a safe one
        if is_crew:
            providers = data.setdefault("providers", {})
            providers.setdefault("openai", {})
            for name, provider in providers.items():
                if name != "scripted":
                    _redirect_provider(provider, port, plant)
        else:
            for part in (data, data.get("primary"), data.get("backup")):
                _redirect_agent(part)
        path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")


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
