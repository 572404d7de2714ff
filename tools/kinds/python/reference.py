"""A Python function by reference, `file.py:name` or `package.module:name`, made a tool."""

import contextlib
import importlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.config.python import PythonTool
from tools.definition import Tool, tool_from
from tools.errors import ToolDefinitionError, ToolImportError
from tools.kinds.python.siblings import package_of
from tools.schemas.schema import JsonSchema

# folders beside the crew's own from which tools may be loaded, separated as in PATH
TOOL_FOLDERS = "CREW_TOOL_FOLDERS"
# keys of an entry that replace what the function says of itself
REPLACING_KEYS = ("description", "timeout_seconds", "retries", "effect")


def python_tool(name: str, config: PythonTool, folder: Path) -> Tool:
    """Return the tool that an entry of tools.yaml describes.

    What the entry says wins over what the function says.

    Args:
        name: the tool's name in tools.yaml.
        config: its entry.
        folder: the crew's folder, to which `file.py` is relative.

    Raises:
        ToolImportError: the module does not import. Importing runs its code.
        ToolDefinitionError: the reference names no typed function.
    """
    found = load_reference(config.function, folder)
    made = _as_tool(found, config.function)
    changes: dict[str, Any] = {}
    for key in REPLACING_KEYS:
        if (value := getattr(config, key)) is not None:
            changes[key] = value
    if config.requires_approval is not None:
        changes["approval"] = config.approval
    if config.parameters is not None:
        schema = JsonSchema(config.parameters)
        _require_same_names(schema.parameters, made.parameters, config.function)
        changes["parameters"] = schema.parameters
        changes["check"] = lambda arguments: made.check(schema.check(arguments))
    return replace(made, name=name, **changes)


def _as_tool(found: Any, reference: str) -> Tool:
    if isinstance(found, Tool):
        return found
    if callable(found):
        return tool_from(found)
    raise ToolDefinitionError(f"{reference} is a {type(found).__name__}, not a function")


def _require_same_names(written: dict[str, Any], taken: dict[str, Any], function: str) -> None:
    """Check that a schema names what the function takes; else every call would fail."""
    names: dict[str, Any] = taken.get("properties", {})
    unknown = [name for name in written["properties"] if name not in names]
    if unknown:
        text = f"parameters names {', '.join(unknown)}, which {function} does not take"
        raise ToolDefinitionError(text, "parameters")
    missing = [name for name in taken.get("required", ()) if name not in written["properties"]]
    if missing:
        text = f"parameters lacks {', '.join(missing)}, which {function} requires"
        raise ToolDefinitionError(text, "parameters")


def load_reference(reference: str, folder: Path) -> Any:
    """Load the object that a reference names.

    Raises:
        ToolImportError: its module does not import, with the reason.
        ToolDefinitionError: there is no such file or name.
    """
    place, _, attribute = reference.rpartition(":")
    if not place or not attribute.isidentifier():
        raise ToolDefinitionError(
            f"{reference!r} is no reference; write file.py:function or package.module:function"
        )
    try:
        # what a module prints must not get between the lines of a command's output
        with contextlib.redirect_stdout(sys.stderr):
            if place.endswith(".py"):
                module = _import_file(_inside(folder, place), folder)
            else:
                module = importlib.import_module(place)
            if not hasattr(module, attribute):
                raise ToolDefinitionError(f"{place} has no {attribute!r}")
            return getattr(module, attribute)
    except (ToolDefinitionError, KeyboardInterrupt):
        raise
    except BaseException as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        beside = not place.endswith(".py") and "." not in place
        if beside and (folder / f"{place}.py").is_file():
            reason += f"; for the file beside crew.yaml write {place}.py:{attribute}"
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if place.endswith(".py") and (folder / place).with_name(f"{missing}.py").is_file():
            reason += f"; for the file beside {place} write: from . import {missing}"
        raise ToolImportError(place, reason) from error


def _inside(folder: Path, place: str) -> Path:
    """Return a file of tools.

    Raises ToolDefinitionError where it, or what it links to, is elsewhere.
    """
    path = (folder / place).resolve()
    others = os.environ.get(TOOL_FOLDERS, "").split(os.pathsep)
    allowed = [folder.resolve(), *(Path(other).resolve() for other in others if other)]
    if not any(path.is_relative_to(one) for one in allowed):
        raise ToolDefinitionError(
            f"{place} is outside the crew's folder; {TOOL_FOLDERS} can allow its folder"
        )
    return path


def _import_file(path: Path, folder: Path) -> ModuleType:
    if not path.is_file():
        raise ToolDefinitionError(f"there is no file {path.name} in {path.parent.name}/")
    name = f"crew_file_{path.stem}_{abs(hash(str(path))):x}"
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = package_of(path, lambda file: _inside(folder, str(file)))
    # dataclasses and typing look their module up by name while it runs
    sys.modules[name] = module
    try:
        # not by the import system: its cache knows a file by its size and whole second, and a
        # reload may come sooner
        code = compile(path.read_bytes(), path, "exec")
        exec(code, module.__dict__)  # noqa: S102 # the operator's own file
    except BaseException:
        del sys.modules[name]
        raise
    return module
