"""Every log in every language: each frame is one that clients know, and the same log gives the same frames.

The models that judge them are those of the protocols' own packages.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import openresponses_types
import pytest
from ag_ui.core import Event
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from crew.crew import Crew
from crew.journal.wire import gap
from server.protocols.a2a.fold import ENDED, STATES, TaskFold
from server.protocols.agui.fold import AguiFold
from server.protocols.ai.fold import AiFold
from server.protocols.folds import Fold, FoldedForm, Frame, live_agents, speech_of, write_until_done
from server.protocols.openai.chat_fold import ChatFold
from server.protocols.openai.responses_fold import ResponsesFold
from tests.support.logs_of_runs import (
    EXAMPLES,
    Log,
    failing_crew,
    group_crew,
    log_of,
    log_of_example,
    mixed_crew,
    twice_crew,
)

Make = Callable[[Log], Fold]
agui_event: TypeAdapter[Any] = TypeAdapter(Event)
response_event: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
# Open Responses knows no items of MCP
OPEN_RESPONSES: dict[str, Any] = {
    next(iter(model.model_fields["type"].annotation)).value: model
    for name, model in vars(openresponses_types).items()
    if name.endswith("StreamingEvent")
}
FOLDS: dict[str, Make] = {
    "agui": lambda log: AguiFold(log.row.run_id, "t1", speech_of(log.crew)),
    "chat": lambda log: ChatFold(log.row.run_id, "m", speech_of(log.crew), (), has_usage=True),
    "responses": lambda log: ResponsesFold(log.row.run_id, "m", speech_of(log.crew), ()),
    "open": lambda log: ResponsesFold(log.row.run_id, "m", speech_of(log.crew), (), is_open=True),
    "ai": lambda log: AiFold(log.row.run_id, speech_of(log.crew), ()),
    "a2a": lambda log: TaskFold(log.row.run_id, "c1", "hi", speech_of(log.crew)),
}


MADE: dict[str, Callable[[Path], Crew]] = {
    "(group)": group_crew,
    "(twice)": twice_crew,
    "(mixed)": mixed_crew,
    "(failing)": failing_crew,
}


async def log_named(name: str, folder: Path) -> Log:
    return await (log_of(MADE[name](folder)) if name in MADE else log_of_example(name, folder))


def frames_of(fold: Fold, log: Log) -> list[Frame]:
    return [frame for event in log.events for frame in fold.add(event)]


def answer_of(log: Log) -> str:
    """The run's answer without the signal that ended it."""
    answer, signal = log.row.answer or "", log.events[-1].metadata.get("signal")
    return answer.replace(signal, "").rstrip() if signal else answer


