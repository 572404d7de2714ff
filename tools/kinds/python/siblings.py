"""What a tool file may import beside itself: `from . import helpers`, of its own folder.

No folder is added to `sys.path`. A folder's files are one package, whose name follows from what is
in them: when one is changed, the next load of a crew gets all of them anew, and runs that go on
with an earlier revision keep theirs.
"""

import hashlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

PREFIX = "crew_folder_"
# raises ToolDefinitionError for a file that may not be loaded
Check = Callable[[Path], Path]


def package_of(file: Path, check: Check) -> str:
    """The name of the package that a tool file is in; it is made if need be."""
    folder = file.parent
    digest = hashlib.sha256(str(folder).encode())
    for one in sorted(folder.glob("*.py")):
        if one.is_file():
            digest.update(one.name.encode() + b"\0" + hashlib.sha256(one.read_bytes()).digest())
    name = f"{PREFIX}{digest.hexdigest()[:16]}"
    if name not in sys.modules:
        package = ModuleType(name)
        # of no folder: the finder below is asked for what is in it
        package.__path__ = []
        sys.modules[name] = package
        _finder.add(name, folder, check)
    return name


class _Finder(MetaPathFinder):
    """Finds the modules of these packages."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[Path, Check]] = {}

    def add(self, package: str, folder: Path, check: Check) -> None:
        """Know one more."""
        self._folders[package] = (folder, check)
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # of the import system
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """The module of a name, if it is in one of the packages."""
        package, _, name = fullname.rpartition(".")
        if package not in self._folders:
            return None
        folder, check = self._folders[package]
        file = folder / f"{name}.py"
        if not file.is_file():
            return None
        return spec_from_loader(fullname, _Loader(check(file)), origin=str(file))


class _Loader(InspectLoader):
    """Runs a file; without a cache, which knows a file by its size and whole second."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def get_source(self, fullname: str) -> str:  # of the import system
        """The text of the file."""
        return self._file.read_text(encoding="utf-8")

    def exec_module(self, module: ModuleType) -> None:
        """Run it."""
        module.__file__ = str(self._file)
        super().exec_module(module)


_finder = _Finder()
