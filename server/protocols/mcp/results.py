"""What a run comes to, as a tool's result; a fold of its events."""

from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic_core import from_json, to_json

from crew.journal.events import status_of
from crew.journal.wire import RunEvent
from server.protocols.folds import Frame
from server.protocols.pauses import PauseCall, pause_calls, question_of, say_question
from server.protocols.speech import Speech, is_part

SILENT = frozenset({"context", "compacted"})
# of the end of a run, also where it failed
SPENT = ("usage", "cost")


class ResultFold:
    """Makes progress of a run's events, and keeps what it comes to."""

    def __init__(self, run_id: str, speech: Speech, place: str, reply: str) -> None:
        """Of a run.

        Args:
            run_id: the run.
            speech: has its words.
            place: where a person answers its pauses.
            reply: the tool that answers questions in words.
        """
        self.run_id, self.speech, self.place, self.reply = run_id, speech, place, reply
        # of the pause that it waits in
        self.questions: list[PauseCall] = []
        self.text = ""
        self.document: dict[str, Any] = {}
        self._pause: RunEvent | None = None
        self._output: Any = None
        self._start("running")

    def _start(self, status: str, reason: str | None = None) -> None:
        self.questions, self.text = [], ""
        self.document = {
            "run_id": self.run_id,
            "status": status,
            "answer": None,
            "reason": reason,
            "pause": None,
            "question": None,
            "calls": [],
        }

    def add(self, event: RunEvent) -> list[Frame]:
        """See Fold: the words of each step."""
        if event.seq is None:
            return []
        out = []
        for settled, text in self.speech.settle(event):
            self._note(settled, text)
            # an answer of calls or of a signal alone has no words
            is_answer = settled.type == "agent_response"
            words = text if is_answer else text or settled.content
            if settled.type not in SILENT and (words or not is_answer):
                out.append(Frame(settled.seq, words or settled.type))
        return out

    def _note(self, event: RunEvent, text: str) -> None:
        match event.type:
            case "start":
                self._pause = self._output = None
                self._start("running")
            case "agent_response":
                self.speech.rest(event.speaker, text)
                if not is_part(event.speaker):
                    self._output = event.metadata.get("output")
            case "pause":
                self._pause = event
            case "done":
                self._done(event, text)
            case "error":
                self._start("failed", event.metadata["code"])
                self.text = event.content
                self.document |= {key: event.metadata.get(key) for key in SPENT}
            case "gap":
                # its first events are no longer kept
                result = event.metadata["snapshot"]
                self._start(result["status"], result["reason"])
                self.text = self.document["answer"] = result["answer"] or ""

    def _done(self, event: RunEvent, text: str) -> None:
        data = event.metadata
        self._start(status_of(data["reason"]), data["reason"])
        self.text = self.document["answer"] = text
        lists = {key: data.get(key) or [] for key in ("sources", "shows")}
        spent = {key: data.get(key) for key in SPENT}
        self.document |= {"output": self._output, **lists, **spent}
        if data["reason"] == "paused" and self._pause is not None:
            self.questions = pause_calls(self.run_id, self._pause, text)
            question = question_of(self.questions)
            self.text = f"{say_question(text, self.questions)}\n\n{self._how()}"
            calls = [one.document() for one in self.questions if one.is_about_call]
            self.document |= {"pause": self._pause.seq, "question": question, "calls": calls}

    def _how(self) -> str:
        """Return that the run is paused, and where it is answered."""
        if self.questions[0].is_about_call:
            return f"The run is paused until a person decides: {self.place}"
        return f"The run is paused: {self.reply} answers it, or a person: {self.place}"

    def result(self) -> CallToolResult:
        """Return what the run has come to."""
        failed = self.document["status"] in ("failed", "cancelled")
        text = self.text or self.document["status"]
        # as JSON has it: without tuples
        return result_of_call(text, self.document, is_error=failed)


def result_of_call(
    text: str, document: dict[str, Any] | None = None, *, is_error: bool = False
) -> CallToolResult:
    """Return a result."""
    structured = None if document is None else from_json(to_json(document, inf_nan_mode="null"))
    content: list[Any] = [TextContent(type="text", text=text)]
    return CallToolResult(content=content, structured_content=structured, is_error=is_error)
