"""Where the events of a run are printed: as a view for people, or as JSON."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from rich.console import Console

from crew.journal.wire import RunEvent
from server.cli.view.run_view import RunView
from tools.text.texts import visible_json


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the caller know; rich would end the process."""
        raise BrokenPipeError


class Output:
    """Prints events: as JSON, one a line, or as a view; nothing once the reader has gone."""

    def __init__(self, *, as_lines: bool) -> None:
        self.as_lines = as_lines
        # as it is now: what tools print goes elsewhere
        self._lines = sys.stdout
        self.console = _Console(highlight=False)
        self.view = RunView(self.console)

    def show(self, event: RunEvent) -> None:
        """Print one event."""
        with self._until_reader_is_gone():
            if self.as_lines:
                print(visible_json(event.encoded), file=self._lines, flush=True)
            else:
                self.view.show(event)
                sys.stdout.flush()

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show who is at work, while a segment goes on; what tools print is no line of JSON."""
        if self.as_lines:
            with redirect_stdout(sys.stderr):
                yield
            return
        self.view.live.begin()
        try:
            yield
        finally:
            self.view.live.end()

    @contextmanager
    def _until_reader_is_gone(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            # `| head` has read enough: the run goes on to its end all the same
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._lines.fileno())
