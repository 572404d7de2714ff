"""Names that a package offers, imported when they are first used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package (PEP 562).

    Args:
        package: its name.
        modules: the module that has each name.
    """

    def get(name: str) -> Any:
        if name in modules:
            value = getattr(importlib.import_module(modules[name]), name)
        else:
            value = _module(package, name)
        # the next time it is found without this function
        setattr(sys.modules[package], name, value)
        return value

    return get


def _module(package: str, name: str) -> ModuleType:
    """Return a module of a package; raises AttributeError."""
    whole, text = f"{package}.{name}", f"module {package!r} has no attribute {name!r}"
    if name.startswith("__"):
        # requested by what inspects it
        raise AttributeError(text)
    try:
        return importlib.import_module(whole)
    except ModuleNotFoundError as error:
        if error.name != whole:
            # it is there, and lacks another one
            raise
        raise AttributeError(text) from None
