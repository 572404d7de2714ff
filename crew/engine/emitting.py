"""How the events of a run are recorded: which of them are waited for."""

from dataclasses import replace

from agents.events import (
    AgentResponded,
    AgentStarted,
    FailedRequest,
    ModelCalled,
    ToolAsked,
    ToolReturned,
    ToolStarted,
    Warned,
)
from crew.engine.questions import Questions
from crew.engine.spending.paying import Paying
from crew.engine.taint import Taint
from crew.journal.events import EphemeralEvent, Event, StoredEvent
from crew.journal.records.rows import RunRow
from crew.journal.remembered.events import DocumentsShown
from crew.journal.state import MEMBER_CODES, RunState
from crew.journal.writer import Journal

Failed = tuple[FailedRequest, ...]
# events that may wait for the store while a run goes on
MAX_BACKLOG = 50


class Recorder:
    """Records events of one run; its state follows them."""

    def __init__(self, journal: Journal, state: RunState) -> None:
        self.journal, self.state = journal, state
        # requests to models that no answer has followed yet, by who has made them
        self._failed: dict[tuple[str, str, str], list[FailedRequest]] = {}

    def __call__(self, event: StoredEvent, row: RunRow | None = None) -> None:
        """Record an event; see Journal."""
        self.journal.record(event, row)
        self.state.apply(event)

    def note_request(self, event: ModelCalled) -> None:
        """Note a request that has failed: it is stored with what follows from that."""
        if event.request.outcome != "success":
            key = event.agent_id, event.task, event.within
            self._failed.setdefault(key, []).append(FailedRequest.of(event.request))

    def take_failed(self, event: AgentResponded | Warned | None = None) -> Failed:
        """Return the failed requests of an agent, or of all; once."""
        if not self._failed:
            return ()
        if event is not None:
            key = event.agent_id or "", event.task, event.within
            return tuple(self._failed.pop(key, ()))
        failed = tuple(one for made in self._failed.values() for one in made)
        self._failed.clear()
        return failed


class Emitter:
    """What becomes of each event of one run's agents."""

    def __init__(
        self,
        record: Recorder,
        questions: Questions,
        taint: Taint,
        paying: Paying,
        *,
        stream: bool,
    ) -> None:
        """Of a run.

        Args:
            record: records what is stored.
            questions: knows what a person has decided on calls.
            taint: notes which tools have given text of others.
            paying: keeps what requests to models have cost.
            stream: text is published as it is written.
        """
        self._record, self._questions, self._taint = record, questions, taint
        self._paying, self._stream = paying, stream

    async def __call__(self, event: Event) -> None:
        """Record an event and go on by it.

        A tool's act waits until its start is stored: one that must not be repeated is not, and
        one that ends the process is known by its name. Streamed text is published at once, so it
        waits until what precedes it is stored. A model call does not wait: at worst it is made
        again.
        """
        journal = self._record.journal
        if isinstance(event, EphemeralEvent):
            if isinstance(event, ModelCalled):
                self._record.note_request(event)
                await self._paying.note(event, journal.now())
            journal.publish_ephemeral(event)
            return
        match event:
            case ToolAsked():
                self._questions.add_question(event)
            case ToolStarted(once=False) if self._record.state.has_started(event):
                # made again after a crash: its start was published already. One that must not
                # be made twice is made again only by a person's word, as a new act
                pass
            case ToolStarted():
                self._record(self._questions.with_approval(event))
                await journal.settled()
            case ToolReturned():
                self._taint.by_result(event)
                self._record(self._questions.with_approval(event))
            case DocumentsShown():
                self._taint.by_documents(event)
                if event.passages:
                    self._record(event)
            case AgentStarted():
                self._record(event)
                if self._stream or journal.backlog > MAX_BACKLOG:
                    await journal.settled()
            case AgentResponded():
                # it has them itself
                self._record.take_failed(event)
                self._record(event)
            case Warned(code=code) if code in MEMBER_CODES:
                self._record(replace(event, failed=self._record.take_failed(event)))
            case _:
                self._record(event)
