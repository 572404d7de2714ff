"""The command diff."""

import contextlib
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from crew.config.errors import ConfigurationError
from crew.config.files.environment import with_stand_ins
from crew.config.problems import has_failed
from crew.rehearsal.differences.differences import Difference, differences
from crew.rehearsal.playing.loaded import CrewLoader, LoadedCrew
from crew.rehearsal.replaying.report import replay_document, report_document
from server.cli.exits import Exit, fail
from server.cli.opening import guard_process
from server.cli.replayed.chosen import WantedRuns
from server.cli.replayed.replaying import print_results, replay_runs
from server.cli.replayed.text import difference_lines
from server.cli.replayed.versions import UnknownVersion, opened_version
from tools.text.lengths import length_of
from tools.text.texts import visible_json


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A folder, or a git reference.")],
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The same.", show_default="the current folder")
    ] = ".",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--in", help="The crew's folder, for git references and runs.", show_default="NEW"
        ),
    ] = None,
    runs: Annotated[
        str, typer.Option("--runs", metavar="7d", help="Play the runs since then on NEW, too.")
    ] = "",
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 1 where something differs.")
    ] = False,
) -> None:
    """Say what differs between two versions of a crew, in its own words, with both lines.

    Formatting and comments are no difference. ⚠ marks what lets the crew do more than before:
    approvals, effects, what tools reach, budgets, data of users.

    Example: [bold]crew diff main examples/on-call[/]
    """
    length = length_of(runs) if runs else None
    if runs and length is None:
        raise typer.BadParameter("write a length of time, such as 7d", param_hint="--runs")
    guard_process()
    if folder is None:
        folder = Path(new) if Path(new).is_dir() else Path()
    found = _differences(old, new, folder)
    results = []
    if length is not None:
        results = replay_runs(folder, WantedRuns(since=length), new)
    if as_document:
        document: dict[str, Any] = {"differences": [one.document() for one in found]}
        if length is not None:
            replays = [replay_document(one) for one in results]
            document |= {"replays": replays, "summary": report_document(results)}
        print(visible_json(json.dumps(document, ensure_ascii=False, indent=2)))
    else:
        print("\n".join(difference_lines(found)) or "nothing differs")
        if length is not None:
            print_results(results)
    if exit_code and found:
        raise typer.Exit(Exit.FAILED)


def _differences(old: str, new: str, folder: Path) -> list[Difference]:
    try:
        with contextlib.ExitStack() as stack:
            then, now = (stack.enter_context(opened_version(one, folder)) for one in (old, new))
            crews: list[LoadedCrew] = []
            for sources in (then, now):
                loaded = CrewLoader(sources).load(with_stand_ins(os.environ, sources), {})
                if has_failed(loaded.checked.problems):
                    files = loaded.checked.files
                    raise ConfigurationError(loaded.checked.problems, files.texts)
                crews.append(loaded)
            return differences(crews[0].checked, crews[1].checked)
    except UnknownVersion as error:
        fail(str(error), Exit.USAGE)
