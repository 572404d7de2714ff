"""Crews that people wrote for go-agentic load and run."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from crew import check, load_crew
from tests.support.crews import SHARED_CREWS, play
from tools import tool

needs_crews = pytest.mark.skipif(not SHARED_CREWS.is_dir(), reason="the real crews are not at hand")


@needs_crews
def test_the_crew_with_misspelt_keys_is_refused():
    """Each key with its place and what was meant."""
    found = [
        p for p in check(SHARED_CREWS / "hello-crew-3d1d38d").problems if p.severity == "error"
    ]
    assert [(p.line, p.suggestion) for p in found] == [
        (25, "min_tool_timeout_millis"),
        (26, None),
        (29, "retry_backoff_min_millis"),
        (32, None),
    ]


@needs_crews
@pytest.mark.parametrize("name", ["hello-crew-dbd117b", "multi-team-team-alpha-dbd117b"])
def test_crews_for_go_agentic_load(name: str):
    """With a warning for each key that has no effect."""
    found = check(SHARED_CREWS / name).problems
    assert {p.severity for p in found} == {"warning"}
    assert {p.code for p in found} <= {"ignored-key", "falls-through"}


def copied(name: str, folder: Path, rules: list[dict[str, Any]]) -> Path:
    """A real crew with a script beside it."""
    for path in (SHARED_CREWS / name).rglob("*.yaml"):
        to = folder / path.relative_to(SHARED_CREWS / name)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(path.read_bytes())
    (folder / "script.yaml").write_text(yaml.safe_dump({"rules": rules}))
    return folder


@needs_crews
async def test_a_chain_that_ends_by_its_signal(tmp_path: Path):
    """No terminal agent: the second one's ending signal ends it."""
    rules = [
        {"agent": "researcher", "say": "1. 2. 3. [RESEARCH_DONE]"},
        {"agent": "analyst", "say": "insight [ALPHA_COMPLETE]"},
    ]
    played = await play(
        load_crew(copied("multi-team-team-alpha-dbd117b", tmp_path, rules), provider="scripted"),
        "topic",
    )
    assert (played.path, played.row.reason) == (["researcher", "analyst"], "signal")


@needs_crews
async def test_one_agent_that_greets(tmp_path: Path):
    """And is the last."""
    played = await play(
        load_crew(copied("hello-crew-dbd117b", tmp_path, [{"say": "hi"}]), provider="scripted"),
        "hello",
    )
    assert (played.row.reason, played.row.answer) == ("terminal", "hi")


@needs_crews
async def test_the_it_support_crew_loads_but_for_its_shell(tmp_path: Path):
    """And runs once it is given such a tool: coordinator, engineer, end."""
    folder = SHARED_CREWS / "it-support-15943f0"
    errors = [p for p in check(folder).problems if p.severity == "error"]
    assert [p.code for p in errors] == ["unknown-tool"]
    assert "never built in" in errors[0].message

    @tool(name="ExecuteCommand")
    async def execute_command(command: str) -> str:
        return f"would run {command}"

    rules = [
        {"agent": "orchestrator", "say": "Trang! [ROUTE_EXECUTOR]"},
        {"agent": "executor", "after": "ExecuteCommand", "say": "done"},
        {"agent": "executor", "say": "ExecuteCommand(uptime)"},
    ]
    copy = copied("it-support-15943f0", tmp_path, rules)
    played = await play(
        load_crew(copy, tools=[execute_command], provider="scripted"), "Check localhost"
    )
    assert played.path == ["orchestrator", "executor", "executor"]
    assert (played.row.reason, played.row.answer) == ("terminal", "done")


@needs_crews
async def test_a_whole_quiz_is_played(tmp_path: Path):
    """Ten questions in parallel groups without a next agent, decided by the members' signals, to the final report."""
    recorded: list[int] = []

    @tool(name="GetQuizStatus")
    async def get_quiz_status() -> str:
        return f"{len(recorded)} of 10 answered"

    @tool(name="RecordAnswer")
    async def record_answer(
        question_number: int,
        question: str,
        student_answer: str,
        is_correct: bool,
        teacher_comment: str,
    ) -> str:
        recorded.append(question_number)
        return f"{len(recorded)} of 10 recorded"

    @tool(name="WriteReport")
    async def write_report() -> str:
        return "written"

    record = 'RecordAnswer(question_number=1, question="2+2?", student_answer="4", is_correct=true, teacher_comment="Correct")'
    rules: list[dict[str, Any]] = [
        {"agent": "reporter", "after": "WriteReport", "say": "Recorded. [OK]"},
        {"agent": "reporter", "say": "WriteReport()"},
        {"agent": "student", "say": "Dear teacher, the answer is 4. [ANSWER]"},
        {
            "agent": "teacher",
            "after": "RecordAnswer",
            "seen": "10 of 10 recorded",
            "say": "Exam complete. Score: 10/10. [END]",
        },
        {"agent": "teacher", "after": ["RecordAnswer"], "say": "What is 2+2, again? [QUESTION]"},
        {"agent": "teacher", "after": "GetQuizStatus", "say": "What is 2+2? [QUESTION]"},
        {"agent": "teacher", "hears": "[ANSWER]", "say": record},
        {"agent": "teacher", "say": "GetQuizStatus()"},
    ]
    copy = copied("quiz-exam-2a19599", tmp_path, rules)
    crew = load_crew(
        copy, tools=[get_quiz_status, record_answer, write_report], provider="scripted"
    )
    played = await play(crew, "Start the exam")
    assert len(recorded) == 10
    assert [e["content"] for e in played.of("parallel_start")] == [
        "parallel_question",
        "parallel_answer",
    ] * 10
    assert (played.row.status, played.row.reason, played.row.agent_id) == (
        "completed",
        "signal",
        "reporter",
    )
