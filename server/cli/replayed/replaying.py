"""The command replay."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from agents.errors import ProviderError
from crew.assembly.models import named_model
from crew.config.files.sources import Sources
from crew.journal.events import RunStatus
from crew.journal.store import RunStore
from crew.rehearsal.doubles.spending import Spending
from crew.rehearsal.replaying.options import AS_RECORDED, Match, RealAnswers, ReplayOptions
from crew.rehearsal.replaying.replays import ReplayResult, Replays
from crew.rehearsal.replaying.report import replay_document, report_document, share_of_others
from server.cli.exits import Exit, Folder, fail
from server.cli.opening import guard_process, open_to_look
from server.cli.rehearsed.measured import require_prices
from server.cli.replayed.chosen import WantedRuns
from server.cli.replayed.record import save_changed
from server.cli.replayed.text import report_lines, result_lines
from server.cli.replayed.versions import UnknownVersion, opened_version, revision_of
from tools.text.lengths import length_of
from tools.text.texts import visible, visible_json


def replay(
    folder: Folder,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="Ids, beginnings of ids, or last."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are kept.")] = False,
    since: Annotated[
        str, typer.Option(metavar="7d", help="With --all: not started before; 30m, 12h, 7d.")
    ] = "",
    status: Annotated[
        RunStatus | None, typer.Option(help="With --all: only those with it.")
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="With --all: so many of them.")] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="VERSION",
            help="A folder, a git reference, or a revision.",
            show_default="the crew's folder",
        ),
    ] = "",
    latency: Annotated[
        Literal["recorded", "0"], typer.Option(help="How long answers take.")
    ] = "recorded",
    match: Annotated[
        Match, typer.Option(help="exact: a replay ends where a model is sent something else.")
    ] = "route",
    real: Annotated[
        Literal["read"] | None,
        typer.Option(help="Call tools that read, where no result is recorded."),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="Let models answer, from the first answer on that is assumed or missing."
        ),
    ] = False,
    times: Annotated[
        int, typer.Option(min=1, help="With --ask: plays of each; what most come to counts.")
    ] = 1,
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="With --ask: what all may cost.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="With --ask: what all may use.")
    ] = None,
    judge: Annotated[
        str,
        typer.Option(metavar="MODEL", help="With --ask: it compares the final answers."),
    ] = "",
    fail_on: Annotated[
        Literal["worse"] | None, typer.Option(help="End with 1 when the judge says so of one.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write runs that are not the same any more as rehearsals.",
        ),
    ] = None,
    fail_over: Annotated[
        str, typer.Option(metavar="5%", help="End with 1 when more go another way.")
    ] = "",
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """Play stored runs again on other files: models, tools and people say what they have said.

    Nothing is stored, and nothing is called but what --ask and --real say. Each run is `same`;
    `assumed`: the same, if models that are sent something else say the same; `other way`: certain,
    where nothing was assumed before; `unknown`: something is needed that is not recorded; `not
    reproduced`; or `not kept`.

    Example: [bold]crew replay examples/on-call --all --since 7d[/]
    """
    if bool(runs) == every:
        raise typer.BadParameter("name some, or give --all", param_hint="RUN")
    if not every and (since or status or sample):
        raise typer.BadParameter("it goes with --all", param_hint="--since")
    length = length_of(since) if since else None
    if since and length is None:
        raise typer.BadParameter("write a length of time, such as 7d", param_hint="--since")
    limit = _percent(fail_over)
    answers = _real_answers(ask, times, max_usd, max_tokens, judge)
    if fail_on is not None and not judge:
        raise typer.BadParameter("it goes with --judge", param_hint="--fail-on")
    guard_process()
    wanted = WantedRuns(runs or (), status, length, sample)
    options = ReplayOptions(latency == "recorded", match, real is not None, answers)
    on_result = _print_result if as_lines else None
    results = replay_runs(folder, wanted, on or str(folder), options, on_result)
    if as_lines:
        _print_json({"summary": report_document(results)})
    else:
        print_results(results)
    if answers is not None:
        print(_spent(answers.spending), file=sys.stderr)
    if save is not None:
        save_changed(folder, save, results)
    is_worse = any(
        one.compared.answered is not None and one.compared.answered.judged == fail_on
        for one in results
    )
    if is_worse or (limit is not None and share_of_others(results) > limit):
        raise typer.Exit(Exit.FAILED)


def _real_answers(
    ask: bool, times: int, max_usd: float | None, max_tokens: int | None, judge: str
) -> RealAnswers | None:
    """Return how models answer themselves; raises BadParameter where no bound is given."""
    given = {"--times": times != 1, "--judge": bool(judge)}
    given |= {"--max-usd": max_usd is not None, "--max-tokens": max_tokens is not None}
    if not ask:
        for option in (name for name, is_given in given.items() if is_given):
            raise typer.BadParameter("it goes with --ask", param_hint=option)
        return None
    if max_usd is None and max_tokens is None:
        raise typer.BadParameter("give --max-usd, or --max-tokens", param_hint="--ask")
    return RealAnswers(Spending(max_usd, max_tokens), times, judge)


def _spent(spending: Spending) -> str:
    over = "; the money was spent before all was played" if spending.is_over else ""
    return f"{spending.tokens:,} tokens, {spending.usd:.4f} USD{over}"


def replay_runs(
    folder: Path,
    wanted: WantedRuns,
    version: str,
    options: ReplayOptions = AS_RECORDED,
    on_result: Callable[[ReplayResult], None] | None = None,
) -> list[ReplayResult]:
    """Play runs of a folder's store on a version of its files; `on_result`: called with each."""
    store = open_to_look(folder)
    if store is None:
        fail("no run is kept", Exit.NOTHING)
    return asyncio.run(_replay(store, folder, wanted, version, options, on_result))


