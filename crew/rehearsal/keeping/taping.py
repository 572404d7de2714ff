"""A recording -> the lines of a cassette."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import to_json, to_jsonable_python

from agents.costs.usage import Usage
from agents.events import (
    AgentResponded,
    AgentStarted,
    Compacted,
    ContextShown,
    Shown,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.helper import PREFIX
from crew.engine.approvals import edit_note
from crew.journal.events import Paused, RunFailed, RunResumed, RunStarted, StoredEvent
from crew.journal.query import DEFAULT_PRIORITY, Answer, CallDecision
from crew.journal.questions import Inquiry, PendingCall, Question, UnknownOutcome
from crew.journal.records.audit import LOCAL_USER
from crew.rehearsal.cassettes.lines import (
    AnsweredLine,
    AskedLine,
    BlocksLine,
    By,
    CalledLine,
    CassetteForm,
    CassetteMessage,
    CassetteQuery,
    FailedLine,
    Line,
    PersonLine,
    ReturnedLine,
    SaidCall,
    SaidDecision,
    SaidUsage,
    SegmentLine,
    ShownPart,
)
from crew.rehearsal.replaying.doubles import seconds_of_attempt
from crew.rehearsal.replaying.failures import Failures
from crew.rehearsal.replaying.recording import Recording
from tools.calls import ToolResult

# of a person, about calls that are then not made
REPLACES = ("deny", "skip", "done")
# a call that no tool has; the engine refuses it as it has refused others
REFUSED = SaidCall(tool="refused")


@dataclass(slots=True)
class Taping:
    """Reads the events of a run, in order."""

    recording: Recording
    # of the crew: agents as tools, which are not replaced
    own: Collection[str] = ()
    started: dict[tuple[str, str], ToolStarted] = field(default_factory=dict)
    # of them, those without a result
    waiting: dict[tuple[str, str], ToolStarted] = field(default_factory=dict)
    failures: Failures = field(default_factory=Failures)
    # of plans
    tasks: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    # of each call that was started, the so-many-th of its tool
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    # by call: what a person has decided
    decided: dict[tuple[str, str], str] = field(default_factory=dict)
    forms: dict[str, CassetteForm] = field(default_factory=dict)
    shown: dict[tuple[str, str], Any] = field(default_factory=dict)
    paused: tuple[Question | None, float] = (None, 0.0)

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the cassette."""
        for noted in self.recording.events:
            at = round(noted.seconds, 3)
            yield from self._failed(noted.event, at)
            yield from self._lines(noted.event, at)

    def _failed(self, event: StoredEvent, at: float) -> Iterator[Line]:
        """Yield requests without an answer, and calls without a result when a time was over."""
        for one in self.failures.of(event):
            agent_id, part = one.speaker
            yield FailedLine(
                at=at,
                agent=f"{agent_id}/{part}" if part in self.tasks else agent_id,
                code=one.code,
                seconds=round(one.seconds, 3),
                is_last=one.is_last,
            )
        match event:
            case RunFailed(reason="timeout"):
                yield from self._late([*self.waiting], at)
            case Warned(code="member_timeout", agent_id=str(name)):
                yield from self._late([key for key in self.waiting if key[0] == name], at)

    def _lines(self, event: StoredEvent, at: float) -> Iterator[Line]:
        match event:
            case RunStarted():
                yield SegmentLine(at=at, query=self._query(event))
            case AgentResponded():
                yield from _answered(event, at)
            case AgentStarted(task=task) if task:
                self.tasks.add(task.replace("/", "."))
            case Compacted(text=text):
                said = to_json({"summary": text}).decode()
                yield AnsweredLine(at=at, agent=f"{PREFIX}summary", say=said)
            case ContextShown(agent_id=name, blocks=blocks):
                parts = [
                    ShownPart(
                        kind=one.kind, name=one.name, ids=[*one.ids], versions=[*one.versions]
                    )
                    for one in blocks
                ]
                yield BlocksLine(at=at, agent=name, blocks=parts)
            case Shown(agent_id=name, call_id=call_id, data=data):
                self.shown[name, call_id] = data
            case ToolStarted():
                yield from self._called(event, at)
            case ToolReturned(agent_id=name, result=result):
                yield self._returned(name, result, at)
            case _:
                yield from self._of_people(event, at)

    def _of_people(self, event: StoredEvent, at: float) -> Iterator[Line]:
        match event:
            case Paused(question=question):
                self.paused = question, at
                if isinstance(question, Inquiry):
                    for one in question.waiting:
                        form = one.forms[0]
                        fields = form.schema.get("properties") or {}
                        known = CassetteForm(message=form.message, fields=fields)
                        self.forms[one.asked.call.id] = known
                if isinstance(question, UnknownOutcome):
                    call = question.calls[0]
                    nth = self.numbers.get((call.agent_id, call.call.id), 1)
                    yield SegmentLine(at=at, killed=(call.call.tool, nth))
            case RunResumed(answer=answer, expired=expired):
                yield self._person(answer, at, expired=expired)

    def _late(self, keys: Iterable[tuple[str, str]], at: float) -> Iterator[Line]:
        """Yield calls that have no result: they were too late."""
        for key in keys:
            start = self.waiting.pop(key)
            yield ReturnedLine(
                at=at,
                agent=key[0],
                id=key[1],
                tool=start.call.tool,
                status="timeout",
                output="",
                by="crew" if start.call.tool in self.own else "tool",
            )

    def _query(self, started: RunStarted) -> CassetteQuery:
        query, before = started.query, self.recording.before
        earlier = [CassetteMessage(role=one.role, content=one.content) for one in query.history]
        for one in before.exchanges:
            if one.position is not None:
                earlier.append(CassetteMessage(role="user", content=one.query))
                earlier.append(CassetteMessage(role="assistant", content=one.answer))
        return CassetteQuery(
            text=query.text,
            user=query.user_id,
            agent=query.agent_id,
            history=earlier,
            priority=None if query.priority == DEFAULT_PRIORITY else query.priority,
        )

    def _called(self, event: ToolStarted, at: float) -> Iterator[Line]:
        key = event.agent_id, event.call.id
        if key not in self.started:
            self.counts[event.call.tool] += 1
            self.numbers[key] = self.counts[event.call.tool]
        # an edited call is called again with what the person wrote
        self.started[key] = self.waiting[key] = event
        plain = to_jsonable_python(dict(event.call.arguments), fallback=str)
        yield CalledLine(
            at=at, agent=event.agent_id, id=event.call.id, tool=event.call.tool, arguments=plain
        )

    def _returned(self, name: str, result: ToolResult, at: float) -> Line:
        key = name, result.call_id
        start = self.started.get(key)
        self.waiting.pop(key, None)
        output: Any = result.output
        if start is not None and start.edited:
            output = output.removeprefix(edit_note(start.call))
        if result.status == "success" and key in self.shown:
            output = to_json(self.shown[key]).decode()
        sent = result.facts.get("sent")
        return ReturnedLine(
            at=at,
            agent=name,
            id=result.call_id,
            tool=result.tool,
            status=result.status,
            output=output,
            seconds=round(seconds_of_attempt(result), 3),
            failed=[one.error for one in result.failed],
            # a call that acts once is tried again only then
            failed_unsent=bool(result.failed) and start is not None and start.once,
            sent=sent if isinstance(sent, bool) and result.status == "error" else None,
            form=self.forms.pop(result.call_id, None),
            by=self._by(result, key),
        )

    def _by(self, result: ToolResult, key: tuple[str, str]) -> By:
        if result.status == "denied" or self.decided.get(key) in REPLACES:
            return "person"
        if result.facts.get("cached"):
            return "cache"
        return "crew" if key not in self.started or result.tool in self.own else "tool"

    def _person(self, answer: Answer, at: float, *, expired: bool) -> PersonLine:
        question, since = self.paused
        calls = question.calls if question is not None else ()
        decisions = [_decision(one, answer, question) for one in calls]
        known = [one for one in decisions if one is not None]
        for one, decision in zip(calls, decisions, strict=True):
            if decision is not None:
                self.decided[one.agent_id, one.call.id] = decision.decision
        return PersonLine(
            at=at,
            text=answer.text,
            decisions=known,
            # not the name of an account of the machine
            by="" if answer.by.startswith(LOCAL_USER) else answer.by,
            waited=round(max(0.0, at - since), 3),
            expired=expired,
        )


