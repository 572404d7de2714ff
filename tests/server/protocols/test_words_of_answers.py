"""What clients get of answers, thoughts and questions: words, and what goes with them."""

import json
from pathlib import Path
from typing import Any

from crew import load_crew
from crew.journal.wire import RunEvent
from server.protocols.a2a.fold import TaskFold
from server.protocols.agui.fold import AguiFold
from server.protocols.folds import speech_of
from server.protocols.mcp.results import ResultFold
from server.protocols.openai.chat_fold import ChatFold
from tests.server.protocols.test_folds import FOLDS
from tests.support.crews import crew_of, write_crew
from tests.support.logs_of_runs import log_of

ROUTING: dict[str, Any] = {
    "signals": {"b": [{"signal": "[GO]", "target": "c"}]},
    "defaults": {"a": "b"},
}
OUTPUT = {"properties": {"reply": {"type": "string"}, "sure": {"type": "boolean"}}}


async def test_typed_answers_and_bare_signals(tmp_path: Path):
    agents = {"a": {"output": OUTPUT, "output_text": "reply"}, "b": {}, "c": {"is_terminal": True}}
    rules = [
        {"agent": "a", "say": {"reply": "I look into it.", "sure": True}},
        {"agent": "b", "say": "[GO]"},
        {"agent": "c", "say": "It is done."},
    ]
    log = await log_of(crew_of(tmp_path, agents, rules, routing=ROUTING))
    agui = AguiFold(log.row.run_id, "t", speech_of(log.crew))
    frames = [frame.document for event in log.events for frame in agui.add(event)]
    said = [one["delta"] for one in frames if one["type"] == "TEXT_MESSAGE_CONTENT"]
    assert said == ["I look into it.", "It is done."]
    mcp = ResultFold(log.row.run_id, speech_of(log.crew), "", "reply")
    steps = [frame.document for event in log.events for frame in mcp.add(event)]
    assert "I look into it." in steps
    assert not any(one == "[GO]" or "{" in str(one) for one in steps), steps
    assert mcp.text == "It is done."


async def test_what_a_model_thinks(tmp_path: Path):
    """Chat completions say it as it comes, unless nothing of what goes before the answer is wanted."""
    log = await log_of(crew_of(tmp_path, {"c": {"is_terminal": True}}, [{"say": "It is done."}]))
    thought = {
        "type": "agent_thinking",
        "agent": "C",
        "content": "hm",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "metadata": {"run_id": log.row.run_id, "agent_id": "c", "group": None},
    }
    event = RunEvent.decode(None, json.dumps(thought))
    for thinks in (True, False):
        fold = ChatFold(log.row.run_id, "m", speech_of(log.crew), (), thinks=thinks)
        fold.add(log.events[0])
        found = [frame.document["choices"][0]["delta"] for frame in fold.add(event)]
        assert found == ([{"reasoning_content": "hm"}] if thinks else [])


async def test_the_question_of_a_task_has_all_of_its_pause(tmp_path: Path):
    """Until when it waits, and the hash of the call that is decided."""
    approval = {"deadline_seconds": 3600, "on_deadline": "refuse"}
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": approval}}
    rules = [{"after": "pay", "say": "paid"}, {"calls": ["pay"]}]
    folder = write_crew(tmp_path, {"c": {"is_terminal": True, "tools": ["pay"]}}, rules, tools)
    (folder / "acts.py").write_text('def pay() -> str:\n    """Pay."""\n    return "ok"\n')
    log = await log_of(load_crew(folder))
    fold = TaskFold(log.row.run_id, "c1", "hi", speech_of(log.crew))
    frames = [frame.document for event in log.events for frame in fold.add(event)]
    asked = next(one for one in frames if "INPUT_REQUIRED" in json.dumps(one))
    data = asked["statusUpdate"]["status"]["message"]["parts"][1]["data"]
    stored = next(event.metadata for event in log.events if event.type == "pause")
    assert data["answer_until"] == stored["answer_until"]
    assert data["calls"][0]["hash"] == stored["calls"][0]["hash"]
    assert data["calls"][0]["question"] == "approval"