async def _replay(
    store: RunStore,
    folder: Path,
    wanted: WantedRuns,
    version: str,
    options: ReplayOptions,
    on_result: Callable[[ReplayResult], None] | None,
) -> list[ReplayResult]:
    try:
        with contextlib.ExitStack() as stack:
            sources: Sources | None = await revision_of(version, folder, store)
            if sources is None:
                sources = stack.enter_context(opened_version(version, folder))
            rows = await wanted.find(store)
            replays = Replays(store, folder, sources, options)
            if options.real is not None:
                _require_money(replays, options.real)
            found = []
            async for one in replays.play(rows):
                if on_result is not None:
                    on_result(one)
                # of thousands the steps are not kept
                found.append(one if len(rows) == 1 else one.in_short())
            return found
    except UnknownVersion as error:
        fail(str(error), Exit.USAGE)
    finally:
        await store.aclose()


def _require_money(replays: Replays, real: RealAnswers) -> None:
    files = replays.loaded.checked.files
    if real.spending.max_usd is not None and real.spending.max_tokens is None:
        require_prices(files)
    if real.judge and files.crew is not None:
        try:
            named_model(files.crew, real.judge)
        except ProviderError as error:
            fail(str(error), Exit.USAGE)


def _print_result(result: ReplayResult) -> None:
    _print_json(replay_document(result))


def _print_json(document: object) -> None:
    # a server reads each as it comes
    print(visible_json(json.dumps(document, ensure_ascii=False)), flush=True)


def print_results(results: Sequence[ReplayResult]) -> None:
    """Print replays for people: one in full, many as a report."""
    lines = result_lines(results[0]) if len(results) == 1 else report_lines(results)
    for line in lines:
        print(visible(line))


def _percent(text: str) -> float | None:
    if not text:
        return None
    try:
        number = float(text.removesuffix("%")) / 100
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise typer.BadParameter("write a percentage, such as 5%", param_hint="--fail-over")
    return number
