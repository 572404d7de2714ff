"""Requests to models that have failed, by the events of a run."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from agents.errors import ModelErrorCode
from agents.events import AgentResponded, AgentStarted, Warned
from crew.journal.events import RunFailed, StoredEvent

# an agent, and the task or the call that it is for
Speaker = tuple[str, str]
# what stands for a failure that is not recorded: one that is tried again, and one that is not
TRIED_AGAIN: ModelErrorCode = "unavailable"
NOT_TRIED: ModelErrorCode = "refused"


@dataclass(frozen=True, slots=True)
class FailedAnswer:
    """A request without an answer."""

    speaker: Speaker
    # None: none came before a time was over
    code: ModelErrorCode | None
    seconds: float = 0.0
    # no other request is made
    is_last: bool = False


@dataclass(slots=True)
class Failures:
    """Follows the events of a run."""

    # those that are asked and have not answered
    speaking: set[Speaker] = field(default_factory=set)
    # of them: warnings before a further request
    warned: dict[Speaker, list[ModelErrorCode]] = field(default_factory=lambda: defaultdict(list))

    def of(self, event: StoredEvent) -> Iterator[FailedAnswer]:
        """Yield the requests that an event says have failed, in order."""
        match event:
            case AgentStarted(agent_id=name):
                self.speaking.add((name, task_or_call(event)))
            case Warned(code="model_retry", agent_id=str(name)):
                self.warned[name, task_or_call(event)].append(TRIED_AGAIN)
            case Warned(code="model_backup", agent_id=str(name)):
                self.warned[name, task_or_call(event)].append(NOT_TRIED)
            case AgentResponded():
                speaker = event.agent_id, task_or_call(event)
                self.speaking.discard(speaker)
                # the event itself says better what has failed before it, but for what a process
                # that was killed had tried
                warned = self.warned.pop(speaker, [])
                for code in warned[: max(0, len(warned) - len(event.failed))]:
                    yield FailedAnswer(speaker, code)
                for one in event.failed:
                    yield FailedAnswer(speaker, code_of(one.code), one.duration_seconds)
            case Warned(code="member_timeout", agent_id=str(name)):
                yield from self._end((name, task_or_call(event)), None)
            case Warned(code="member_failed", agent_id=str(name)):
                yield from self._end((name, task_or_call(event)), NOT_TRIED)
            case RunFailed(reason="model", agent_id=str(name), code=code):
                for speaker in [one for one in self.speaking if one[0] == name]:
                    yield from self._end(speaker, code_of(code))
            case RunFailed(reason="timeout"):
                for speaker in sorted(self.speaking):
                    yield from self._end(speaker, None)

    def _end(self, speaker: Speaker, code: ModelErrorCode | None) -> Iterator[FailedAnswer]:
        if speaker not in self.speaking:
            # it is not a request that has failed
            return
        self.speaking.discard(speaker)
        for warned in self.warned.pop(speaker, ()):
            yield FailedAnswer(speaker, warned)
        yield FailedAnswer(speaker, code, is_last=True)


def task_or_call(event: AgentStarted | AgentResponded | Warned) -> str:
    """Return the task or the call that an agent works on, as requests have it; "": none."""
    return (event.within or event.task).replace("/", ".")


def code_of(text: str) -> ModelErrorCode:
    """Return the code of a failure; one that is not known any more is `refused`."""
    codes = ModelErrorCode.__args__  # type: ignore[attr-defined]
    found: ModelErrorCode = next((one for one in codes if one == text), NOT_TRIED)
    return found
