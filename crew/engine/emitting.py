"""How the events of a run are recorded: which of them are waited for."""

from agents.events import AgentStarted, ToolAsked, ToolReturned, ToolStarted
from crew.engine.questions import Questions
from crew.engine.taint import Taint
from crew.journal.events import EphemeralEvent, Event, StoredEvent
from crew.journal.records.rows import RunRow
from crew.journal.remembered.events import DocumentsShown
from crew.journal.state import RunState
from crew.journal.writer import Journal

# events that may wait for the store while a run goes on
MAX_BACKLOG = 50


class Recorder:
    """Records events of one run; its state follows them."""

    def __init__(self, journal: Journal, state: RunState) -> None:
        self.journal, self.state = journal, state

    def __call__(self, event: StoredEvent, row: RunRow | None = None) -> None:
        """Record an event; see Journal."""
        self.journal.record(event, row)
        self.state.apply(event)


class Emitter:
    """What becomes of each event of one run's agents."""

    def __init__(
        self, record: Recorder, questions: Questions, taint: Taint, *, stream: bool
    ) -> None:
        """Of a run.

        Args:
            record: records what is stored.
            questions: knows what a person has decided on calls.
            taint: notes which tools have given text of others.
            stream: text is published as it is written.
        """
        self._record, self._questions, self._taint = record, questions, taint
        self._stream = stream

    async def __call__(self, event: Event) -> None:
        """Record an event and go on by it.

        A tool's act waits until its start is stored: one that must not be repeated is not, and
        one that ends the process is known by its name. Streamed text is published at once, so it
        waits until what precedes it is stored. A model call does not wait: at worst it is made
        again.
        """
        journal = self._record.journal
        if isinstance(event, EphemeralEvent):
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
            case _:
                self._record(event)
