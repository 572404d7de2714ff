"""examples/on-call: measured, handed to an expert, restarted if a person agrees."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import needs_landlock
from tests.support.crews import copy_example
from tests.support.forked import crew


def events(told: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.stdout.splitlines()]


@needs_landlock
@pytest.mark.parametrize(
    ("query", "expert", "found", "decision"),
    [
        ("checkout is slow", "database", "8402 ms", "approve"),
        ("the shop shows an error", "web", "POST /pay", "deny"),
    ],
)
def test_an_alert(query: str, expert: str, found: str, decision: str, tmp_path: Path):
    """The group has measured before the expert looks; nothing is restarted without a yes."""
    folder = copy_example("on-call", tmp_path)
    paused = crew("run", "--json", folder, query)
    told = events(paused)
    assert paused.returncode == 3, paused
    assert [one["metadata"]["to"] for one in told if one["type"] == "handoff"] == [
        "measure",
        "triage",
        expert,
    ]
    (looked,) = [
        one["metadata"]
        for one in told
        if one["type"] == "tool_result" and one["metadata"]["agent_id"] == expert
    ]
    assert found in looked["output"]
    (pause,) = [one["metadata"] for one in told if one["type"] == "pause"]
    assert pause["calls"][0]["where"].endswith(f" systemctl restart {expert}")
    assert pause["answer_until"]
    run_id = told[0]["metadata"]["run_id"]
    ended = crew("run", "--json", folder, "--answer", run_id, "--decision", decision)
    said = [one["content"] for one in events(ended) if one["type"] == "agent_response"][-1]
    wanted = f"systemctl restart {expert}" if decision == "approve" else "Denied by a person"
    assert (ended.returncode, wanted in said) == (0, True), ended
