"""A run's events as steps: who did what, and with which text; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic_core import to_json

from crew.journal.wire import RunEvent


@dataclass(frozen=True, slots=True)
class RunStep:
    """Something that happened in a run."""

    seq: int
    at: str
    # what it is called, without what differs from run to run
    what: str
    # what was said, called or returned
    text: str
    # `file:line` that has led there
    source: str | None


def steps_of(events: Iterable[RunEvent]) -> Iterator[RunStep]:
    """Yield the steps of a run."""
    for event in events:
        data = event.metadata
        match event.type:
            case "agent_response":
                what, text = f"{event.speaker[0]} answers", event.content
            case "handoff":
                signal = f" by {data['signal']}" if data.get("signal") else ""
                what, text = f"{data['from']} → {data['to']}{signal}", ""
            case "tool_start":
                what = f"{event.speaker[0]} calls {data['tool']}"
                text = to_json(data.get("arguments")).decode()
            case "tool_result":
                what, text = f"{data['tool']}: {data['status']}", str(data.get("output") or "")
            case "pause":
                what = f"{event.speaker[0]} waits for a person"
                text = to_json(data["calls"]).decode() if data.get("calls") else ""
            case "answered":
                what, text = f"{event.agent or 'a person'} answers", person_text(event)
            case "done" if data.get("reason") != "paused":
                what = f"end: {data.get('reason')}"
                text = str(data.get("answer") or "")
            case "error":
                what, text = "the run fails", event.content
            case _:
                continue
        yield RunStep(event.seq or 0, event.timestamp, what, text, data.get("source"))


def person_text(event: RunEvent) -> str:
    """Return what a person has said, and decided on which calls."""
    data = event.metadata
    decisions = list(data.get("decisions") or ())
    if not decisions and data.get("decision"):
        decisions = [data]
    made = [f"{one.get('call_id') or 'all'}: {one['decision']}" for one in decisions]
    return "\n".join(part for part in (*made, event.content) if part)
