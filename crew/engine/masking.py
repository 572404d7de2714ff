"""A run's texts without secrets: masked before they are recorded or shown to a model.

So the journal, the clients, the models and the logs have the same words, also after a restart.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from agents.events import (
    AgentDelta,
    AgentEvent,
    AgentFailed,
    AgentResponded,
    Compacted,
    ModelCalled,
    Shown,
    ToolAsked,
    ToolProgressed,
    ToolRetried,
    ToolReturned,
    Warned,
)
from agents.messages import SIGNED_KEYS
from crew.journal.events import Event
from crew.journal.query import Answer, Query
from crew.journal.remembered.events import (
    DocumentsSearched,
    DocumentsShown,
    MemoryChanged,
    MemoryNotice,
    MemoryRefused,
    MemorySearched,
)
from tools.calls import ToolCall, ToolResult
from tools.text.secrets import MaskedStream, Secrets
from tools.text.texts import map_texts

Emit = Callable[[Event], Awaitable[None]]
# what listeners alone are interested in
WITHOUT_TASK = (AgentFailed, ToolRetried, MemoryRefused, MemorySearched, DocumentsSearched)
# all that an agent's turn emits
TurnEvent = AgentEvent | MemoryChanged | DocumentsShown | MemoryNotice
EmitTurnEvent = Callable[[TurnEvent], Awaitable[None]]
Masked = TypeVar("Masked", Query, AgentResponded, ToolResult)


class MaskedEvents:
    """Emits the events of one run's agents without secrets."""

    def __init__(self, secrets: Secrets, emit: Emit) -> None:
        self._secrets, self._emit = secrets, emit
        # of each agent that is writing, of what it thinks and of its answer: the text, its newest
        # piece, and whether nothing of it was emitted
        self._streams: dict[tuple[str, str, str, bool], tuple[MaskedStream, AgentDelta, bool]] = {}

    def of_part(self, task: str, within: str) -> EmitTurnEvent:
        """Return what emits the events of an agent that works on a task, or as a tool."""

        async def emit(event: TurnEvent) -> None:
            if not isinstance(event, WITHOUT_TASK):
                event = replace(event, task=task, within=within)
            await self(event)

        return emit

    async def __call__(self, event: Event) -> None:
        """Emit an event."""
        match event:
            case AgentDelta():
                key = event.agent_id, event.task, event.within, event.is_thinking
                known = self._streams.get(key)
                stream, _, begins = known or (MaskedStream(self._secrets), event, True)
                text = stream.add(event.text)
                # as long as nothing is emitted, what comes next begins the text
                self._streams[key] = stream, event, begins and not text
                if text:
                    is_same = text == event.text and not begins
                    await self._emit(event if is_same else replace(event, text=text, begins=begins))
            case ModelCalled():
                # its text, if it wrote any, is whole
                for is_thinking in (True, False) if self._streams else ():
                    written = self._streams.pop(
                        (event.agent_id, event.task, event.within, is_thinking), None
                    )
                    if written is not None and (text := written[0].rest()):
                        await self._emit(replace(written[1], text=text, begins=written[2]))
                await self._emit(event)
            case _:
                await self._emit(_masked(event, self._secrets))


def masked_data(data: Any, secrets: Secrets) -> Any:
    """Return JSON without secrets, which may be numbers, too."""
    match data:
        case dict():
            return {secrets.mask_cut(key): masked_data(one, secrets) for key, one in data.items()}
        case list():
            return [masked_data(one, secrets) for one in data]
        case str():
            return secrets.mask_cut(data)
        case int() | float() if not isinstance(data, bool):
            text = secrets.mask(str(data))
            return data if text == str(data) else text
        case _:
            return data


def _masked_output(event: AgentResponded, secrets: Secrets) -> AgentResponded:
    """Return an answer without secrets in what was read of a typed one."""
    mask = secrets.mask
    return _with(
        event,
        output=map_texts(event.output, mask),
        words=None if event.words is None else mask(event.words),
        answer=None if event.answer is None else mask(event.answer),
        # a wrong value is shown in part
        invalid=tuple(secrets.mask_cut(one) for one in event.invalid),
        unknown=tuple(replace(one, value=secrets.mask_cut(one.value)) for one in event.unknown),
    )


def _masked_extra(extra: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Return what a provider wants back, without secrets.

    What it takes only as it came is left out where it has one: changed it would be refused.
    """
    out: dict[str, Any] = {}
    for key, value in extra.items():
        masked = map_texts(value, secrets.mask)
        if key not in SIGNED_KEYS or masked == value:
            out[key] = masked
    return out


def _masked(event: Event, secrets: Secrets) -> Event:
    mask = secrets.mask
    match event:
        case AgentResponded():
            calls = tuple(_masked_call(call, secrets) for call in event.calls)
            extra = _masked_extra(event.extra, secrets) if event.extra else event.extra
            model = mask(event.model)
            answer = _with(
                event, content=mask(event.content), model=model, calls=calls, extra=extra
            )
            is_typed = event.words is not None or event.invalid
            return _masked_output(answer, secrets) if is_typed else answer
        case Shown():
            return replace(event, data=masked_data(event.data, secrets))
        case ToolReturned(result=result):
            masked_result = result.masked(secrets.mask_cut(result.output))
            if result.failed:
                failed = tuple(
                    replace(one, error=secrets.mask_cut(one.error)) for one in result.failed
                )
                masked_result = replace(masked_result, failed=failed)
            return event if masked_result is result else replace(event, result=masked_result)
        case ToolProgressed(progressed=progressed):
            told = progressed.progress
            masked = replace(told, message=secrets.mask_cut(told.message))
            return replace(event, progressed=replace(progressed, progress=masked))
        case ToolAsked(asked=asked):
            forms = tuple(
                replace(
                    one,
                    message=mask(one.message),
                    schema=map_texts(one.schema, mask),
                    url=mask(one.url),
                )
                for one in asked.forms
            )
            return replace(event, asked=replace(asked, forms=forms))
        case Warned():
            return replace(event, message=mask(event.message))
        case Compacted():
            return replace(event, text=mask(event.text))
        case _:
            return event


def _masked_call(call: ToolCall, secrets: Secrets) -> ToolCall:
    mask = secrets.mask
    return ToolCall(
        mask(call.id),
        mask(call.tool),
        map_texts(call.arguments, mask),
        None if call.argument_error is None else mask(call.argument_error),
        map_texts(call.extra, mask),
    )


def masked_query(query: Query, secrets: Secrets) -> Query:
    """Return what a client asks."""
    mask = secrets.mask
    history = tuple(replace(one, content=mask(one.content)) for one in query.history)
    return _with(query, text=mask(query.text), history=history)


def _with(one: Masked, **fields: Any) -> Masked:
    """Return one with these fields.

    Itself if it has them already, as nearly always: a copy takes time.
    """
    for name, value in fields.items():
        if getattr(one, name) != value:
            return replace(one, **fields)
    return one


def masked_answer(answer: Answer, secrets: Secrets) -> Answer:
    """Return what a person answers."""
    mask = secrets.mask
    decisions = tuple(
        replace(
            one,
            reason=mask(one.reason),
            result=mask(one.result),
            arguments=map_texts(one.arguments, mask),
            patterns=map_texts(one.patterns, mask),
        )
        for one in answer.decisions
    )
    heard, text, result = (mask(one) for one in (answer.heard, answer.text, answer.result))
    return replace(answer, heard=heard, text=text, result=result, decisions=decisions)
