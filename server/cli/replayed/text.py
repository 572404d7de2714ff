"""Replays and differences as people read them."""

from collections.abc import Iterator, Sequence

from crew.rehearsal.differences.differences import Difference
from crew.rehearsal.replaying.replays import ReplayResult
from crew.rehearsal.replaying.report import grouped, headline
from server.cli.view.differences import document_lines


def report_lines(results: Sequence[ReplayResult]) -> Iterator[str]:
    """Yield the report of many replays."""
    yield headline(results)
    for group in grouped(results):
        how = "certain" if group.is_certain else "assumed"
        runs = ", ".join(one[:12] for one in group.run_ids)
        causes = f"  {group.causes}" if group.causes else ""
        yield f"{len(group.results):>4}  {how}  {group.text}{causes}  ({runs})"
    for one in results:
        if one.compared.why:
            yield f"      {one.row.run_id[:12]}  {one.compared.verdict}: {one.compared.why}"
    yield from _program_lines(list(dict.fromkeys(name for one in results for name in one.programs)))


def result_lines(result: ReplayResult) -> Iterator[str]:
    """Yield the replay of one run."""
    found = result.compared
    yield f"{result.row.run_id}  {found.verdict}"
    if found.recorded or found.now:
        yield f"  step {found.step}: {found.now}"
        yield f"  was:    {found.recorded}"
        lines = [one for one in (found.source_now, found.source_then) if one is not None]
        if lines:
            yield f"  by {', '.join(dict.fromkeys(lines))}"
    if found.answered is not None:
        given = found.answered
        judged = f"; the new answer is {given.judged}" if given.judged else ""
        if given.judged == "cannot say":
            judged = "; the judge cannot say which answer is better"
        yield f"  by real answers, {given.agree} of {given.plays} plays{judged}"
    if found.asked is not None:
        parts = " and ".join(found.asked.parts)
        yield f"  from step {found.step} on, {found.asked.agent_id} is sent another {parts}:"
        yield from (f"    {line}" for line in result.difference)
    if found.why:
        yield f"  {found.why}"
    yield from _program_lines(result.programs)


def _program_lines(names: Sequence[str]) -> Iterator[str]:
    if names:
        have = "have" if len(names) > 1 else "has"
        yield f"  {', '.join(names)} {have} changed; calls of tools have the results of then"


def difference_lines(found: Sequence[Difference]) -> Iterator[str]:
    """Yield what differs, with both lines."""
    yield from document_lines([one.document() for one in found])
