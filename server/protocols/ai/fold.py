"""A run's events as chunks of the AI SDK's UI stream; each segment is a stream of its own.

A stream that answers approvals goes on with the same message: its id is the run's. Behind the words
of a person comes a message of its own.
"""

from collections.abc import Collection, Mapping
from typing import Any

from crew.journal.events import status_of
from crew.journal.wire import RunEvent, Speaker
from server.protocols.folds import CUT_SHORT, Frame, SegmentCounts, in_place_of_gap
from server.protocols.pauses import PauseCall, pause_calls, say_question
from server.protocols.speech import Speech, is_part

# events with chunks of their own, or that clients have no use for
SILENT = frozenset({"context", "compacted", "tool_progress", "answered"})
LEFT_OUT = frozenset({"run_id", "seq", "agent_id"})
# what the end of a run says as a part of its own
SPENT = ("reason", "code", "usage", "cost")


class AiFold:
    """Makes chunks of a run's events, from the first one on."""

    def __init__(self, run_id: str, speech: Speech, live: Collection[str]) -> None:
        """Of a run; `live`: agents with answers that are sent as they are written."""
        self.run_id, self.speech, self.live = run_id, speech, live
        self._message = run_id
        self._counts = SegmentCounts()
        # the pause was asked by approval requests, which answers of the same message decide
        self._was_asked = False
        # the text that is being sent
        self._text = ""
        self._thought = ""
        self._in_step = False
        # an answer of the main line that may be the last
        self._held: RunEvent | None = None
        self._held_text = ""
        self._pause: RunEvent | None = None
        self._calls: dict[tuple[Speaker, str], str] = {}
        # by their names: the chunks of calls that are not sent yet, and of those without a result.
        # A call is sent when it starts or is asked about: the SDK waits for the result of each one
        self._unsent: dict[str, dict[str, Any]] = {}
        self._open: dict[str, dict[str, Any] | None] = {}

    def add(self, event: RunEvent) -> list[Frame]:
        """See Fold."""
        if event.seq is None:
            return [Frame(None, one) for one in self._live(event)]
        if event.type == "gap":
            swept = self.speech.swept(event)
            begun, *end = in_place_of_gap(swept)
            lost = Frame(event.seq, self._data(swept))
            return [*self.add(begun), lost, *(made for one in end for made in self.add(one))]
        out = []
        for settled, text in self.speech.settle(event):
            out += [Frame(settled.seq, one) for one in self._of(settled, text)]
        return out

    def _live(self, event: RunEvent) -> list[dict[str, Any] | None]:
        who = event.speaker
        if event.type == "agent_thinking" and not is_part(who):
            return self._think_on(f"{self.run_id}:{who[0]}:thinking", event.content)
        piece = self.speech.answer_piece(event, self.live)
        return [*self._end_thought(), *self._say(who[0], piece)] if piece else []

    def _of(self, event: RunEvent, text: str) -> list[dict[str, Any] | None]:
        who = event.speaker
        match event.type:
            case "start":
                return self._start(event)
            case "agent_start" if not is_part(who):
                return self._begin_step()
            case "agent_start":
                return []
            case "agent_response" if is_part(who):
                self.speech.rest(who, text)
                self._note_calls(event)
                return self._think(event, text)
            case "agent_response":
                made = [*self._end_thought(), *self._release()]
                self._held, self._held_text = event, text
                if not event.metadata["tool_calls"]:
                    return made
                self._note_calls(event)
                return [*made, *self._release()]
            case "tool_start":
                name = self._calls.get((who, event.metadata["call_id"]), "")
                return [*self._release(), *self._start_call(name)]
            case "tool_result":
                return [*self._release(), *self._end_call(event)]
            case "handoff":
                return [*self._release(), *self._end_step(), self._data(event)]
            case "pause":
                self._pause = event
                return []
            case "done":
                return self._done(event, text)
            case "error":
                failed = {"type": "error", "errorText": event.content}
                ended = [*self._end_text(), *self._end_thought()]
                spent = self._spent(event, self._counts.of(event.metadata))
                return [*ended, spent, failed, None]
            case kind if kind in SILENT:
                return []
            case "warning":
                # the answer before it may be the last
                return [self._data(event)]
            case _:
                return [*self._release(), self._data(event)]

    def _start(self, event: RunEvent) -> list[dict[str, Any] | None]:
        if self._pause is not None and not self._was_asked:
            # behind the person's words, which are a message of their own
            self._message = f"{self.run_id}:{event.seq}"
        # who resumes the stream of a page that was loaded anew has no part of these calls
        still_open = list(self._open.values()) if self._was_asked else []
        self._was_asked = False
        self._held = self._pause = None
        self._counts.begin(event.metadata)
        known = {"run_id": self.run_id, "crew": event.metadata["crew"]}
        metadata = {"crew": known}
        begun = {"type": "start", "messageId": self._message, "messageMetadata": metadata}
        return [begun, *still_open]

    def _begin_step(self) -> list[dict[str, Any] | None]:
        if self._in_step:
            return []
        self._in_step = True
        return [{"type": "start-step"}]

    def _end_step(self) -> list[dict[str, Any] | None]:
        if not self._in_step:
            return []
        self._in_step = False
        return [{"type": "finish-step"}]

    def _release(self) -> list[dict[str, Any] | None]:
        """Send an answer that was not the last as what went before."""
        event, self._held = self._held, None
        if event is None:
            return []
        rest = self.speech.rest(event.speaker, self._held_text)
        if self._text:
            # it was sent as the answer already
            return [*self._say(event.metadata["agent_id"], rest), *self._end_text()]
        return self._think(event, self._held_text)

    def _say(self, agent_id: str, text: str) -> list[dict[str, Any] | None]:
        made: list[dict[str, Any] | None] = []
        if not self._text:
            self._text = f"{self.run_id}:{agent_id}:text"
            made.append({"type": "text-start", "id": self._text})
        return [*made, *self._delta("text", self._text, text)]

    def _end_text(self) -> list[dict[str, Any] | None]:
        text, self._text = self._text, ""
        return [{"type": "text-end", "id": text}] if text else []

    def _think(self, event: RunEvent, text: str) -> list[dict[str, Any] | None]:
        if not text:
            return []
        id_ = f"{self.run_id}:{event.seq}"
        made = self._think_on(id_, f"**{event.agent}:** {text}")
        return [*made, *self._end_thought()]

    def _think_on(self, id_: str, text: str) -> list[dict[str, Any] | None]:
        made: list[dict[str, Any] | None] = []
        if self._thought != id_:
            made += self._end_thought()
            self._thought = id_
            made.append({"type": "reasoning-start", "id": id_})
        return [*made, *self._delta("reasoning", id_, text)]

    def _end_thought(self) -> list[dict[str, Any] | None]:
        thought, self._thought = self._thought, ""
        return [{"type": "reasoning-end", "id": thought}] if thought else []

    def _delta(self, kind: str, id_: str, text: str) -> list[dict[str, Any] | None]:
        return [{"type": f"{kind}-delta", "id": id_, "delta": text}] if text else []

    def _note_calls(self, event: RunEvent) -> None:
        who = event.speaker
        for one in event.metadata["tool_calls"]:
            name = f"{self.run_id}:{event.seq}:{one['call_id']}"
            self._calls[who, one["call_id"]] = name
            call = {"toolCallId": name, "toolName": one["tool"], "input": one["arguments"]}
            known = {"dynamic": True, "providerExecuted": True}
            self._unsent[name] = {"type": "tool-input-available", **call, **known}

    def _start_call(self, name: str) -> list[dict[str, Any] | None]:
        """Send a call, unless it was sent."""
        chunk = self._unsent.pop(name, None)
        if chunk is None:
            return []
        self._open[name] = chunk
        return [chunk]

    def _end_call(self, event: RunEvent) -> list[dict[str, Any] | None]:
        data = event.metadata
        name = self._calls.get((event.speaker, data["call_id"]))
        if name is None:
            return []
        made = self._start_call(name)
        self._open.pop(name, None)
        known = {"toolCallId": name, "dynamic": True, "providerExecuted": True}
        match data["status"]:
            case "success":
                made.append({"type": "tool-output-available", **known, "output": data["output"]})
            case "denied":
                made.append({"type": "tool-output-denied", "toolCallId": name})
            case _:
                made.append({"type": "tool-output-error", **known, "errorText": data["output"]})
        return made

    def _done(self, event: RunEvent, text: str) -> list[dict[str, Any] | None]:
        data, held = self._counts.of(event.metadata), self._held
        self._held = None
        made: list[dict[str, Any] | None] = self._end_thought()
        paused = self._pause if data["reason"] == "paused" else None
        questions = pause_calls(self.run_id, paused, text) if paused is not None else []
        if questions and held is None and text == self._held_text:
            # it stands before the calls
            text = ""
        asked = [one for one in questions if one.is_about_call]
        if not all(one.is_plain and self._can_approve(one) for one in asked):
            # the request for an approval does not say all of it, or there is none: a plan, a
            # budget, a form are answered by words, or in another place
            text = say_question(text, questions, says_how=True)
        rest = self.speech.rest(held.speaker, text) if held is not None else text
        if rest or self._text:
            made += [*self._say(data["agent_id"] or "", rest), *self._end_text()]
        for one in questions:
            if self._can_approve(one) and (name := self._name(one)):
                self._was_asked = True
                made += self._start_call(name)
                request = {"approvalId": one.id, "toolCallId": name}
                made.append({"type": "tool-approval-request", **request})
        for one in data.get("sources") or ():
            made.append(_source(one))
        made += self._end_step()
        kept = ("reason", "usage", "cost", "shows")
        known: dict[str, Any] = {key: data[key] for key in kept if key in data}
        if held is not None and "output" in held.metadata:
            known["output"] = held.metadata["output"]
        made.append(self._spent(event, data))
        if status_of(data["reason"]) == "cancelled":
            return [*made, {"type": "abort", "reason": data["reason"]}, None]
        reason = "length" if data["reason"] in CUT_SHORT else "stop"
        if self._was_asked:
            reason = "tool-calls"
        metadata = {"crew": {"run_id": self.run_id, **known}}
        return [
            *made,
            {"type": "finish", "finishReason": reason, "messageMetadata": metadata},
            None,
        ]

    def _can_approve(self, one: PauseCall) -> bool:
        return one.is_decided_by_yes and self._name(one) is not None

    def _name(self, one: PauseCall) -> str | None:
        found = (
            name
            for (who, call), name in self._calls.items()
            if (who[0], call) == (one.agent_id, one.call_id)
        )
        return next(found, None)

    def _data(self, event: RunEvent) -> dict[str, Any]:
        """Return an event as a part of its own."""
        value = {key: one for key, one in event.metadata.items() if key not in LEFT_OUT}
        agent = event.metadata.get("agent_id")
        return self._part(event, {"text": event.content, "agent": agent, **value})

    def _spent(self, event: RunEvent, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a segment has cost, as a part of its own; `data`: of its end."""
        return self._part(event, {key: data[key] for key in SPENT if key in data})

    def _part(self, event: RunEvent, data: dict[str, Any]) -> dict[str, Any]:
        name = event.type.replace("_", "-")
        return {"type": f"data-crew-{name}", "id": f"{self.run_id}:{event.seq}", "data": data}


def _source(source: dict[str, Any]) -> dict[str, Any]:
    name = str(source.get("name") or source.get("document") or source.get("n"))
    kind = str(source.get("kind") or "text/plain")
    media = kind if "/" in kind else "text/plain"
    known = {"crew": source}
    id_ = f"{source.get('n', name)}"
    chunk = {"type": "source-document", "sourceId": id_, "mediaType": media, "title": name}
    return {**chunk, "providerMetadata": known}
