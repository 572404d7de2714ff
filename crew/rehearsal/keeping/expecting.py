"""A recording -> what must hold when it is played again."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from pydantic_core import from_json, to_json, to_jsonable_python

from crew.journal.events import RunFailed
from crew.rehearsal.judging.story import MadeCall, Step, Story
from crew.rehearsal.replaying.recording import Recording


def expected_of(recording: Recording, tools: Collection[str]) -> dict[str, Any]:
    """Return the key `expect` of a rehearsal: path, end, calls, pauses, warnings.

    Args:
        recording: the run.
        tools: of the crew.
    """
    story = Story.of(recording.events, {})
    found: dict[str, Any] = {"path": [_step(one) for one in story.steps]}
    if story.end is not None:
        code = story.end.code if isinstance(story.end, RunFailed) else ""
        reason = story.end.reason
        found["end"] = {"reason": reason, "code": code} if code else reason
    made = [*story.made]
    found["calls"] = [
        *_calls(story.calls, tools),
        {"only": [*dict.fromkeys(one.tool for one in made)]},
    ]
    if story.pauses:
        found["pauses"] = []
        for pause in story.pauses:
            keys: dict[str, Any] = {"agent": pause.agent_id, "question": pause.kind}
            found["pauses"].append({**keys, "calls": pause.tools} if pause.tools else keys)
    if story.warnings:
        found["warnings"] = story.warnings
    return found


def _step(step: Step) -> Any:
    return {step.name: step.why} if step.kind == "agent" and step.why else step.name


def _calls(calls: list[MadeCall], tools: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the calls that were made or refused; the same ones as one."""
    counts: Counter[bytes] = Counter()
    for one in calls:
        if one.tool not in tools:
            continue
        keys: dict[str, Any] = {"tool": one.tool, "agent": one.agent_id}
        if one.arguments:
            keys["arguments"] = to_jsonable_python(dict(one.arguments), fallback=str)
        if one.result is not None and one.status != "success":
            keys["status"] = one.status
        counts[to_json(keys)] += 1
    for packed, times in counts.items():
        keys = from_json(packed)
        yield {**keys, "times": times}