def _answered(event: AgentResponded, at: float) -> Iterator[Line]:
    name = f"{event.agent_id}/{event.task}" if event.task else event.agent_id
    if (asked := event.asked) is not None:
        yield AskedLine(
            at=round(max(0.0, at - event.duration_seconds), 3),
            agent=name,
            prompt=asked.prompt,
            tools=asked.tools,
            context=asked.context,
            words=asked.messages,
            sampling=asked.sampling,
        )
    if event.cached:
        return
    calls = [
        SaidCall(tool=one.tool, arguments=to_jsonable_python(one.arguments, fallback=str))
        for one in (event.calls if event.native else ())
    ]
    yield AnsweredLine(
        at=at,
        agent=name,
        say=event.content,
        calls=[REFUSED] if event.is_refused else calls,
        seconds=round(event.duration_seconds, 3),
        model=event.model,
        usage=_usage(event.usage),
    )


def _usage(usage: Usage) -> SaidUsage | None:
    if usage.estimated:
        return None
    return SaidUsage(
        input=usage.prompt_tokens,
        output=usage.completion_tokens,
        thinking=usage.thinking_tokens,
        cache_read=usage.cache_read_tokens,
    )


def _decision(asked: PendingCall, answer: Answer, question: Question | None) -> SaidDecision | None:
    given = next((one for one in answer.decisions if asked.is_meant(one)), None)
    if given is None and answer.decision is not None:
        given = CallDecision(asked.call.id, answer.decision, reason=answer.text)
        given = replace(given, result=answer.result)
    if given is None:
        return None
    return SaidDecision(
        agent=asked.agent_id,
        tool=asked.call.tool,
        decision=given.decision,
        reason=given.reason,
        result=given.result,
        arguments=given.arguments,
        is_form=isinstance(question, Inquiry),
        remember=given.remember,
    )
