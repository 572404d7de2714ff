"""A run's events as pieces of a chat completion."""

from collections.abc import Collection
from typing import Any

from pydantic_core import to_json

from crew.journal.wire import RunEvent
from server.protocols.folds import CUT_SHORT, Frame, SegmentCounts, in_place_of_gap
from server.protocols.openai.shape import MAX_SHOWN, seconds_of
from server.protocols.pauses import pause_calls, say_question
from server.protocols.speech import Speech, is_part

CHUNK = "chat.completion.chunk"


class ChatFold:
    """Makes the pieces of the newest segment's answer: what is said last, and what went before."""

    def __init__(
        self,
        run_id: str,
        model: str,
        speech: Speech,
        live: Collection[str],
        *,
        thinks: bool = True,
        has_usage: bool = False,
    ) -> None:
        """Of a run.

        Args:
            run_id: the run.
            model: as the client named it.
            speech: its words.
            live: agents with answers that are sent as they are written.
            thinks: what goes before the answer is sent, too.
            has_usage: a last piece has the usage.
        """
        self.run_id, self.model, self.speech, self.live = run_id, model, speech, live
        self.thinks, self.has_usage = thinks, has_usage
        # of the segment: its first event, and when that was
        self._begun, self.created = 1, 0
        # an answer of the main line that may be the last
        self._held: RunEvent | None = None
        self._held_text = ""
        self._pause: RunEvent | None = None
        self.content = self.thinking = ""
        self.finish = "stop"
        self.usage: dict[str, Any] = {}
        self._counts = SegmentCounts()
        self.known: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        """The completion's."""
        return f"chatcmpl-{self.run_id}-{self._begun}"

    def add(self, event: RunEvent) -> list[Frame]:
        """See Fold."""
        if event.type == "agent_thinking":
            # as it comes: a run keeps none of it
            delta = {"reasoning_content": event.content}
            return [Frame(None, self._chunk(delta))] if self.thinks else []
        if event.seq is None:
            piece = self.speech.answer_piece(event, self.live)
            return self._say(None, piece)
        if event.type == "gap":
            return [
                made for one in in_place_of_gap(self.speech.swept(event)) for made in self.add(one)
            ]
        out = []
        for settled, text in self.speech.settle(event):
            out += self._of(settled, text)
        return out

    def _of(self, event: RunEvent, text: str) -> list[Frame]:
        match event.type:
            case "start":
                return self._start(event)
            case "agent_response" if is_part(event.speaker):
                self.speech.rest(event.speaker, text)
                return self._think(event, f"**{event.agent}:** {text}" if text else "")
            case "agent_response":
                out = self._release()
                self._held, self._held_text = event, text
                return out
            case "tool_start":
                shown = to_json(event.metadata.get("arguments", {})).decode()
                return [
                    *self._release(),
                    *self._think(event, f"→ {event.metadata['tool']} {shown}"),
                ]
            case "tool_result":
                data = event.metadata
                mark = "✓" if data["status"] == "success" else "✗"
                shown = f"{mark} {data['tool']}: {data['output'][:MAX_SHOWN]}"
                return [*self._release(), *self._think(event, shown)]
            case "handoff" | "parallel_start" | "plan":
                return self._release()
            case "pause":
                self._pause = event
                return []
            case "done":
                return self._done(event, text)
            case "error":
                data = event.metadata
                words = {"message": event.content, "type": "server_error", "param": None}
                self.error = {"error": {**words, "code": data["code"]}}
                return [Frame(event.seq, self.error)]
            case _:
                return []

    def _start(self, event: RunEvent) -> list[Frame]:
        self._counts.begin(event.metadata)
        self._begun, self.created = event.seq or 1, seconds_of(event)
        self._held = self._pause = self.error = None
        self.content = self.thinking = ""
        return [Frame(event.seq, self._chunk({"role": "assistant", "content": ""}))]

    def _release(self) -> list[Frame]:
        """Send an answer that was not the last as what went before."""
        event, self._held = self._held, None
        if event is None:
            return []
        rest = self.speech.rest(event.speaker, self._held_text)
        if rest != self._held_text:
            # it was sent as the answer already
            return self._say(event.seq, f"{rest}\n\n")
        text = f"**{event.agent}:** {self._held_text}" if self._held_text else ""
        return self._think(event, text)

    def _done(self, event: RunEvent, text: str) -> list[Frame]:
        data, held = self._counts.of(event.metadata), self._held
        self._held = None
        self.usage = _usage(data["usage"])
        self.known = {"run_id": self.run_id, "reason": data["reason"]}
        self.known |= {key: data[key] for key in ("cost", "sources", "shows") if key in data}
        if held is not None and "output" in held.metadata:
            self.known["output"] = held.metadata["output"]
        if data["reason"] == "paused" and self._pause is not None:
            questions = pause_calls(self.run_id, self._pause, text)
            text = say_question(text, questions, says_how=True)
            self.known["pause"] = [one.id for one in questions]
        who = held.speaker if held is not None else None
        rest = self.speech.rest(who, text) if who is not None else text
        self.finish = "length" if data["reason"] in CUT_SHORT else "stop"
        out = self._say(event.seq, rest)
        last = self._chunk({}, self.finish) | {"crew": self.known}
        out.append(Frame(event.seq, last))
        if self.has_usage:
            out.append(Frame(event.seq, self._chunk(None) | {"usage": self.usage}))
        return [*out, Frame(event.seq, None)]

    def _say(self, seq: int | None, text: str) -> list[Frame]:
        self.content += text
        return [Frame(seq, self._chunk({"content": text}))] if text else []

    def _think(self, event: RunEvent, text: str) -> list[Frame]:
        if not self.thinks or not text:
            return []
        self.thinking += f"{text}\n\n"
        return [Frame(event.seq, self._chunk({"reasoning_content": f"{text}\n\n"}))]

    def _chunk(self, delta: dict[str, Any] | None, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {
            "id": self.id,
            "object": CHUNK,
            "created": self.created,
            "model": self.model,
            "choices": [] if delta is None else [choice],
        }


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "prompt_tokens": usage["prompt_tokens"],
        "completion_tokens": usage["completion_tokens"],
        "total_tokens": usage["total_tokens"],
        "prompt_tokens_details": {"cached_tokens": usage.get("cache_read", 0)},
        "completion_tokens_details": {"reasoning_tokens": usage.get("thinking", 0)},
    }