def check_agui(frames: list[Frame]) -> None:
    """What begins ends, in the order that AG-UI's own client demands."""
    running = False
    texts: set[str] = set()
    # no message has the name of an earlier one
    named: list[str] = []
    calls: set[str] = set()
    steps: set[str] = set()
    for frame in frames:
        event = agui_event.validate_python(frame.document)
        match frame.document["type"]:
            case "RUN_STARTED":
                assert not running
                running = True
            case "RUN_FINISHED" | "RUN_ERROR":
                assert not texts | calls | steps
                running = False
            case "TEXT_MESSAGE_START":
                assert event.message_id not in texts
                texts.add(event.message_id)
                named.append(event.message_id)
            case "TEXT_MESSAGE_CONTENT":
                assert event.message_id in texts
                assert event.delta
            case "TEXT_MESSAGE_END":
                texts.remove(event.message_id)
            case "TOOL_CALL_START":
                calls.add(event.tool_call_id)
            case "TOOL_CALL_END":
                calls.remove(event.tool_call_id)
            case "STEP_STARTED":
                assert event.step_name not in steps
                steps.add(event.step_name)
            case "STEP_FINISHED":
                steps.remove(event.step_name)
        assert running or frame.document["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert not running
    assert len(named) == len(set(named))


def check_chat(frames: list[Frame], log: Log) -> None:
    """The content of the last segment is the run's answer."""
    content = ""
    for frame in frames:
        if frame.document is None or "error" in frame.document:
            continue
        chunk = ChatCompletionChunk.model_validate(frame.document)
        delta = chunk.choices[0].delta if chunk.choices else None
        content = (
            "" if delta is not None and delta.role else content + ((delta and delta.content) or "")
        )
    if log.row.status == "completed":
        assert content == answer_of(log)


def check_responses(frames: list[Frame], log: Log, fold: ResponsesFold) -> None:
    """Numbers grow; what a client adds up is the whole response."""
    numbers = [frame.document["sequence_number"] for frame in frames]
    assert numbers == sorted(set(numbers))
    for frame in frames:
        event = response_event.validate_python(frame.document)
        assert event.type == frame.name
        if fold.is_open:
            OPEN_RESPONSES[frame.name].model_validate(frame.document)
    whole = Response.model_validate(fold.document)
    if log.row.status == "completed":
        assert whole.status == "completed"
        assert whole.output_text == answer_of(log)
    done = [frame.document["item"] for frame in frames if frame.name == "response.output_item.done"]
    last = frames[-1].document["response"]["output"]
    assert done[len(done) - len(last) :] == sorted(last, key=done.index)


def check_ai(frames: list[Frame]) -> None:
    """What begins ends; each call has ended, or is asked about, when a stream ends.

    The SDK sends no answer before each call of the message has its result or its decision.
    """
    texts, thoughts, calls, asked, in_step = set(), set(), set(), set(), False
    for frame in frames:
        chunk = frame.document
        match chunk and chunk["type"]:
            case "text-start":
                texts.add(chunk["id"])
            case "text-delta":
                assert chunk["id"] in texts
            case "text-end":
                texts.remove(chunk["id"])
            case "reasoning-start":
                thoughts.add(chunk["id"])
            case "reasoning-end":
                thoughts.remove(chunk["id"])
            case "tool-input-available":
                calls.add(chunk["toolCallId"])
            case "tool-output-available" | "tool-output-error" | "tool-output-denied":
                calls.remove(chunk["toolCallId"])
            case "tool-approval-request":
                assert chunk["toolCallId"] in calls
                asked.add(chunk["toolCallId"])
            case "start-step":
                assert not in_step
                in_step = True
            case "finish-step":
                assert in_step
                in_step = False
            case "finish" | "abort":
                assert not texts | thoughts
                assert not in_step
                assert calls <= asked
    assert frames[-1].document is None


def check_task(frames: list[Frame], log: Log, fold: TaskFold) -> None:
    """A task ends once, with the answer as its artifact; each segment begins with all of it."""
    ended = False
    for frame in frames:
        assert not ended
        (kind,) = frame.document
        assert kind in ("task", "statusUpdate", "artifactUpdate")
        if kind == "statusUpdate":
            ended = frame.document[kind]["status"]["state"] in ENDED
    task = fold.task()
    assert task["status"]["state"] == STATES[log.row.status]
    ids = [one["messageId"] for one in task["history"]]
    assert len(ids) == len(set(ids))
    if log.row.status == "completed":
        (artifact,) = task["artifacts"]
        assert artifact["parts"][0]["text"] == answer_of(log)


@pytest.mark.parametrize("language", FOLDS)
@pytest.mark.parametrize("name", [*MADE, *EXAMPLES])
async def test_every_log_in_every_language(name: str, language: str, tmp_path: Path):
    log = await log_named(name, tmp_path)
    fold = FOLDS[language](log)
    frames = frames_of(fold, log)
    assert frames
    match fold:
        case AguiFold():
            check_agui(frames)
        case ChatFold():
            check_chat(frames, log)
        case ResponsesFold():
            check_responses(frames, log, fold)
        case AiFold():
            check_ai(frames)
        case TaskFold():
            check_task(frames, log, fold)
    # another process, at another time
    assert frames_of(FOLDS[language](log), log) == frames
    # of no event a frame is lost, or comes twice, wherever a client comes back
    for after in range(len(log.events) + 1):
        form = FoldedForm(FOLDS[language](log), after, write_until_done, lambda _: b"")
        rest = b"".join(form.frame(event) for event in log.events)
        assert (
            b"".join(write_until_done(frame) for frame in frames if (frame.seq or 0) > after)
            == rest
        )


async def test_a_place_to_come_back_to(tmp_path: Path):
    """Of several frames of an event only the last one has its number."""
    log = await log_of(group_crew(tmp_path))
    places: list[tuple[int | None, int | None]] = []

    def write(frame: Frame, place: int | None) -> bytes:
        places.append((frame.seq, place))
        return b"."

    form = FoldedForm(FOLDS["agui"](log), 0, write, lambda _: b"")
    for event in log.events:
        form.frame(event)
    for (seq, place), (following, _) in zip(places, [*places[1:], (None, None)], strict=True):
        assert seq is not None
        assert place == (seq - 1 if following == seq else seq)


async def test_who_speaks_live(tmp_path: Path):
    """Only those with answers that can be nothing but the run's."""
    assert live_agents(group_crew(tmp_path)) == {"d"}
    assert live_agents(failing_crew(tmp_path / "b")) == {"b"}


@pytest.mark.parametrize("language", FOLDS)
@pytest.mark.parametrize("kept", [0, 1, 3])
async def test_a_log_without_its_beginning(language: str, kept: int, tmp_path: Path):
    """Ends once, as it ended, whatever is kept of it."""
    log = await log_named("(group)", tmp_path)
    last = log.events[-1].seq or 0
    lost = gap(log.row, 1, last - kept)
    fold = FOLDS[language](log)
    frames = [frame for event in (lost, *log.events[last - kept :]) for frame in fold.add(event)]
    ends = [frame for frame in frames if is_end(frame)]
    assert len(ends) == 1, frames
    assert ends[0].seq == last
    if kept == 0:
        # no event says which signal has ended it
        said = [one for frame in frames for one in texts_in(frame.document)]
        assert "All of it is well." in said
        assert not any("[END]" in one for one in said)


def texts_in(document: Any) -> list[str]:
    """All texts of a frame, but for the log as it is, which the gap's own form has."""
    if isinstance(document, dict):
        return [one for value in document.values() for one in texts_in(value)]
    if isinstance(document, list):
        return [one for value in document for one in texts_in(value)]
    return [document] if isinstance(document, str) else []


def is_end(frame: Frame) -> bool:
    """Whether a frame ends its run, in one of the languages."""
    match frame.document:
        case None:
            return True
        case {"type": "RUN_FINISHED" | "RUN_ERROR" | "response.completed" | "response.incomplete"}:
            return True
        case {"task": {"status": {"state": state}}} | {
            "statusUpdate": {"status": {"state": state}}
        }:
            return state in ENDED
        case _:
            return False
