"""What a program may read, write and reach; and how it is kept to that."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.config.command import Confined
from tools.confinement import landlock
from tools.confinement.landlock import LIST, READ, WRITE, Access
from tools.definition import Reach
from tools.errors import ToolDefinitionError

SYSTEM_FOLDERS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix"),
    # where the configuration of name resolution leads
    *("/run/systemd/resolve", "/run/resolvconf"),
)
# of the kernel: readings of this machine
KERNEL_FOLDERS = ("/proc", "/sys")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
# of the crew's folder: where its runs are kept, and where keys are
HIDDEN = (".crew", ".env", ".git")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What confines a program."""

    kind: str
    # the crew's
    folder: Path
    read: tuple[Path, ...]
    write: tuple[Path, ...]
    network: bool

    @classmethod
    def of(cls, config: Confined, folder: Path) -> "Sandbox":
        """Return the one of an entry.

        Raises:
            ToolDefinitionError: what it asks for by name cannot be had here.
        """
        kind = config.sandbox
        if kind == "auto":
            kind = "landlock" if landlock.version() else "off"
        if kind == "landlock" and not landlock.version():
            text = "the kernel has no Landlock (Linux 5.13 and newer may have it)"
            raise ToolDefinitionError(text, "sandbox", "no-sandbox")
        if kind == "bwrap" and shutil.which("bwrap") is None:
            text = "bwrap is not installed; install bubblewrap, or use landlock"
            raise ToolDefinitionError(text, "sandbox", "no-sandbox")
        read = tuple(_path(one, folder) for one in config.read)
        write = tuple(_path(one, folder) for one in config.write)
        return cls(kind, folder, read, write, config.network)

    def reach(self, argv: Sequence[str]) -> Reach:
        """Return what a tool that runs this program may do."""
        runs = (" ".join(argv),)
        if self.kind == "off":
            anywhere = ("anywhere",)
            return Reach("command", ("any",), runs, anywhere, anywhere, self.kind)
        reads = ("system", str(self.folder), *map(str, self.read))
        hosts = ("any",) if self.network else ()
        return Reach("command", hosts, runs, reads, tuple(map(str, self.write)), self.kind)

    def rights(self, own: Path) -> Iterator[tuple[Path, Access]]:
        """Yield what Landlock leaves a program; `own`: the folder of its call."""
        for name in (*SYSTEM_FOLDERS, *KERNEL_FOLDERS):
            yield Path(name), READ
        for name in DEVICES:
            yield Path(name), landlock.DEVICE
        yield self.folder, LIST
        for path in (*self._shown(), *self.read):
            yield path, READ
        for path in (own, *self.write):
            yield path, WRITE

    def allows_tcp(self) -> bool:
        """Return whether a program may connect and listen; an old Landlock knows no network."""
        is_old = self.kind == "landlock" and landlock.version() < landlock.NETWORK_VERSION
        return self.network or self.kind == "off" or is_old

    def may_read(self, path: Path) -> bool:
        """Return whether a path is open to programs; the folder of a call is not known here."""
        is_open = self.is_of_system(path) or self.may_write(path)
        return is_open or _is_below(path, (*self._shown(), *self.read))

    def is_of_system(self, path: Path) -> bool:
        """Return whether a path is the system's, which every program may read."""
        return _is_below(path, map(Path, (*SYSTEM_FOLDERS, *KERNEL_FOLDERS, *DEVICES)))

    def may_write(self, path: Path) -> bool:
        """Return the same for writing."""
        return self.kind == "off" or _is_below(path, self.write)

    def _shown(self) -> Iterator[Path]:
        """Yield what of the crew's folder is read: not what the runtime keeps there."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if not entry.name.startswith(HIDDEN):
                    yield Path(entry.path)

    def prefix(self, own: Path, cwd: Path) -> list[str]:
        """Return the arguments before the program, with bubblewrap; none without it."""
        if self.kind != "bwrap":
            return []
        argv = ["bwrap", "--die-with-parent", "--new-session", "--unshare-all"]
        if self.network:
            argv.append("--share-net")
        argv += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 # its own
        argv += ["--tmpfs", str(self.folder)]
        for name in SYSTEM_FOLDERS:
            argv += ["--ro-bind-try", name, name]
        for path in (*self._shown(), *self.read):
            argv += ["--ro-bind-try", str(path), str(path)]
        for path in (own, *self.write):
            argv += ["--bind-try", str(path), str(path)]
        for path in (Path("/"), self.folder):
            # what is written there would be lost in silence
            argv += [] if self.may_write(path) else ["--remount-ro", str(path)]
        return [*argv, "--chdir", str(cwd), "--"]


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _path(text: str, folder: Path) -> Path:
    return (folder / text).resolve()
