"""A recording -> what must hold when it is played again."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, get_args

from pydantic_core import from_json, to_json, to_jsonable_python

from crew.journal.events import RunFailed
from crew.rehearsal.judging.story import MadeCall, Story
from crew.rehearsal.playing.updates import written_step
from crew.rehearsal.replaying.recording import Recording
from tools.calls import CallStatus

STATUSES = get_args(CallStatus)


def expected_of(recording: Recording, tools: Collection[str]) -> dict[str, Any]:
    """Return the key `expect` of a rehearsal: path, end, calls, pauses, warnings.

    Args:
        recording: the run.
        tools: of the crew.
    """
    story = Story.of(recording.events, {})
    found: dict[str, Any] = {"path": [written_step(one) for one in story.steps]}
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


def _calls(calls: list[MadeCall], tools: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the calls that were made or refused; the same ones as one."""
    counts: Counter[tuple[bytes, str]] = Counter()
    for one in calls:
        if one.tool not in tools:
            continue
        keys: dict[str, Any] = {"tool": one.tool, "agent": one.agent_id}
        if one.arguments:
            keys["arguments"] = to_jsonable_python(dict(one.arguments), fallback=str)
        counts[to_json(keys), one.status] += 1
    every = [(from_json(packed), status) for packed, status in counts]
    for (keys, status), times in zip(every, counts.values(), strict=True):
        others = [one for one in every if _is_counted_as(one[0], keys)]
        statuses = {one[1] for one in others}
        # success need not be said, unless a call has failed that is counted, too
        if status in STATUSES and (status != "success" or len(statuses) > 1):
            keys = {**keys, "status": status}
        is_alone = [one[1] for one in others].count(status) == 1
        yield {**keys, "times": times} if is_alone else keys


def _is_counted_as(call: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
    """Return whether an expected call is this call, too: it names some arguments, not all."""
    if (call["tool"], call["agent"]) != (keys["tool"], keys["agent"]):
        return False
    arguments = call.get("arguments", {})
    return all(
        arguments.get(key, keys) == value for key, value in keys.get("arguments", {}).items()
    )
