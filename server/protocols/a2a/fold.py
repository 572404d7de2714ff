"""A run's events as updates of a task."""

from typing import Any

from crew.journal.events import status_of
from crew.journal.wire import RunEvent
from server.protocols.a2a.parts import AGENT, USER, write_data, write_message
from server.protocols.folds import Frame, is_whole_gap
from server.protocols.pauses import pause_calls, say_question
from server.protocols.speech import Speech, is_part

WORKING = "TASK_STATE_WORKING"
ASKS = "TASK_STATE_INPUT_REQUIRED"
COMPLETED = "TASK_STATE_COMPLETED"
FAILED = "TASK_STATE_FAILED"
CANCELED = "TASK_STATE_CANCELED"
# by status of a run
STATES = {
    "running": WORKING,
    "paused": ASKS,
    "completed": COMPLETED,
    "failed": FAILED,
    "cancelled": CANCELED,
}
ENDED = frozenset({COMPLETED, FAILED, CANCELED})
SILENT = frozenset({"context", "compacted", "agent_start"})
LEFT_OUT = frozenset({"run_id", "seq"})
# of an answer to a pause that decides something
DECIDED = ("decision", "decisions")
# of a pause: when it is over even without an answer
UNTIL = ("answer_until",)


class TaskFold:
    """Makes updates of a run's events, from the first one on; `task` is it as it is now."""

    def __init__(self, run_id: str, context_id: str, query: str, speech: Speech) -> None:
        """Of a run; `context_id`: as the client names its conversation."""
        self.run_id, self.context_id, self.query, self.speech = run_id, context_id, query, speech
        self._status: dict[str, Any] = {"state": WORKING}
        self._history: list[dict[str, Any]] = []
        self._artifacts: list[dict[str, Any]] = []
        self._metadata: dict[str, Any] = {}
        self._held: RunEvent | None = None
        self._held_text = ""
        # of the request that began the segment
        self._request = ""
        self._pause: RunEvent | None = None

    def task(self, history: int | None = None, *, artifacts: bool = True) -> dict[str, Any]:
        """Return the task; `history`: so many of its newest messages, all unless given."""
        task: dict[str, Any] = {
            "id": self.run_id,
            "contextId": self.context_id,
            "status": self._status,
        }
        if artifacts and self._artifacts:
            task["artifacts"] = list(self._artifacts)
        first = 0 if history is None else max(0, len(self._history) - history)
        kept = self._history[first:]
        if kept:
            task["history"] = list(kept)
        return {**task, "metadata": {"crew": dict(self._metadata)}}

    def add(self, event: RunEvent) -> list[Frame]:
        """See Fold."""
        if event.seq is None:
            return []
        out = []
        for settled, text in self.speech.settle(event):
            out += [Frame(settled.seq, one) for one in self._of(settled, text)]
        return out

    def _of(self, event: RunEvent, text: str) -> list[dict[str, Any]]:
        who = event.speaker
        match event.type:
            case "start":
                return self._start(event)
            case "agent_response" if is_part(who):
                self.speech.rest(who, text)
                return self._say(event, text)
            case "agent_response":
                made = self._release()
                self._held, self._held_text = event, text
                return made
            case "tool_start" | "tool_result" | "show":
                data = {"type": event.type, **_known(event)}
                return [*self._release(), self._update(event, WORKING, write_data(data))]
            case "pause":
                self._pause = event
                return []
            case "answered":
                decided = {key: event.metadata[key] for key in DECIDED if key in event.metadata}
                self._hear(write_data(decided) if decided else {"text": event.content}, event.seq)
                return []
            case "done":
                return self._done(event, text)
            case "error":
                made = self._release()
                self._metadata |= _only(event, ("code", "usage", "cost"))
                return [*made, self._update(event, FAILED, {"text": event.content})]
            case kind if kind in SILENT:
                return []
            case "gap":
                return self._swept(event)
            case "warning":
                # the answer before it may be the last
                return [self._note_event(event)]
            case _:
                return [*self._release(), self._note_event(event)]

    def _note_event(self, event: RunEvent) -> dict[str, Any]:
        update = self._update(event, WORKING)
        update["statusUpdate"]["metadata"] = {"crew": {"type": event.type, **_known(event)}}
        return update

    def _start(self, event: RunEvent) -> list[dict[str, Any]]:
        data = event.metadata
        self._held = self._pause = None
        self._status = {"state": WORKING, "timestamp": event.timestamp}
        self._request = data["request_id"]
        if event.seq == 1:
            self._hear({"text": self.query}, 0)
        self._metadata |= {"crew": data["crew"]}
        return [{"task": self.task()}]

    def _hear(self, part: dict[str, Any], place: int | None) -> None:
        """Add what a person has said or decided to the history.

        `place`: names it where the request that began the segment does not.
        """
        self._note(self._request or f"{self.run_id}:{place}", USER, part)
        self._request = ""

    def _note(self, id_: str, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        """Add a message to the history, and return it."""
        message = write_message(id_, role, self.run_id, self.context_id, *parts)
        self._history.append(message)
        return message

    def _release(self) -> list[dict[str, Any]]:
        """Tell an answer that was not the last."""
        event, self._held = self._held, None
        return self._say(event, self._held_text) if event is not None else []

    def _say(self, event: RunEvent, text: str) -> list[dict[str, Any]]:
        if not text:
            return []
        return [self._update(event, WORKING, {"text": text, "metadata": {"agent": event.agent}})]

    def _done(self, event: RunEvent, text: str) -> list[dict[str, Any]]:
        data, held = event.metadata, self._held
        self._held = None
        self._metadata |= _only(event, ("reason", "rounds", "handoffs", "usage", "cost"))
        if data["reason"] == "paused" and self._pause is not None:
            questions = pause_calls(self.run_id, self._pause, text)
            said = say_question(text, questions)
            # with all that the pause says: until when, what a call may touch, its hash
            known = self._pause.metadata
            stored = known.get("calls") or [{}]
            asked = [
                {**call, **one.document(), "schema": one.schema}
                for one, call in zip(questions, stored, strict=False)
            ]
            pause = {"pause": self._pause.seq, "calls": asked, **_only(self._pause, UNTIL)}
            return [self._update(event, ASKS, {"text": said}, write_data(pause))]
        if status_of(data["reason"]) == "cancelled":
            return [self._update(event, CANCELED)]
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        if held is not None and held.metadata.get("output") is not None:
            parts.append(write_data(held.metadata["output"]))
        made = []
        if parts:
            artifact: dict[str, Any] = {"artifactId": "answer", "name": "answer", "parts": parts}
            if data.get("sources"):
                artifact["metadata"] = {"crew": {"sources": data["sources"]}}
            self._artifacts = [artifact]
            ids = {"taskId": self.run_id, "contextId": self.context_id}
            update = {**ids, "artifact": artifact, "append": False, "lastChunk": True}
            made.append({"artifactUpdate": update})
        return [*made, self._update(event, COMPLETED)]

    def _swept(self, event: RunEvent) -> list[dict[str, Any]]:
        """Tell a task of which the first events are no longer kept, by what it came to."""
        result = event.metadata["snapshot"]
        state, answer = STATES[result["status"]], result["answer"]
        if not is_whole_gap(event):
            # its end follows
            state = WORKING
        if state == COMPLETED and answer:
            self._artifacts = [
                {"artifactId": "answer", "name": "answer", "parts": [{"text": answer}]}
            ]
        self._update(event, state)
        return [{"task": self.task()}]

    def _update(self, event: RunEvent, state: str, *parts: dict[str, Any]) -> dict[str, Any]:
        self._status = {"state": state, "timestamp": event.timestamp}
        if parts:
            id_ = f"{self.run_id}:{event.seq}"
            self._status["message"] = self._note(id_, AGENT, *parts)
        ids = {"taskId": self.run_id, "contextId": self.context_id}
        return {"statusUpdate": {**ids, "status": self._status}}


def _known(event: RunEvent) -> dict[str, Any]:
    return {key: one for key, one in event.metadata.items() if key not in LEFT_OUT}


def _only(event: RunEvent, names: tuple[str, ...]) -> dict[str, Any]:
    return {key: event.metadata[key] for key in names if key in event.metadata}
