"""What a tool file may import beside itself: `from . import helpers`, of its own folder.

No folder is added to `sys.path`. A folder's files are one package, with a name that follows from
what is in them: when one is changed, the next load of a crew gets all of them anew, and runs that
go on with an earlier revision keep theirs.
"""

import hashlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

PREFIX = "crew_folder_"
# raises ToolDefinitionError for a file that may not be loaded
Check = Callable[[Path], Path]
# by the names of their modules, with what is in them
Files = dict[str, tuple[Path, bytes]]


def package_of(file: Path, check: Check) -> str:
    """Return the name of the package that a tool file is in; it is made if need be."""
    folder = file.parent
    digest = hashlib.sha256(str(folder).encode())
    files = {one: one.read_bytes() for one in sorted(folder.glob("*.py")) if one.is_file()}
    for one, content in files.items():
        digest.update(one.name.encode() + b"\0" + hashlib.sha256(content).digest())
    name = f"{PREFIX}{digest.hexdigest()[:16]}"
    if name not in sys.modules:
        package = ModuleType(name)
        # of no folder: the finder below is asked for what is in it
        package.__path__ = []
        sys.modules[name] = package
        _finder.add(name, {one.stem: (one, content) for one, content in files.items()}, check)
    return name


class _Finder(MetaPathFinder):
    """Finds the modules of these packages."""

    def __init__(self) -> None:
        self._packages: dict[str, tuple[Files, Check]] = {}

    def add(self, package: str, files: Files, check: Check) -> None:
        """Know one more."""
        self._packages[package] = (files, check)
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # of the import system
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Find the module of a name, if it is in one of the packages."""
        package, _, name = fullname.rpartition(".")
        files, check = self._packages.get(package, ({}, None))
        if name not in files or check is None:
            return None
        file, content = files[name]
        return spec_from_loader(fullname, _Loader(check(file), content), origin=str(file))


class _Loader(Loader):
    """Runs what was in a file when its package was made, also where that is needed later."""

    def __init__(self, file: Path, content: bytes) -> None:
        self._file, self._content = file, content

    def exec_module(self, module: ModuleType) -> None:
        """Run it."""
        module.__file__ = str(self._file)
        code = compile(self._content, self._file, "exec")
        exec(code, module.__dict__)  # noqa: S102 # the operator's own file


_finder = _Finder()
