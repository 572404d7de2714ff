"""A run as steps that can be compared with another run's; pure.

Compared are handoffs, groups, calls of tools, refused calls, pauses, warnings and ends: not ids,
times, lines and durations.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json, to_jsonable_python

from agents.digests import RequestDigests
from agents.events import AgentResponded, ToolReturned, ToolStarted, Warned
from crew.journal.events import (
    HandedOff,
    ParallelEnded,
    ParallelStarted,
    Paused,
    RunDone,
    RunFailed,
    StoredEvent,
)
from crew.journal.planned.events import PlanEnded, Planned
from crew.rehearsal.playing.tape import Noted


@dataclass(frozen=True, slots=True)
class TrailStep:
    """One step, or an answer of a model between two."""

    # what is compared
    key: tuple[str, ...]
    text: str
    # what in the files leads there, as `file:line`
    source: str | None = None
    # of an answer: what the model was sent
    asked: RequestDigests | None = None
    agent_id: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether it is an answer, which is no step."""
        return self.key[0] == "answer"


@dataclass(slots=True)
class Trail:
    """The steps of a run: its own, and of members of groups, tasks, and agents as tools."""

    main: list[TrailStep] = field(default_factory=list)
    # by group (the so-many-th of its name), task or call, and agent; in order of their beginning
    branches: dict[tuple[str, str], list[TrailStep]] = field(default_factory=dict)
    # the place in `main` at which each begins
    places: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, branch: tuple[str, str] | None, step: TrailStep) -> None:
        """Add a step to the main trail, or to that of a branch."""
        if branch is None:
            self.main.append(step)
            return
        if branch not in self.branches:
            self.places[branch] = len(self.main)
        self.branches.setdefault(branch, []).append(step)

    @classmethod
    def of(cls, events: Iterable[Noted]) -> "Trail":
        """Read the events of a run."""
        trail, groups = cls(), Counter[str]()
        # of calls that had started when their process was killed
        started: set[tuple[str, str]] = set()
        group = ""
        for noted in events:
            event: Any = noted.event
            if isinstance(event, ParallelStarted):
                groups[event.group] += 1
                group = f"{event.group} {groups[event.group]}"
            branch = _branch(event, group)
            for step in _steps(event, started):
                trail.add(branch, step)
        return trail


def _branch(event: Any, group: str) -> tuple[str, str] | None:
    part = getattr(event, "within", "") or getattr(event, "task", "")
    if part:
        return part, event.agent_id or ""
    if getattr(event, "group", None) is not None and not isinstance(
        event, ParallelStarted | ParallelEnded
    ):
        return group, getattr(event, "agent_id", "") or ""
    return None


def _steps(event: StoredEvent, started: set[tuple[str, str]]) -> Iterator[TrailStep]:
    match event:
        case AgentResponded(agent_id=name, asked=asked):
            yield TrailStep(("answer", name), f"{name} answers", None, asked, name)
        case HandedOff(to=to, why=why, signal=signal, source=source):
            how = signal or why
            yield TrailStep(("handoff", to, why, signal or ""), f"{how} → {to}", source)
        case ParallelStarted(group=group, agents=agents):
            yield TrailStep(("group", group, *sorted(agents)), f"group {group}")
        case ParallelEnded(group=group, agents=agents, failed=failed):
            key = ("group_end", group, *sorted(agents), "failed", *sorted(failed))
            yield TrailStep(key, f"{group} ends with {', '.join(agents) or 'no answer'}")
        case ToolStarted(agent_id=name, call=call):
            if (name, call.id) not in started:
                started.add((name, call.id))
                arguments = shown_arguments(call.arguments)
                text = f"{call.tool}({arguments})"
                yield TrailStep(("call", name, call.tool, arguments), text, agent_id=name)
        case ToolReturned(agent_id=name, result=result):
            if (name, result.call_id) not in started:
                kind = "denied" if result.status == "denied" else "refused"
                text = f"{result.tool} {kind}"
                yield TrailStep((kind, name, result.tool), text, agent_id=name)
        case Paused(agent_id=name, question=question, source=source):
            calls = [
                f"{one.call.tool}({shown_arguments(one.call.arguments)})"
                for one in (question.calls if question is not None else ())
            ]
            kind = "words" if question is None else question.kind
            text = f"pause for {kind}" + (f" on {', '.join(calls)}" if calls else "")
            yield TrailStep(("pause", name, kind, *calls), text, source, agent_id=name)
        case Warned(code=code, agent_id=speaker):
            yield TrailStep(("warning", code), f"warning {code}", agent_id=speaker or "")
        case _:
            yield from _ends(event)


def _ends(event: StoredEvent) -> Iterator[TrailStep]:
    """Yield the steps of plans, and of ends."""
    match event:
        case Planned(tasks=tasks):
            names = [f"{one.id} ({one.agent_id})" for one in tasks]
            yield TrailStep(("plan", *names), f"plan of {', '.join(names)}")
        case PlanEnded(done=done, failed=lost):
            yield TrailStep(("plan_end", *sorted(done), "failed", *sorted(lost)), "the plan ends")
        case RunDone(reason=reason, source=source) if reason != "paused":
            yield TrailStep(("end", reason), f"end: {reason}", source)
        case RunFailed(reason=reason, code=code):
            yield TrailStep(("end", reason, code), f"end: {reason} ({code})")


def shown_arguments(arguments: Any) -> str:
    """Return arguments as JSON, the same for the same ones."""
    plain = to_jsonable_python(dict(sorted(arguments.items())), fallback=str)
    return to_json(plain).decode() if plain else ""
