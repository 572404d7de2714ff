"""Several files of a folder, written as a whole or not at all, also where the process is killed.

All of them are first written beside the folder's files. One rename makes them valid; from then on
they are moved to their places, by this process or by the next one that reads the folder.
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

# in the folder
HIDDEN = ".crew"
# a save that is valid, and what says what it has
VALID, CONTENTS = "save", "contents.json"
PREPARED = "save-"
LOCK = "save.lock"
# of a file that is new
MODE = 0o644


def save_files(folder: Path, changed: Mapping[str, bytes], gone: Collection[str]) -> None:
    """Write some files of a folder and delete others, on the disk when this returns.

    Args:
        folder: has them.
        changed: by name relative to the folder.
        gone: names of those to delete.

    Raises:
        OSError: nothing was changed, or the next read of the folder finishes it.
    """
    hidden = folder / HIDDEN
    hidden.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(hidden):
        _finish(folder)
        for left in hidden.glob(f"{PREPARED}*"):
            shutil.rmtree(left, ignore_errors=True)
        made = hidden / f"{PREPARED}{uuid4().hex}"
        made.mkdir(mode=0o700)
        try:
            contents = {}
            for number, (name, content) in enumerate(changed.items()):
                _write(made / str(number), content, _mode_of(folder / name))
                contents[name] = str(number)
            text = json.dumps({"changed": contents, "gone": sorted(gone)})
            _write(made / CONTENTS, text.encode(), MODE)
            _sync(made)
            made.rename(hidden / VALID)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            raise
        _sync(hidden)
        _finish(folder)


def finish_save(folder: Path) -> None:
    """Finish what a process that was killed has begun to save; raises OSError."""
    hidden = folder / HIDDEN
    if os.path.lexists(hidden / VALID):
        # or another process is at it
        with _locked(hidden):
            _finish(folder)


def _finish(folder: Path) -> None:
    valid = folder / HIDDEN / VALID
    if not os.path.lexists(valid):
        return
    changed, gone = _contents(valid)
    targets = {name: _inside(folder, name) for name in (*changed, *gone)}
    touched = set()
    for name, part in changed.items():
        target = targets[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        # it was moved before the process was killed
        with contextlib.suppress(FileNotFoundError):
            (valid / part).replace(target)
        touched.add(target.parent)
    for name in gone:
        targets[name].unlink(missing_ok=True)
        touched.add(targets[name].parent)
    for parent in touched:
        if parent.is_dir():
            _sync(parent)
    # what is deleted in parts must not be valid meanwhile
    done = valid.with_name(f"{PREPARED}{uuid4().hex}")
    valid.rename(done)
    shutil.rmtree(done)


def _contents(valid: Path) -> tuple[dict[str, str], list[str]]:
    """Return what a save has; raises OSError where no process of ours has written that."""
    try:
        found = json.loads((valid / CONTENTS).read_bytes())
        changed = {str(name): str(int(part)) for name, part in found["changed"].items()}
        return changed, [str(name) for name in found["gone"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OSError(errno.EINVAL, f"{valid} is no save; delete it") from None


def _inside(folder: Path, name: str) -> Path:
    """Return a file of a folder by its name; raises OSError for one that is outside.

    A folder that was copied from elsewhere may have anything in it.
    """
    path = folder / name
    root, parent = os.path.realpath(folder), os.path.realpath(path.parent)
    if ".." in path.parts or os.path.commonpath((root, parent)) != root or path.is_symlink():
        raise OSError(errno.EINVAL, f"a save names {name!r}, which is outside of the folder")
    return path


@contextlib.contextmanager
def _locked(hidden: Path) -> Iterator[None]:
    """Have the folder's files for this process alone."""
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(hidden / LOCK, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        return MODE


def _write(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Have the disk know the names of a folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
