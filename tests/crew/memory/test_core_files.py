"""What the files may say of core memory."""

from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Runs, load_crew
from crew.crew import check
from crew.runs.errors import BlockRefused
from tests.crew.memory.test_core_runs import NOTES, PROFILE
from tests.support.crews import write_crew

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "crew text": ({"core": {"x": {**NOTES, "scope": "crew"}}}, "memory-write"),
    "crew free field": ({"core": {"x": {**PROFILE, "scope": "crew"}}}, "memory-write"),
    "no scope": ({"core": {"x": {**NOTES, "scope": "team"}}}, "bad-value"),
    "no description": ({"core": {"x": {}}}, "missing-key"),
    "start over the cap": (
        {"core": {"x": {**NOTES, "max_tokens": 2, "start": "a b c d e f"}}},
        "memory-start",
    ),
    "no conversations": ({"core": {"x": {**NOTES, "scope": "conversation"}}}, "ignored-key"),
    "nested": (
        {"core": {"x": {**NOTES, "schema": {"properties": {"y": {"properties": {}}}}}}},
        "memory-schema",
    ),
    "start of what is filled": (
        {
            "core": {
                "x": {
                    **NOTES,
                    "scope": "conversation",
                    "start": "y",
                    "from": {"agent": "a", "field": "y"},
                }
            }
        },
        "bad-value",
    ),
    "a name with a colon": (
        {"core": {"x": {**NOTES, "schema": {"properties": {"a:b": {"type": "string"}}}}}},
        "memory-schema",
    ),
    "learned": ({"core": {"x": {**NOTES, "write": ["learn", "people"]}}}, "ignored-key"),
    "written by no one, and without a start": (
        {"core": {"x": {**NOTES, "write": []}}},
        "ignored-key",
    ),
    "written by agents without the tool": (
        {"core": {"x": {**NOTES, "write": ["people", "agents"]}}},
        "ignored-key",
    ),
    "an unknown key of recall": ({"recall": {"max_item": 3}}, "unknown-key"),
    "a similarity of more than all": ({"recall": {"merge_similarity": 1.5}}, "out-of-range"),
    "recall of no conversation": ({"recall": {"scope": "conversation"}}, "ignored-key"),
    "recall of a crew": ({"recall": {"scope": "crew"}}, "bad-value"),
    "learned after no exchange": ({"recall": {"learn": {}}}, "ignored-key"),
    "words of no one": ({"recall": {"learn": {"from": []}}}, "out-of-range"),
    "from of a user": (
        {"core": {"x": {**NOTES, "from": {"agent": "a", "field": "y"}}}},
        "bad-value",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_the_files(tmp_path: Path, case: str):
    memory, code = WRONG[case]
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}], memory=memory)
    found = check(folder).problems
    assert code in [one.code for one in found], found


def test_what_no_agent_is_shown_has_no_effect(tmp_path: Path):
    context = {"blocks": ["history"]}
    folder = write_crew(
        tmp_path, {"a": {}}, [{"say": "x"}], memory={"core": {"x": NOTES}}, context=context
    )
    (problem,) = check(folder).problems
    assert (problem.code, problem.severity) == ("ignored-key", "warning")
    assert "no agent is shown it" in problem.message


def test_a_crew_of_enums_may_be_written(tmp_path: Path):
    fields = {"properties": {"mood": {"enum": ["good", "bad"]}, "runs": {"type": "number"}}}
    memory = {"core": {"x": {"scope": "crew", "description": "how it goes", "schema": fields}}}
    folder = write_crew(tmp_path, {"a": {"tools": ["EditCore"]}}, [{"say": "x"}], memory=memory)
    assert check(folder).problems == ()


async def test_a_number_may_be_a_secret(tmp_path: Path):
    fields = {"properties": {"pin": {"type": "integer"}}}
    memory = {"core": {"x": {"description": "x", "schema": fields}}}
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "x"}], memory=memory)
    crew = load_crew(folder, environment={"PIN_TOKEN": "1234567890"})
    async with Runs(crew, MemoryStore()) as runs:
        with pytest.raises(BlockRefused, match="pin: must be a whole number"):
            await runs.memory.core.put("x", {"pin": 1234567890}, 0, "ann", "ann")
        assert (await runs.memory.core.put("x", {"pin": 12}, 0, "ann", "ann")).value == {"pin": 12}
