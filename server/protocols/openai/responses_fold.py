"""A run's events as the Responses API has them: each segment is a response."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pydantic_core import to_json

from crew.journal.events import status_of
from crew.journal.wire import RunEvent
from server.protocols.folds import CUT_SHORT, Frame, SegmentCounts, in_place_of_gap
from server.protocols.openai.items import (
    Annotation,
    ItemEvent,
    approval_item,
    call_end,
    call_item,
    call_left,
    call_start,
    citations,
    message_delta,
    message_end,
    message_item,
    message_start,
    reasoning_events,
    reasoning_item,
    whole_item,
)
from server.protocols.openai.shape import MAX_SHOWN, seconds_of
from server.protocols.pauses import pause_calls, say_question
from server.protocols.speech import Speech, is_part

# what clients expect of a response, and what has no meaning for a crew
UNSAID: dict[str, Any] = {
    "object": "response",
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "prompt_cache_key": None,
    "reasoning": None,
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
}
# of the events that one event of the run comes to; pieces of text come behind them
PER_EVENT = 1000
# pieces of text behind one event: what follows has numbers of its own, too
MOST_LIVE = 900


class ResponsesFold:
    """Makes the events of responses; `document` is the newest one."""

    def __init__(
        self,
        run_id: str,
        model: str,
        speech: Speech,
        live: Collection[str],
        *,
        thinks: bool = True,
        is_open: bool = False,
    ) -> None:
        """Of a run.

        Args:
            run_id: the run.
            model: the crew.
            speech: its words.
            live: agents with answers that are sent as they are written.
            thinks: what goes before the answer is sent, too.
            is_open: calls are items of reasoning, for clients that know none of MCP.
        """
        self.run_id, self.model, self.speech, self.live = run_id, model, speech, live
        self.thinks, self.is_open = thinks, is_open
        self.document: dict[str, Any] = {}
        self._counts = SegmentCounts()
        # of the newest event: its number, and how many events it came to
        self._seq, self._count = 0, 0
        self._held: RunEvent | None = None
        self._held_text = ""
        self._message = ""
        # of the segment: its first event, and how many messages it has begun
        self._begun, self._messages = 1, 0
        self._pause: RunEvent | None = None
        # by call of the segment: its place in the output, and the item; and what it was asked with
        self._calls: dict[tuple[Any, ...], tuple[int, dict[str, Any]]] = {}
        self._asked: dict[tuple[Any, ...], Any] = {}

    def add(self, event: RunEvent) -> list[Frame]:
        """See Fold."""
        if event.seq is None and self._count >= MOST_LIVE:
            # the rest comes with the whole answer: each number stands once
            return []
        if event.seq is None:
            piece = self.speech.answer_piece(event, self.live)
            return self._frames(None, self._say(piece)) if piece else []
        if event.type == "gap":
            return [
                made for one in in_place_of_gap(self.speech.swept(event)) for made in self.add(one)
            ]
        out = []
        for settled, text in self.speech.settle(event):
            if settled.seq != self._seq:
                self._seq, self._count = settled.seq or 0, 0
            out += self._frames(settled.seq, self._of(settled, text))
        return out

    def _frames(self, seq: int | None, events: Iterable[ItemEvent]) -> list[Frame]:
        out = []
        for kind, more in events:
            number = PER_EVENT * self._seq + min(self._count, PER_EVENT - 1)
            self._count += 1
            document = {"type": kind, "sequence_number": number, **more}
            out.append(Frame(seq, document, kind))
        return out

    def _of(self, event: RunEvent, text: str) -> list[ItemEvent]:
        who = event.speaker
        match event.type:
            case "start":
                return self._start(event)
            case "agent_start" if not is_part(who) and who[0] in self.live:
                # from here on pieces may come, wherever a client comes back
                return [*self._release(), *self._open_message()]
            case "agent_response" if is_part(who):
                self._note_calls(event)
                self.speech.rest(who, text)
                return self._think(event, text)
            case "agent_response":
                self._note_calls(event)
                made = self._release()
                self._held, self._held_text = event, text
                return made
            case "tool_start":
                return [*self._release(), *self._start_call(event)]
            case "tool_result":
                return [*self._release(), *self._end_call(event)]
            case "handoff" | "parallel_start" | "plan":
                return self._release()
            case "pause":
                self._pause = event
                return []
            case "done":
                return self._done(event, text)
            case "error":
                return self._fail(event)
            case _:
                return []

    def _start(self, event: RunEvent) -> list[ItemEvent]:
        self._held = self._pause = None
        self._calls = {}
        self._message, data = "", event.metadata
        self._counts.begin(data)
        self._begun, self._messages = event.seq or 1, 0
        known = {"run_id": self.run_id, "crew": data["crew"]}
        known |= {key: data[key] for key in ("conversation_id",) if key in data}
        self.document = {
            "id": f"resp_{self.run_id}_{event.seq}",
            "created_at": seconds_of(event),
            "completed_at": None,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "previous_response_id": self.document.get("id"),
            "metadata": known,
            "model": self.model,
            "output": [],
            "usage": None,
            **UNSAID,
        }
        return [("response.created", self._response()), ("response.in_progress", self._response())]

    def _response(self) -> dict[str, Any]:
        return {"response": {**self.document, "output": list(self.document["output"])}}

    def _release(self) -> list[ItemEvent]:
        """Tell an answer that was not the last as what went before."""
        event, self._held = self._held, None
        if event is None:
            return []
        if self._message:
            # it was sent as the answer already: the next one follows it
            self.speech.rest(event.speaker, self._held_text)
            return self._end_message(self._held_text)
        return self._think(event, self._held_text)

    def _think(self, event: RunEvent, text: str) -> list[ItemEvent]:
        if not text or not self.thinks:
            return []
        return self._reason(f"rs_{self.run_id}_{event.seq}", f"**{event.agent}:** {text}")

    def _reason(self, id_: str, text: str) -> list[ItemEvent]:
        item = reasoning_item(id_, text)
        return self._placed(self._add(item), reasoning_events(item))

    def _note_calls(self, event: RunEvent) -> None:
        for one in event.metadata["tool_calls"]:
            self._asked[*event.speaker, one["call_id"]] = one["arguments"]

    def _start_call(self, event: RunEvent) -> list[ItemEvent]:
        data, key = event.metadata, (*event.speaker, event.metadata["call_id"])
        arguments = to_json(data.get("arguments", self._asked.get(key, {}))).decode()
        id_ = f"mcp_{self.run_id}_{event.seq}_{data['call_id']}"
        if not self.thinks or key in self._calls:
            return []
        if self.is_open:
            return self._reason(f"rs_{id_}", f"→ {data['tool']} {arguments}")
        item = call_item(id_, self.model, data["tool"], arguments)
        self._calls[key] = self._add(item), item
        return self._placed(self._calls[key][0], call_start(item))

    def _end_call(self, event: RunEvent) -> list[ItemEvent]:
        data, key = event.metadata, (*event.speaker, event.metadata["call_id"])
        succeeded, output = data["status"] == "success", data["output"]
        if self.is_open and self.thinks:
            id_ = f"rs_mcp_{self.run_id}_{event.seq}_{data['call_id']}"
            mark = "✓" if succeeded else "✗"
            return self._reason(id_, f"{mark} {data['tool']}: {output[:MAX_SHOWN]}")
        if not self.thinks:
            return []
        # what is denied, or known already, has not begun; nor has it in this segment if it was
        # decided by hand
        begun = [] if key in self._calls else self._start_call(event)
        place, item = self._calls.pop(key)
        return [*begun, *self._placed(place, call_end(item, output, succeeded=succeeded))]

    def _leave_calls(self) -> list[ItemEvent]:
        """End the calls that have no result in this segment."""
        left, self._calls = list(self._calls.values()), {}
        return [one for place, item in left for one in self._placed(place, call_left(item))]

    def _open_message(self) -> list[ItemEvent]:
        """Begin the message with the answer, if it has not begun."""
        if self._message:
            return []
        self._messages += 1
        number = f"_{self._messages}" if self._messages > 1 else ""
        self._message = f"msg_{self.run_id}_{self._begun}{number}"
        place = self._add(message_item(self._message, None))
        return self._placed(place, message_start(self._message))

    def _say(self, text: str) -> list[ItemEvent]:
        """Add to the message with the answer."""
        begun = self._open_message()
        place = len(self.document["output"]) - 1
        return [*begun, *self._placed(place, [message_delta(self._message, text)])]

    def _end_message(
        self, text: str, status: str = "completed", cited: Sequence[Annotation] = ()
    ) -> list[ItemEvent]:
        if not self._message:
            return []
        place = len(self.document["output"]) - 1
        self.document["output"][place] = message_item(self._message, text, status, cited)
        events = message_end(self._message, text, status, cited)
        self._message = ""
        return self._placed(place, events)

    def _done(self, event: RunEvent, text: str) -> list[ItemEvent]:
        data, held = self._counts.of(event.metadata), self._held
        self._held = None
        is_paused = data["reason"] == "paused" and self._pause is not None
        questions = pause_calls(self.run_id, self._pause, text) if self._pause and is_paused else []
        if questions and (self.is_open or not all(one.is_plain for one in questions)):
            text = say_question(text, questions, says_how=True)
        who = held.speaker if held is not None else None
        rest = self.speech.rest(who, text) if who is not None else text
        made = self._say(rest) if rest else []
        is_cancelled = status_of(data["reason"]) == "cancelled"
        cited = citations(data.get("sources") or ())
        made += self._end_message(text, "incomplete" if is_cancelled else "completed", cited)
        made += self._leave_calls()
        for one in questions:
            if one.is_decided_by_yes and not self.is_open:
                id_ = f"mcpr_{self.run_id}_{one.seq}_{one.key}"
                arguments = to_json(one.arguments).decode()
                item = approval_item(id_, self.model, one.tool, arguments)
                made += self._placed(self._add(item), whole_item(item))
        known = {"reason": data["reason"]}
        for key in ("cost", "sources", "shows"):
            known |= {key: to_json(data[key]).decode()} if data.get(key) else {}
        if held is not None and "output" in held.metadata:
            known["output"] = to_json(held.metadata["output"]).decode()
        self.document["metadata"] = {**self.document["metadata"], **known}
        self.document["usage"] = _usage(data["usage"])
        kind = "completed"
        if is_cancelled:
            self.document["status"], kind = "cancelled", "incomplete"
        elif data["reason"] in CUT_SHORT:
            self.document["status"] = kind = "incomplete"
            self.document["incomplete_details"] = {"reason": "max_output_tokens"}
        else:
            self.document["status"], self.document["completed_at"] = "completed", seconds_of(event)
        return [*made, (f"response.{kind}", self._response())]

    def _fail(self, event: RunEvent) -> list[ItemEvent]:
        made = self._end_message("", "incomplete") + self._leave_calls()
        self.document["status"] = "failed"
        self.document["error"] = {"code": "server_error", "message": event.content}
        data = self._counts.of(event.metadata)
        known = {"code": data["code"]}
        if "usage" in data:
            self.document["usage"] = _usage(data["usage"])
            known["cost"] = to_json(data["cost"]).decode()
        self.document["metadata"] = {**self.document["metadata"], **known}
        return [*made, ("response.failed", self._response())]

    def _add(self, item: dict[str, Any]) -> int:
        self.document["output"].append(item)
        return len(self.document["output"]) - 1

    def _placed(self, place: int, events: Iterable[ItemEvent]) -> list[ItemEvent]:
        return [(kind, {**more, "output_index": place}) for kind, more in events]


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {
            "cached_tokens": usage.get("cache_read", 0),
            "cache_write_tokens": usage.get("cache_write", 0),
        },
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": usage.get("thinking", 0)},
        "total_tokens": usage["total_tokens"],
    }
