"""What people read of answers that are typed, or end with a signal: words, and neither JSON nor signals."""

from pathlib import Path
from typing import Any

from server.protocols.agui.fold import AguiFold
from server.protocols.folds import speech_of
from server.protocols.mcp.results import ResultFold
from tests.support.crews import crew_of
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
