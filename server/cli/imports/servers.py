"""MCP servers of desktop clients, editors and other runtimes, as entries of tools.yaml."""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from crew.config.files.document import YamlPath
from crew.config.files.environment import SECRET_NAME, VARIABLE
from server.cli.imports.foreign import Foreign, number_of
from server.cli.imports.texts import id_of, variables_of
from tools.clock import SYSTEM_CLOCK
from tools.config import McpServer
from tools.errors import ToolDefinitionError
from tools.kinds import ToolMaker
from tools.kinds.mcp.definitions import Definition
from tools.limits.guards import Guards
from tools.text.secrets import SECRET_HEADER, Secrets

# what says how a server is reached; the form of the entry says it too
REACHED = ("type", "transport", "transportType", "transport_type")
# what is of the client: whether it asks, and which it shows
OF_CLIENT = ("autoApprove", "alwaysAllow", "disabled", "description", "icon", "gallery", "version")
TIMEOUTS = ("timeout", "timeout_seconds")
MILLIS = 1000
# a package may be fetched first
START_SECONDS = 30
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(slots=True)
class ImportedServers:
    """The servers that were found: their entries, and what they say of their tools."""

    folder: Path
    entries: dict[str, Any] = field(default_factory=dict)
    locked: dict[str, list[Definition]] = field(default_factory=dict)
    # by what they are: the names of those that started, and why others did not
    started: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    # what a server that does not start may repeat
    secrets: Secrets = field(default_factory=Secrets)

    def add(self, foreign: Foreign, path: YamlPath, name: str, given: Any) -> str | None:
        """Make an entry of a server, or say why there is none; its name in tools.yaml.

        It is started, as its client would start it, so that its tools can be pinned.

        Args:
            foreign: the file it stands in.
            path: of the server there.
            name: of the server there.
            given: what the file says of it.
        """
        if not isinstance(given, Mapping) or not (given.get("command") or given.get("url")):
            foreign.left_out(*path, why="it has neither command nor url")
            return None
        if given.get("disabled") is True:
            foreign.left_out(*path, why="it is disabled there")
            return None
        entry, started = self._entry(foreign, path, given)
        own, shown = id_of(name, self.entries), json.dumps(entry, ensure_ascii=False)
        if shown in self.started:
            foreign.taken(*path)
            return self.started[shown]
        try:
            if shown in self.failed:
                raise ToolDefinitionError(self.failed[shown])
            maker = ToolMaker(self.folder, Guards(SYSTEM_CLOCK))
            found = maker.list_mcp(own, McpServer.model_validate(started))
        except (ToolDefinitionError, ValidationError) as error:
            said = self.secrets.mask_cut(str(error)).partition("\n")[0]
            self.failed[shown] = said[:200]
            why = f"it did not start ({self.failed[shown]}); in tools.yaml it would be {shown}"
            foreign.left_out(*path, why=why)
            return None
        reads = {
            one.name: {"effect": "read", "requires_approval": False}
            for one in found
            if one.effect == "read"
        }
        self.entries[own] = {**entry, **({"tools": reads} if reads else {})}
        self.locked[own], self.started[shown] = found, own
        foreign.changed(*path, why=f"a person approves calls of {own} that do not only read")
        return own

    def _entry(
        self, foreign: Foreign, path: YamlPath, given: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the entry that is written, and the one to start it now: with its secrets."""
        entry: dict[str, Any] = {"kind": "mcp"}
        started: dict[str, Any] = {"kind": "mcp"}
        for key, value in given.items():
            match key, value:
                case (("command" | "url" | "cwd"), str()):
                    entry[key] = started[key] = variables_of(value)
                case "args", list():
                    entry[key] = []
                    started[key] = [variables_of(str(one)) for one in value]
                    for number, (before, text) in enumerate(
                        itertools.pairwise(["", *started[key]])
                    ):
                        written, why = _secret_argument(before, text)
                        entry[key].append(written)
                        if why:
                            self.secrets.add(text.rpartition("=")[2])
                            foreign.changed(*path, key, number, why=why)
                case (("env" | "headers"), dict()):
                    entry[key], started[key] = {}, {}
                    for name, text in value.items():
                        written, why = _secret(key, name, str(text))
                        entry[key][name] = written
                        started[key][name] = written if VARIABLE.search(str(text)) else str(text)
                        if why:
                            self.secrets.add(str(text))
                            foreign.changed(*path, key, name, why=why)
                case "tools", list() if "*" not in value:
                    entry["allow"] = started["allow"] = [str(one) for one in value]
                case "tools", list():
                    pass
                case _ if key in REACHED:
                    foreign.taken(*path, key)
                case _ if key in OF_CLIENT:
                    foreign.left_out(*path, key, why="it is of that client")
                case _ if key in TIMEOUTS and number_of(value, 0, 10**9):
                    seconds = value / MILLIS if value >= MILLIS else value
                    entry["timeout_seconds"] = max(1, min(seconds, 3600))
                    foreign.changed(*path, key, why=f"{entry['timeout_seconds']:g} s for a call")
                case _:
                    foreign.left_out(*path, key, why="crewline has nothing like it")
        if (urlsplit(str(entry.get("url", ""))).hostname or "") in LOOPBACK:
            entry["allow_private"] = started["allow_private"] = ["127.0.0.0/8", "::1/128"]
        return {**entry, "requires_approval": True}, {**started, "startup_seconds": START_SECONDS}


def _secret(key: str, name: str, text: str) -> tuple[str, str]:
    """Return a value of `env` or `headers` as it is written, and why it is another one."""
    written = variables_of(text)
    pattern = SECRET_HEADER if key == "headers" else SECRET_NAME
    if written != text or VARIABLE.search(text):
        return written, "" if written == text else "the variable as crewline writes it"
    if not pattern.search(name):
        return text, ""
    variable = name.replace("-", "_").upper()
    why = f"a secret: it is read from the variable {variable}, and stands in no file of the crew"
    return f"${{{variable}:-}}", why


def _secret_argument(before: str, text: str) -> tuple[str, str]:
    """Return an argument as it is written.

    `--api-key X`, `--token=X` and `NAME_KEY=X` have secrets.
    """
    name, sign, value = text.partition("=")
    if sign and value and not VARIABLE.search(value) and SECRET_NAME.search(name):
        written, why = _secret("env", name.lstrip("-"), value)
        return f"{name}={written}", why
    is_value = before.startswith("-") and "=" not in before and not text.startswith("-")
    if is_value and SECRET_NAME.search(before) and not VARIABLE.search(text):
        return _secret("env", before.lstrip("-"), text)
    return text, ""


def servers_of(
    foreign: Foreign, servers: ImportedServers, path: YamlPath, given: Any
) -> Iterator[tuple[str, str | None]]:
    """Yield each server of a mapping, by its name there, with its name in tools.yaml."""
    for name, one in (given or {}).items():
        yield name, servers.add(foreign, (*path, name), name, one)
