"""Commands of `crew`, as processes that begin with all of it imported."""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.support.forking import CREW, ForkedProcess, can_be_forked
from tests.support.processes import PROCESS_SECONDS, clean_environment

SECONDS = 2 * PROCESS_SECONDS


def crew(
    *arguments: Any,
    cwd: Path | str | None = None,
    given: str = "",
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    """Run a command and wait for its end; no traceback may ever be seen.

    Args:
        arguments: of the command.
        cwd: where it runs.
        given: its standard input.
        environment: besides `clean_environment`.
    """
    words = [str(one) for one in arguments]
    whole = clean_environment(**environment)
    with (
        tempfile.TemporaryFile("w+") as stdin,
        tempfile.TemporaryFile("w+") as stdout,
        tempfile.TemporaryFile("w+") as stderr,
    ):
        stdin.write(given)
        stdin.flush()
        stdin.seek(0)
        files = stdin, stdout, stderr
        process: subprocess.Popen[str] | ForkedProcess
        if can_be_forked(environment):
            process = ForkedProcess(words, cwd or Path.cwd(), whole, *files)
        else:
            process = subprocess.Popen(
                [CREW, *words],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=whole,
                text=True,
            )
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        for one in files:
            one.seek(0)
        ended = subprocess.CompletedProcess([str(CREW), *words], code, stdout.read(), stderr.read())
    # a tool's own stands in the log, behind a margin
    assert not re.search(r"^Traceback", ended.stderr + ended.stdout, re.MULTILINE), ended
    return ended
