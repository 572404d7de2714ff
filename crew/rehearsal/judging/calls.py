"""Expected calls, and what must never happen; pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from crew.rehearsal.judging.story import MadeCall, Story
from crew.rehearsal.keys.expected import ExpectedCall, Occurrence
from crew.rehearsal.matching import is_like, shown


def shown_call(tool: str | None, arguments: object) -> str:
    """Return a call as messages show it."""
    return f"{tool}({to_json(arguments).decode() if arguments else ''})"


def wrong_call(wanted: ExpectedCall, story: Story) -> str | None:
    """Return why an expected call is not there as it must be; None where it is."""
    if wanted.only is not None:
        others = sorted({one.tool for one in story.made if one.tool not in wanted.only})
        return f"{', '.join(others)} is called; only {', '.join(wanted.only)}" if others else None
    found = [one for one in story.calls if _is_meant(wanted, one, story.calls)]
    text = shown_call(wanted.tool, wanted.arguments)
    if wanted.times is not None and len(found) != wanted.times:
        return f"{text} occurs {len(found)} times, not {wanted.times}{_others(wanted, story)}"
    if wanted.times is None and not found:
        return f"{text} does not occur{_others(wanted, story)}"
    return None


def _is_meant(wanted: ExpectedCall, one: MadeCall, calls: Sequence[MadeCall]) -> bool:
    if one.tool != wanted.tool or wanted.agent not in (None, one.agent_id):
        return False
    if wanted.status is None and not one.is_started:
        return False
    if wanted.status not in (None, one.status) or not _has(one, wanted.arguments):
        return False
    attempts = one.result.attempts if one.result is not None else 0
    if wanted.attempts not in (None, attempts):
        return False
    if wanted.approved_by not in (None, one.approved_by):
        return False
    is_before = (other.tool == wanted.after and other.place < one.place for other in calls)
    return wanted.after is None or any(is_before)


def _has(one: MadeCall, wanted: Mapping[str, Any]) -> bool:
    """Return whether a call has arguments, as the model gave them or as the tool takes them."""
    return is_like(wanted, one.arguments) or is_like(wanted, one.checked)


def _others(wanted: ExpectedCall, story: Story) -> str:
    """Return what was made of the same tool instead."""
    found = [
        f"{shown_call(one.tool, dict(one.arguments))} by {one.agent_id}: {one.status}"
        for one in story.calls
        if one.tool == wanted.tool
    ]
    return f"; there is {'; '.join(found[:3])}" if found else ""


def occurrences(wanted: Occurrence, story: Story) -> Iterator[str]:
    """Yield each time that something has happened, in words."""
    if wanted.call is not None:
        for one in story.made:
            arguments = dict(one.arguments)
            is_approved = one.approved_by is not None and wanted.unless == "approved"
            is_meant = one.tool == wanted.call and _has(one, wanted.arguments)
            if is_meant and not is_approved:
                how = "is called" if wanted.unless is None else "is called without approval"
                yield f"{shown_call(one.tool, arguments)} {how} by {one.agent_id}"
    elif wanted.agent is not None:
        if wanted.agent in story.speakers:
            yield f"{wanted.agent} speaks"
    elif wanted.says is not None:
        for agent_id, text in story.said:
            if re.search(wanted.says, text):
                yield f"{agent_id} says {shown(text)}"
    elif wanted.warning is not None:
        if wanted.warning in story.warnings:
            yield f"there is the warning {wanted.warning}"
    elif wanted.signal in story.signals:
        yield f"{wanted.signal} leads on"
