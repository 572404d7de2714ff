"""What `crew tools --lock` does: mcp.lock.json of what the MCP servers say of their tools now."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from crew.assembly.recipe import Recipe
from crew.config.errors import ConfigurationError
from crew.config.files.sources import read_sources
from crew.config.files.yaml_reader import MAX_BYTES
from crew.config.problems import has_failed
from server.cli.exits import Exit, fail
from tools.config import McpServer
from tools.errors import ToolDefinitionError
from tools.kinds import ToolMaker
from tools.kinds.mcp.definitions import Definition
from tools.kinds.mcp.lock import LOCK_FILE, to_lock
from tools.text.texts import visible


def write_lock(folder: Path) -> None:
    """Ask the MCP servers of a crew for their tools, and write mcp.lock.json.

    What has changed is printed to stderr.

    Raises:
        ConfigurationError: the crew has errors.
        typer.Exit: a server cannot be reached, or there is none.
    """
    recipe = Recipe()
    sources = read_sources(folder)
    locked = recipe.check(sources, imports=False).files.locked
    # what is wrong with the file, or by it, is no matter when it is written anew
    others = {name: content for name, content in sources.files.items() if name != LOCK_FILE}
    checked = recipe.check(replace(sources, files=others), imports=False)
    if has_failed(checked.problems):
        raise ConfigurationError(checked.problems, checked.files.texts)
    found: dict[str, list[Definition]] = {}
    for name, config in checked.files.tools.items():
        if not isinstance(config, McpServer) or not config.pin:
            continue
        try:
            found[name] = ToolMaker(folder, recipe.guards).list_mcp(name, config)
        except ToolDefinitionError as error:
            fail(visible(recipe.secrets.mask(str(error))))
        before = {one.name: one.digest for one in locked.get(name, ())}
        after = {one.name: one.digest for one in found[name]}
        for change in _changes(before, after):
            print(visible(f"{name}: {change}"), file=sys.stderr)
    if not found:
        fail("the crew has no MCP server to write down", Exit.USAGE)
    text = to_lock(found)
    if len(text.encode()) > MAX_BYTES:
        fail(f"{LOCK_FILE} would have more than {MAX_BYTES:,} bytes; give a server `pin: false`")
    # whole or not at all
    beside = folder / f".{LOCK_FILE}.new"
    beside.write_text(text, encoding="utf-8")
    beside.replace(folder / LOCK_FILE)


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield what is otherwise in the digests of a server's tools, by their names."""
    for tool in sorted(before.keys() | after.keys()):
        if tool not in before:
            yield f"{tool} is new"
        elif tool not in after:
            yield f"{tool} is gone"
        elif before[tool] != after[tool]:
            yield f"{tool} is described otherwise"
