"""A run's events as AG-UI 1.0 has them."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

from crew.journal.events import status_of
from crew.journal.wire import RunEvent, Speaker
from server.protocols.agui.forms import write_gap, write_start, write_usage
from server.protocols.agui.interrupts import interrupts_of
from server.protocols.folds import Frame, SegmentCounts
from server.protocols.pauses import pause_calls
from server.protocols.speech import Speech, is_part

# events that have a form of their own; all others are custom events that begin with `crew.`
# what a custom event has besides its metadata is no news
LEFT_OUT = frozenset({"run_id", "seq", "agent_id"})


class AguiFold:
    """Makes AG-UI's events of a run's, from the first one on."""

    def __init__(
        self,
        run_id: str,
        thread_id: str,
        speech: Speech,
        given: Sequence[dict[str, Any]] = (),
        *,
        after: int = 0,
        hears: bool = False,
    ) -> None:
        """Of a run.

        Args:
            run_id: the run.
            thread_id: as the client names its conversation.
            speech: its words.
            given: the messages that the client has, which it keeps.
            after: the number of the last event that the client has.
            hears: what the person answers stands in none of `given`.
        """
        self._given, self._after, self._hears = given, after, hears
        # what a client needs first that comes back, where news has followed
        self._head: list[dict[str, Any]] | None = None
        self.run_id, self.thread_id, self.speech = run_id, thread_id, speech
        # of the client, for the newest segment; and the number of its first event
        self.client_run_id, self._begun = run_id, 1
        # the messages so far, for those who come back
        self.messages: list[dict[str, Any]] = []
        self._steps: list[str] = []
        self._counts = SegmentCounts()
        # of members of groups, tasks, and agents as tools: their ids
        self._subagents: dict[Speaker, str] = {}
        self._begun_subagents: dict[Speaker, dict[str, Any]] = {}
        # of each answer that is under way: its message, and that of its thoughts
        self._answers: dict[Speaker, str] = {}
        self._ids: set[str] = set()
        self._thinking: dict[Speaker, str] = {}
        # by speaker and call
        self._calls: dict[tuple[Speaker, str], str] = {}
        # of the newest segment
        self._pause: RunEvent | None = None
        self._started: dict[str, Any] = {}

    def add(self, event: RunEvent) -> list[Frame]:
        """See Fold."""
        if event.seq is None:
            return self._live(event)
        frames = []
        for settled, text in self.speech.settle(event):
            if self._head is None and (settled.seq or 0) > self._after:
                self._head = self._under_way()
            frames += [Frame(settled.seq, one) for one in self._of(settled, text)]
        return frames

    def coming_back(self) -> list[dict[str, Any]]:
        """Return what a client needs first that comes back: its messages, and what is under way."""
        return self._under_way() if self._head is None else self._head

    def _under_way(self) -> list[dict[str, Any]]:
        if not self._started:
            return []
        steps = [{"type": "STEP_STARTED", "stepName": name} for name in self._steps]
        subagents = [self._begun_subagents[who] for who in self._subagents]
        return [self._started, self.snapshot(), *steps, *subagents]

    def snapshot(self) -> dict[str, Any]:
        """Return what replaces all messages of a client: its own, and the messages of the run."""
        known = {one["id"] for one in self._given}
        new = [one for one in self.messages if one["id"] not in known]
        return {"type": "MESSAGES_SNAPSHOT", "messages": [*self._given, *new]}

    def _live(self, event: RunEvent) -> list[Frame]:
        who = event.speaker
        match event.type:
            case "agent_delta" if who in self._answers:
                made = self._end_thinking(who)
                had = self.speech.has_pieces(who)
                if piece := self.speech.piece(event):
                    made += [] if had else [self._text_start(who, event.agent)]
                    made.append(self._text(who, piece))
            case "agent_thinking" if who in self._answers:
                made = self._think(who, event.content)
            case "tool_progress":
                made = [self._custom(event)]
            case _:
                made = []
        return [Frame(None, one) for one in made]

    def _of(self, event: RunEvent, text: str) -> list[dict[str, Any]]:
        match event.type:
            case "start":
                return self._start(event)
            case "agent_start":
                return self._start_agent(event)
            case "agent_response":
                return self._respond(event, text)
            case "tool_start":
                return []
            case "tool_result":
                return self._result(event)
            case "handoff":
                return [*self._end_steps(), self._custom(event)]
            case "parallel_end" | "task_end":
                return [*self._end_subagents(event), self._custom(event)]
            case "warning":
                return [*self._fail_subagent(event), self._custom(event)]
            case "pause":
                self._pause = event
                return []
            case "answered":
                return self._hear(event)
            case "done":
                return self._done(event, text)
            case "error":
                return [*self._end_all(), self._error(event)]
            case "gap":
                self._started, *rest = write_gap(event, self._custom(event), self._ids_of_run())
                return [self._started, *rest]
            case _:
                return [self._custom(event)]

    def _start(self, event: RunEvent) -> list[dict[str, Any]]:
        data = event.metadata
        self._counts.begin(data)
        self._begun, self._pause = event.seq or 1, None
        self.client_run_id = data["request_id"] or f"{self.run_id}:{event.seq}"
        known = {key: data[key] for key in ("crew", "resumed", "conversation_id") if key in data}
        metadata = {"crew": {"run_id": self.run_id, **known}}
        self._started = {**write_start(self._ids_of_run()), "metadata": metadata}
        return [self._started]

    def _ids_of_run(self) -> dict[str, str]:
        return {"threadId": self.thread_id, "runId": self.client_run_id}

    def _start_agent(self, event: RunEvent) -> list[dict[str, Any]]:
        data, who = event.metadata, event.speaker
        message = ":".join(filter(None, (self.run_id, who[0], *who[2:], str(data["round"]))))
        # after a person's answer rounds are counted anew; those of a member, with its group
        message += f":{self._begun}" if self._begun > 1 else ""
        message += f":{event.seq}" if message in self._ids else ""
        self._ids.add(message)
        self._answers[who] = message
        if not is_part(who):
            if data["agent_id"] in self._steps:
                return []
            self._steps.append(data["agent_id"])
            return [{"type": "STEP_STARTED", "stepName": data["agent_id"]}]
        return self._start_subagent(event)

    def _start_subagent(self, event: RunEvent) -> list[dict[str, Any]]:
        """Begin a member, a task's worker, or an agent as a tool, if it has not begun."""
        who = event.speaker
        if who in self._subagents:
            return []
        name = ":".join(one for one in (who[0], *who[2:]) if one)
        self._subagents[who] = f"{self.run_id}:{name}:{event.seq}"
        made = {"type": "SUBAGENT_STARTED", "subagentRunId": self._subagents[who]}
        made["name"] = event.agent
        call = self._calls_of(who[3])
        self._begun_subagents[who] = made | ({"parentToolCallId": call} if call else {})
        return [self._begun_subagents[who]]

    def _calls_of(self, call_id: str) -> str | None:
        found = (name for (_, one), name in self._calls.items() if call_id and one == call_id)
        return next(found, None)

    def _respond(self, event: RunEvent, text: str) -> list[dict[str, Any]]:
        data, who = event.metadata, event.speaker
        if who not in self._answers:
            return []
        made = self._end_thinking(who)
        message, had = self._answers[who], self.speech.has_pieces(who)
        rest = self.speech.rest(who, text)
        if text or had:
            made += [] if had else [self._text_start(who, event.agent)]
            made += [self._text(who, rest)] if rest else []
            made.append(self._by(who, {"type": "TEXT_MESSAGE_END", "messageId": message}))
        calls = []
        for one in data["tool_calls"]:
            name = f"{self.run_id}:{event.seq}:{one['call_id']}"
            self._calls[who, one["call_id"]] = name
            arguments = to_json(one["arguments"]).decode()
            start = {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": one["tool"]}
            made.append(self._by(who, {**start, "parentMessageId": message}))
            args = {"type": "TOOL_CALL_ARGS", "toolCallId": name, "delta": arguments}
            made.append(self._by(who, args))
            made.append(self._by(who, {"type": "TOOL_CALL_END", "toolCallId": name}))
            function = {"name": one["tool"], "arguments": arguments}
            calls.append({"id": name, "type": "function", "function": function})
        known = {"id": message, "role": "assistant", "name": event.agent, "content": text}
        if text or calls:
            self.messages.append(self._by(who, known | ({"toolCalls": calls} if calls else {})))
        del self._answers[who]
        output = {key: data[key] for key in ("output", "invalid") if key in data}
        return made + ([self._named("crew.output", event, output)] if output else [])

    def _result(self, event: RunEvent) -> list[dict[str, Any]]:
        data, who = event.metadata, event.speaker
        made = self._end_within(data["call_id"])
        name = self._calls.get((who, data["call_id"]))
        if name is None:
            return made
        # behind a pause it is the first that is heard of a member again
        made += self._start_subagent(event) if is_part(who) else []
        content = {"toolCallId": name, "content": data["output"], "role": "tool"}
        message = {"id": f"{name}:result", **content}
        self.messages.append(self._by(who, message))
        result = {"type": "TOOL_CALL_RESULT", "messageId": message["id"], **content}
        known = {"status": data["status"], "attempts": data["attempts"]}
        return [*made, self._by(who, {**result, "metadata": {"crew": known}})]

    def _hear(self, event: RunEvent) -> list[dict[str, Any]]:
        if self._hears and not event.metadata.get("decisions"):
            id_ = f"{self.run_id}:{event.seq}:person"
            self.messages.append({"id": id_, "role": "user", "content": event.content})
        return [self._custom(event)]

    def _done(self, event: RunEvent, text: str) -> list[dict[str, Any]]:
        data, made = self._counts.of(event.metadata), self._end_all()
        if data.get("sources"):
            made.append(self._named("crew.sources", event, data["sources"]))
        ids = self._ids_of_run()
        usage = [write_usage(data["usage"])]
        finished: dict[str, Any] = {"type": "RUN_FINISHED", **ids, "usage": usage}
        known = {key: data[key] for key in ("reason", "rounds", "handoffs", "cost") if key in data}
        finished["metadata"] = {"crew": known}
        if self._pause is not None and data["reason"] == "paused":
            questions = pause_calls(self.run_id, self._pause, text)
            found: dict[tuple[str | None, str], str] = {
                (who[0], call): name for (who, call), name in self._calls.items()
            }
            interrupts = interrupts_of(questions, found)
            finished["outcome"] = {"type": "interrupt", "interrupts": interrupts}
            return [*made, self.snapshot(), finished]
        if status_of(data["reason"]) == "cancelled":
            return [*made, finished | {"outcome": {"type": "cancelled"}}]
        return [*made, finished | {"result": text, "outcome": {"type": "success"}}]

    def _error(self, event: RunEvent) -> dict[str, Any]:
        data = self._counts.of(event.metadata)
        known = {key: data[key] for key in ("reason", "retryable", "cost") if key in data}
        error = {"type": "RUN_ERROR", "message": event.content, "code": data["code"]}
        return {**error, "metadata": {"crew": known}}

    def _text_start(self, who: Speaker, name: str) -> dict[str, Any]:
        start = {"type": "TEXT_MESSAGE_START", "messageId": self._answers[who]}
        return self._by(who, {**start, "role": "assistant", "name": name})

    def _text(self, who: Speaker, text: str) -> dict[str, Any]:
        content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._answers[who], "delta": text}
        return self._by(who, content)

    def _think(self, who: Speaker, text: str) -> list[dict[str, Any]]:
        made, message = [], f"{self._answers[who]}:thinking"
        if who not in self._thinking:
            self._thinking[who] = message
            begun = {"type": "REASONING_START", "messageId": message}
            start = {"type": "REASONING_MESSAGE_START", "messageId": message, "role": "reasoning"}
            made += [begun, start]
        if text:
            made.append({"type": "REASONING_MESSAGE_CONTENT", "messageId": message, "delta": text})
        return [self._by(who, one) for one in made]

    def _end_thinking(self, who: Speaker) -> list[dict[str, Any]]:
        message = self._thinking.pop(who, None)
        kinds = ("REASONING_MESSAGE_END", "REASONING_END") if message else ()
        return [self._by(who, {"type": kind, "messageId": message}) for kind in kinds]

    def _end_steps(self) -> list[dict[str, Any]]:
        names, self._steps = self._steps, []
        return [{"type": "STEP_FINISHED", "stepName": name} for name in names]

    def _end_subagents(self, event: RunEvent) -> list[dict[str, Any]]:
        data = event.metadata
        task = data.get("task", "") if event.type == "task_end" else None
        group = event.content if event.type == "parallel_end" else None
        found = [who for who in self._subagents if task == who[2] or group == who[1]]
        return [self._subagent_end(who) for who in found]

    def _end_within(self, call_id: str) -> list[dict[str, Any]]:
        found = [who for who in self._subagents if who[3] == call_id]
        return [self._subagent_end(who) for who in found]

    def _subagent_end(self, who: Speaker) -> dict[str, Any]:
        self._answers.pop(who, None)
        return {"type": "SUBAGENT_FINISHED", "subagentRunId": self._subagents.pop(who)}

    def _fail_subagent(self, event: RunEvent) -> list[dict[str, Any]]:
        who, data = event.speaker, event.metadata
        if data["code"] not in ("member_failed", "member_timeout") or who not in self._subagents:
            return []
        made, name = self._break_off(who), self._subagents.pop(who)
        error = {"type": "SUBAGENT_ERROR", "subagentRunId": name, "message": event.content}
        return [*made, {**error, "code": data["code"]}]

    def _break_off(self, who: Speaker) -> list[dict[str, Any]]:
        """End what a speaker has begun to say."""
        made = self._end_thinking(who)
        message = self._answers.pop(who, None)
        if message is not None and self.speech.has_pieces(who):
            made.append(self._by(who, {"type": "TEXT_MESSAGE_END", "messageId": message}))
            self.speech.rest(who, "")
        return made

    def _end_all(self) -> list[dict[str, Any]]:
        made = [one for who in [*self._answers] for one in self._break_off(who)]
        made += [self._subagent_end(who) for who in [*self._subagents]]
        return made + self._end_steps()

    def _by(self, who: Speaker, event: dict[str, Any]) -> dict[str, Any]:
        if (name := self._subagents.get(who)) is not None:
            event["subagentRunId"] = name
        return event

    def _custom(self, event: RunEvent) -> dict[str, Any]:
        value = {key: one for key, one in event.metadata.items() if key not in LEFT_OUT}
        return self._named(f"crew.{event.type}", event, {"text": event.content, **value})

    def _named(self, name: str, event: RunEvent, value: Any) -> dict[str, Any]:
        return self._by(event.speaker, {"type": "CUSTOM", "name": name, "value": value})
