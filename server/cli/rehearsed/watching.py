"""Rehearsals are played again after each change of the crew's files."""

import sys
from pathlib import Path

from watchfiles import watch

from server.cli.rehearsed.played import How, play_folder
from server.process.watch import is_unwatched

# changes that come together are one
TOGETHER_MILLIS = 50
# how long the watcher waits before it says that nothing has changed
QUIET_MILLIS = 100


def watch_folder(folder: Path, how: How) -> None:
    """Play the rehearsals of a folder now and after each change, until Ctrl-C."""
    root = folder.resolve()

    def is_watched(_: object, path: str) -> bool:
        parts = Path(path).relative_to(root).parts
        return not any(is_unwatched(part) for part in parts)

    found = watch(
        root,
        watch_filter=is_watched,
        debounce=TOGETHER_MILLIS,
        step=TOGETHER_MILLIS,
        rust_timeout=QUIET_MILLIS,
        yield_on_timeout=True,
        raise_interrupt=True,
    )
    # it watches from here on: what changes during the first play is played, too
    next(found)
    _play(folder, how)
    for changes in found:
        if not changes:
            continue
        if sys.stdout.isatty():
            # the screen begins anew
            sys.stdout.write("\x1b[2J\x1b[H")
        _play(folder, how)


def _play(folder: Path, how: How) -> None:
    play_folder(folder, how)
    print("Waiting for a change; Ctrl-C ends it.", file=sys.stderr, flush=True)