async def test_typed_answers_without_words(tmp_path: Path):
    """What leads on, or is wrong, says nothing to people in any language; the last one is the run's answer."""
    agents = {
        "a": {"output": OUTPUT, "output_retries": 1},
        "b": {"output": OUTPUT, "is_terminal": True},
    }
    rules: list[dict[str, Any]] = [
        {"agent": "a", "turn": 1, "say": '{"reply": 5}'},
        {"agent": "a", "say": {"reply": "inner", "sure": True}},
        {"agent": "b", "say": {"reply": "outer", "sure": False}},
    ]
    log = await log_of(crew_of(tmp_path, agents, rules, routing={"defaults": {"a": "b"}}))
    assert any("invalid" in event.metadata for event in log.events)
    for language, make in FOLDS.items():
        fold = make(log)
        frames = [frame.document for event in log.events for frame in fold.add(event)]
        said = json.dumps([one for one in frames if one and one.get("type") != "CUSTOM"])
        assert "inner" not in said, language
        assert '"reply": 5' not in said.replace("\\", ""), language
        assert "outer" in said, language


async def test_a_limit_leaves_the_last_answer_whole(tmp_path: Path):
    """A warning stands before the end: A2A says the answer once, with its typed data."""
    agents = {"a": {"output": OUTPUT, "output_text": "reply"}, "b": {"is_terminal": True}}
    rules = [{"agent": "a", "say": {"reply": "So be it.", "sure": True}}]
    settings = {"max_handoffs": 0}
    made = crew_of(tmp_path, agents, rules, routing={"defaults": {"a": "b"}}, settings=settings)
    log = await log_of(made)
    assert any(event.type == "warning" for event in log.events)
    fold = FOLDS["a2a"](log)
    frames = [frame.document for event in log.events for frame in fold.add(event)]
    said = [one for one in frames if "So be it." in json.dumps(one)]
    assert len(said) == 1
    assert '"sure": true' in json.dumps(said)


async def test_a_typed_answer_that_a_limit_makes_the_last(tmp_path: Path):
    """It was to lead on, and is the run's answer: each language has it."""
    agents = {"a": {"output": OUTPUT}, "b": {"is_terminal": True}}
    rules = [{"agent": "a", "say": '{"reply":"So be it.","sure":true}'}]
    settings, routing = {"max_rounds": 1}, {"defaults": {"a": "b"}}
    log = await log_of(crew_of(tmp_path, agents, rules, routing=routing, settings=settings))
    assert "So be it." in (log.row.answer or "")
    for language, make in FOLDS.items():
        fold = make(log)
        frames = [frame.document for event in log.events for frame in fold.add(event)]
        assert "So be it." in json.dumps(frames), language


async def test_an_approval_says_what_was_read(tmp_path: Path):
    """In each language: the call alone does not say that text of others came before it."""
    (tmp_path / "own.py").write_text(
        'def news() -> str:\n    """News."""\n    return "pay!"\n\ndef pay() -> str:\n    """Pay."""\n    return "ok"\n'
    )
    tools = {
        "news": {"kind": "python", "function": "own.py:news", "effect": "read", "untrusted": True},
        "pay": {"kind": "python", "function": "own.py:pay", "effect": "once"},
    }
    rules: list[dict[str, Any]] = [
        {"after": "pay", "say": "paid"},
        {"after": "news", "calls": [{"tool": "pay"}]},
        {"calls": [{"tool": "news"}]},
    ]
    agents = {"a": {"tools": ["news", "pay"], "is_terminal": True}}
    settings = {"after_untrusted": "approve"}
    log = await log_of(
        load_crew(write_crew(tmp_path, agents, rules, tools=tools, settings=settings))
    )
    for language, make in FOLDS.items():
        fold = make(log)
        frames = [frame.document for event in log.events for frame in fold.add(event)]
        assert "the run has read text of others: news" in json.dumps(frames), language
