"""A Python function by reference, `file.py:name` or `package.module:name`, made a tool."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.config import PythonTool
from tools.errors import ToolDefinitionError
from tools.schema import JsonSchema
from tools.tool import Tool, tool_from


def python_tool(name: str, config: PythonTool, folder: Path) -> Tool:
    """The tool that an entry of tools.yaml describes.

    What the entry says beats what the function says.

    Args:
        name: the tool's name in tools.yaml.
        config: its entry.
        folder: the crew's folder, to which `file.py` is relative.

    Raises:
        ToolDefinitionError: the reference does not import, or is no typed function. Importing
            runs the file.
    """
    found = load(config.function, folder)
    made = found if isinstance(found, Tool) else tool_from(found) if callable(found) else None
    if made is None:
        raise ToolDefinitionError(f"{config.function} is a {type(found).__name__}, not a function")
    said: dict[str, Any] = {
        key: value
        for key in ("description", "timeout_seconds", "retries", "effect", "requires_approval")
        if (value := getattr(config, key)) is not None
    }
    if config.parameters is not None:
        schema = JsonSchema(config.parameters)
        _fits(schema.parameters, made.parameters, config.function)
        said |= {
            "parameters": schema.parameters,
            "check": lambda arguments, check=made.check: check(schema.check(arguments)),
        }
    return replace(made, name=name, **said)


def _fits(said: dict[str, Any], taken: dict[str, Any], function: str) -> None:
    """A schema written by hand must name what the function takes, or every call would fail."""
    names: dict[str, Any] = taken.get("properties", {})
    if unknown := [name for name in said["properties"] if name not in names]:
        raise ToolDefinitionError(
            f"parameters names {', '.join(unknown)}, which {function} does not take", "parameters"
        )
    if missing := [name for name in taken.get("required", ()) if name not in said["properties"]]:
        raise ToolDefinitionError(
            f"parameters lacks {', '.join(missing)}, which {function} must be given", "parameters"
        )


def load(reference: str, folder: Path) -> Any:
    """The object that a reference names.

    Raises:
        ToolDefinitionError: it cannot be imported, with the reason.
    """
    place, _, attribute = reference.rpartition(":")
    if not place or not attribute.isidentifier():
        raise ToolDefinitionError(
            f"{reference!r} is no reference; write file.py:function or package.module:function"
        )
    try:
        module = _file(folder / place) if place.endswith(".py") else importlib.import_module(place)
    except ToolDefinitionError:
        raise
    except (Exception, SystemExit) as error:
        raise ToolDefinitionError(
            f"{place} does not import: {type(error).__name__}: {error}"
        ) from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise ToolDefinitionError(f"{place} has no {attribute!r}") from None


def _file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ToolDefinitionError(f"there is no file {path.name} in {path.parent.name}/")
    name = f"crew_file_{path.stem}_{abs(hash(str(path))):x}"
    module = ModuleType(name)
    module.__file__ = str(path)
    # dataclasses and typing look their module up by name while it runs
    sys.modules[name] = module
    try:
        # not by the import system: its cache knows a file by its size and whole second, and a
        # reload may come sooner
        exec(compile(path.read_bytes(), path, "exec"), module.__dict__)  # noqa: S102 # the operator's own file
    except BaseException:
        del sys.modules[name]
        raise
    return module
