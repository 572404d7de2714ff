"""What may be wrong with a server, and with the token that is shown to it."""

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from crew.journal.records.rows import Finding
from server.cli.exits import HERE
from server.cli.served.api import Api, opened_api
from server.client.errors import ClientError
from server.client.targets import Target

# of two clocks, in seconds: what tickets, deadlines and traces forgive
MOST_APART = 5.0


def examine_server(target: Target) -> list[Finding]:
    """Look at a server: its version, clock, crew, providers and store, and what the token may.

    Ends the command where the server does not answer.
    """
    with opened_api(target, HERE) as api:
        crew = api.read("")
        caller = crew["caller"]
        name, scopes = caller["name"] or "a caller without a name", ", ".join(caller["scopes"])
        return [
            _version(crew["version"]),
            _clock(api),
            Finding("ok", f"{name} may {scopes}"),
            *_files(crew["config"]),
            *_providers(crew["providers"]),
            *_ready(api),
        ]


def _version(version: str) -> Finding:
    here = importlib.metadata.version("crewline")
    if version == here:
        return Finding("ok", f"the server is {version}, as this command")
    return Finding("note", f"the server is {version}, this command of {here}")


def _clock(api: Api) -> Finding:
    """Compare the clocks; that of the server comes in whole seconds."""
    before = datetime.now(UTC)
    there = api.portal.call(api.client.clock)
    middle = before + (datetime.now(UTC) - before) / 2
    apart = (there - middle).total_seconds()
    if abs(apart) <= MOST_APART:
        return Finding("ok", "its clock and this one agree")
    word = "ahead of" if apart > 0 else "behind"
    return Finding("warning", f"its clock is {abs(apart):.0f} s {word} this one")


def _files(config: Mapping[str, Any]) -> Iterator[Finding]:
    last, served = config["last_reload"], f"revision {config['revision']} is served"
    if last["successful"]:
        yield Finding("ok", served)
        return
    yield Finding("warning", f"{served}: the newest files were refused at {last['at']}")
    for one in last["problems"]:
        place = f"{one['file']}:{one['line']}:{one['column']}"
        is_error = one["severity"] == "error"
        text = f"{place}: {one['message']} [{one['code']}]"
        yield Finding("error" if is_error else "warning", text)


def _providers(providers: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for one in providers:
        failed = [model for model in one["models"] if model["last_failure"]]
        if not one["answers"]:
            yield Finding("error", f"{one['name']}: {one['reason']}")
        elif not failed:
            yield Finding("ok", f"{one['name']} has not failed")
        for model in failed:
            failure = model["last_failure"]
            when = f"failed last at {failure['at']} ({failure['code']})"
            yield Finding("warning", f"{one['name']}: {model['model']} {when}")


def _ready(api: Api) -> Iterator[Finding]:
    """Yield what the server says of its store and its workers."""
    try:
        ready = api.portal.call(api.client.readiness)
    except ClientError as error:
        yield Finding("error", error.detail)
        return
    if "runs_unplayable" not in ready:
        yield Finding("error", f"it starts no runs: {ready.get('detail') or ready['status']}")
        return
    if "storage" in ready:
        yield Finding("warning", str(ready["storage"]))
    for name in ready.get("mcp_down", ()):
        yield Finding("error", f"the MCP server {name} is down")
    if ready["runs_unplayable"]:
        yield Finding("warning", f"it cannot play {ready['runs_unplayable']} runs")
    if ready.get("workers") == 0:
        waiting = f"{ready['runs_waiting']} runs wait for one"
        yield Finding("error", f"no worker is at work, and {waiting}")
    if ready["status"] == "ready":
        yield Finding("ok", "it starts runs, and stores them")
