"""Text as it is written, as clients get it."""

import copy
import json
import pickle
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from agents.events import AgentDelta
from crew.journal.wire import RunEvent, to_run_event

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(TEXTS, TEXTS, TEXTS, TEXTS, st.none() | TEXTS)
def test_a_piece_of_text_is_an_event_as_all_are(
    run_id: str, agent_id: str, agent: str, text: str, group: str | None
):
    """Whatever is in it: one line of JSON, with the keys of every event in their order."""
    event = to_run_event(AgentDelta(agent_id, agent, group, text), run_id, None, "2026-01-01")
    assert event is not None
    assert "\n" not in event.encoded
    assert RunEvent.decode(None, event.encoded) == event
    document = json.loads(event.encoded)
    assert document == {
        "type": "agent_delta",
        "agent": agent,
        "content": text,
        "timestamp": "2026-01-01",
        "metadata": {"run_id": run_id, "agent_id": agent_id, "group": group},
    }
    assert json.dumps(event.metadata) == json.dumps(document["metadata"])
    assert pickle.loads(pickle.dumps(event)) == copy.deepcopy(event) == event
    assert asdict(event)["metadata"] == event.metadata
    assert list(document) == ["type", "agent", "content", "timestamp", "metadata"]
