"""Replays of many runs, grouped by what has caused their difference; pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crew.rehearsal.replaying.comparison import Verdict
from crew.rehearsal.replaying.replays import ReplayResult

# runs that a group names
MAX_NAMED = 3
DIFFERENT: frozenset[Verdict] = frozenset({"other way", "other way, assumed"})


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """Runs that go another way for the same reason."""

    results: Sequence[ReplayResult]

    @property
    def is_certain(self) -> bool:
        """Whether nothing before was assumed, or said anew."""
        return self.results[0].compared.is_certain

    @property
    def text(self) -> str:
        """What happens now, and what has happened."""
        found = self.results[0].compared
        return f"step {found.step}: {found.now}, was {found.recorded}"

    @property
    def causes(self) -> str:
        """The lines that say so, and what a model is sent that it was not sent then."""
        found = self.results[0].compared
        lines = [one for one in (found.source_now, found.source_then) if one is not None]
        if found.answered is not None:
            lines.append("real answers")
        if found.asked is not None:
            lines.append(f"{' and '.join(found.asked.parts)} of {found.asked.agent_id} changed")
        return ", ".join(dict.fromkeys(lines))

    @property
    def run_ids(self) -> list[str]:
        """Some of its runs."""
        return [one.row.run_id for one in self.results[:MAX_NAMED]]


def grouped(results: Sequence[ReplayResult]) -> list[CauseGroup]:
    """Return the runs that go another way by their causes, the largest group first."""
    found: dict[tuple[Any, ...], list[ReplayResult]] = {}
    for one in results:
        if (compared := one.compared).verdict in DIFFERENT:
            verdict = compared.verdict, compared.is_certain
            key = *verdict, compared.step, compared.recorded, compared.now
            sources = compared.source_then, compared.source_now
            found.setdefault((*key, *sources), []).append(one)
    return sorted((CauseGroup(one) for one in found.values()), key=lambda one: -len(one.results))


def share_of_others(results: Sequence[ReplayResult]) -> float:
    """Return how many of the runs that could be played go another way, from 0 to 1."""
    known = [one for one in results if one.compared.verdict not in ("not kept", "not reproduced")]
    others = sum(one.compared.verdict in DIFFERENT for one in known)
    return others / len(known) if known else 0.0


def headline(results: Sequence[ReplayResult]) -> str:
    """Return how many go another way, in a line."""
    counts = Counter(one.compared.verdict for one in results)
    others = counts["other way"] + counts["other way, assumed"]
    certain = sum(one.compared.is_certain for one in results)
    parts = [f"{others} of {len(results)} go another way ({certain} certain)"]
    parts += [f"{counts['same']} the same", f"{counts['assumed']} assumed"]
    others_of: tuple[Verdict, ...] = ("unknown", "not reproduced", "not kept")
    parts += [f"{counts[verdict]} {verdict}" for verdict in others_of if counts[verdict]]
    return ", ".join(parts)


def replay_document(result: ReplayResult) -> dict[str, Any]:
    """Return a replay as programs get it."""
    found = result.compared
    document: dict[str, Any] = {
        "run": result.row.run_id,
        "verdict": found.verdict,
        "step": found.step or None,
        "recorded": found.recorded or None,
        "now": found.now or None,
        "source_then": found.source_then,
        "source_now": found.source_now,
    }
    if found.asked is not None:
        document["asked"] = {"agent": found.asked.agent_id, "parts": list(found.asked.parts)}
        document["difference"] = "\n".join(result.difference)
    if found.answered is not None:
        given = found.answered
        document["answered"] = {"plays": given.plays, "agree": given.agree}
        document["answered"] |= {"judged": given.judged} if given.judged else {}
    if result.programs:
        document["programs"] = list(result.programs)
    return {**document, **({"why": found.why} if found.why else {})}


def report_document(results: Sequence[ReplayResult]) -> dict[str, Any]:
    """Return the counts and groups of replays as programs get them."""
    counts: Mapping[Verdict, int] = Counter(one.compared.verdict for one in results)
    groups = [
        {
            "count": len(one.results),
            "certain": one.is_certain,
            "text": one.text,
            "causes": one.causes,
            "runs": one.run_ids,
        }
        for one in grouped(results)
    ]
    share = round(share_of_others(results), 4)
    return {"runs": len(results), "verdicts": dict(counts), "other_way": share, "groups": groups}
