"""For whom a tool acts: the run's user, and beside it the token that the run belongs to."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.processes import client, serving

TOKEN = "shop-0123456789abcdef"
CODE = '''
from tools import ToolContext


def who(context: ToolContext) -> str:
    """Tell the user."""
    return f"user={context.user} owner={context.owner} {context.user_id}/{context.conversation_id}"
'''


def crew(folder: Path, **keys: Any) -> Path:
    written = write_crew(
        folder,
        {"a": {"tools": ["who"], "is_terminal": True}},
        [{"after": "who", "say": "{{result.who}}"}, {"say": "", "calls": ["who"]}],
        {"who": {"kind": "python", "function": "mine.py:who", **keys}},
        conversations={},
    )
    (written / "mine.py").write_text(CODE)
    return written


@pytest.mark.parametrize("keys", [{}, {"isolate": "process"}], ids=["in-process", "isolated"])
def test_a_tool_sees_the_runs_user(tmp_path: Path, keys: dict[str, Any]):
    """A token that acts for many people is not one of them."""
    tokens = f"shop+read+run+act_as:{TOKEN}"
    with serving(crew(tmp_path, **keys), CREW_API_TOKENS=tokens) as server:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with client(server, headers=headers) as http:
            for body, said in (
                ({"user_id": "ann", "conversation_id": "c1"}, "user=ann owner=shop ann/c1"),
                ({"user_id": "ann"}, "user=ann owner=shop ann/"),
                ({}, "user=shop owner=shop shop/"),
            ):
                answer = http.post("/api/crew/run", json={"query": "x", **body}).json()["answer"]
                assert answer == said


def test_a_member_of_a_group_sees_it_after_a_pause(tmp_path: Path):
    """Its call is made by another process than the one that it was approved in."""
    keys = {"tools": ["who"]}
    rules = [
        {"agent": "m", "after": "who", "say": "{{result.who}}"},
        {"agent": "m", "say": "", "calls": ["who"]},
    ]
    groups = {"g": {"agents": ["m"], "next_agent": "z"}}
    signals = {"a": [{"signal": "[GO]", "target": "g"}]}
    written = write_crew(
        tmp_path,
        {"a": {}, "m": keys, "z": {"is_terminal": True}},
        [*rules, {"agent": "a", "say": "[GO]"}, {"agent": "z", "say": "done"}],
        {"who": {"kind": "python", "function": "mine.py:who", "requires_approval": True}},
        routing={"signals": signals, "parallel_groups": groups},
        conversations={},
    )
    (written / "mine.py").write_text(CODE)
    body = {"query": "x", "user_id": "ann", "conversation_id": "c1"}
    tokens = f"shop+read+run+answer+act_as:{TOKEN}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        serving(written, CREW_API_TOKENS=tokens) as server,
        client(server, headers=headers) as http,
    ):
        run_id = http.post("/api/crew/run", json=body).json()["run_id"]
    with (
        serving(written, CREW_API_TOKENS=tokens) as server,
        client(server, headers=headers) as http,
    ):
        decided = {"run_id": run_id, "decision": "approve"}
        http.post("/api/crew/run", json=decided).raise_for_status()
        assert "owner=shop ann/c1" in http.get(f"/api/crew/runs/{run_id}/events").text
