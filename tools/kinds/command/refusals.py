"""What of a failed program's words may be a refusal of its sandbox, and the key that opens it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tools.kinds.command.sandbox import Sandbox

OF_NETWORK = re.compile(
    r"connect|resolve|network|unreachable|socket|name or service|name resolution|listen|\bbind\b"
    r"|refused",
    re.IGNORECASE,
)
OF_PERMISSIONS = re.compile(
    r"permission ?denied|not permitted|read-only file system|PermissionError|EACCES|EPERM|EROFS",
    re.IGNORECASE,
)
# bubblewrap has no other files: they are not there
NO_FILE = re.compile(r"no such file|not found|does not exist|ENOENT", re.IGNORECASE)
PATH = re.compile(r"(?<![\w.:/])/[\w.@%+~/-]*[\w/]")
MAX_PATHS = 20


def refusals(sandbox: Sandbox, text: str) -> Iterator[str]:
    """Name what the sandbox does not allow, as far as a program's words show that it tried.

    Args:
        sandbox: of the program, which failed.
        text: what it wrote.
    """
    if sandbox.kind == "off":
        return
    of_network = not sandbox.allows_tcp() and OF_NETWORK.search(text) is not None
    if of_network:
        yield "the tool's sandbox allows no TCP; `network: true` in its entry opens it"
    is_permission = OF_PERMISSIONS.search(text) is not None
    is_hidden = sandbox.kind == "bwrap" and NO_FILE.search(text) is not None
    if not is_permission and not is_hidden:
        return
    found = False
    for name in list(dict.fromkeys(PATH.findall(text)))[:MAX_PATHS]:
        if key := _closed_by(sandbox, Path(name).resolve(), is_permission=is_permission):
            found = True
            yield f"the tool's sandbox does not let it {key} {name}; name it under `{key}`"
    if is_permission and not found and not of_network:
        yield (
            "the tool's sandbox lets it read the system, the crew's folder and what `read` names, "
            "and write what `write` names"
        )


def _closed_by(sandbox: Sandbox, path: Path, *, is_permission: bool) -> str | None:
    """Return the key, `read` or `write`, that would open a path.

    None: it is open, or open to no user here.
    """
    if not sandbox.may_read(path) and os.access(path, os.R_OK):
        return "read"
    # messages begin with the program's own path, often below /usr
    if not is_permission or sandbox.may_write(path) or sandbox.is_of_system(path):
        return None
    existing = next(one for one in (path, *path.parents) if one.exists())
    return "write" if os.access(existing, os.W_OK) else None
