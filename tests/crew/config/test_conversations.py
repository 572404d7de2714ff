"""Mistakes in conversations, context and helpers: each with its line and what to do."""

from pathlib import Path
from typing import Any

import pytest

from crew import check
from tests.support.crews import write_crew

SUMMARY = {"kind": "summary", "every": 2, "keep": 1}
CASES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {"helpers": {"title": {"max_tokens": 9}}}, "ignored-key", "there are no conversations"),
    ({}, {"context": {"blocks": [SUMMARY, "history"]}}, "ignored-key", "a summary has no effect"),
    (
        {},
        {"context": {"blocks": [{"kind": "history", "transcripts": True}]}},
        "ignored-key",
        "transcripts has no effect",
    ),
    (
        {},
        {"conversations": {"title_after": 0}, "helpers": {"title": {"max_tokens": 9}}},
        "ignored-key",
        "title_after is 0",
    ),
    (
        {},
        {
            "conversations": {},
            "context": {"blocks": ["history"]},
            "helpers": {"summary": {"max_tokens": 9}},
        },
        "ignored-key",
        "no context has a summary",
    ),
    (
        {},
        {"conversations": {}, "helpers": {"title": {"provider": "opnai"}}},
        "unknown-provider",
        "unknown provider 'opnai'",
    ),
    (
        {"context": {"blocks": [SUMMARY, "history"]}},
        {"conversations": {}},
        "bad-value",
        "every and keep must be those of the other agents",
    ),
    ({}, {"context": {"blocks": ["summary"]}}, "bad-value", "blocks needs history"),
    ({}, {"context": {"blocks": ["history", "history"]}}, "bad-value", "history twice"),
    ({}, {"context": {"blocks": ["files", "history"]}}, "bad-value", "expected 'text'"),
    ({}, {"context": {"blocks": [{"kind": "text"}, "history"]}}, "bad-value", "file or text"),
    (
        {},
        {"context": {"blocks": [{"kind": "text", "file": "nosuch.md"}, "history"]}},
        "bad-value",
        "there is no file nosuch.md",
    ),
    (
        {},
        {"context": {"blocks": [{"kind": "text", "file": "../secret.md"}, "history"]}},
        "bad-value",
        "there is no file ../secret.md",
    ),
    (
        {},
        {"context": {"window_tokens": 3000, "answer_tokens": 1500}},
        "context-over-window",
        "history.min_tokens 2000 + answer 1500",
    ),
    ({}, {"conversations": {"on_busy": "wait"}}, "bad-value", "'reject' or 'queue'"),
    ({}, {"conversations": {"max_exchange": 5}}, "unknown-key", "max_exchange"),
]


@pytest.mark.parametrize(("agent", "keys", "code", "said"), CASES)
def test_mistakes(
    agent: dict[str, Any], keys: dict[str, Any], code: str, said: str, tmp_path: Path
):
    """One problem each, in the file that it stands in."""
    (tmp_path / "secret.md").write_text("s3cret")
    agents = {"b": {}, "a": agent} if agent else {"b": {}}
    routing = {"defaults": dict.fromkeys(agents)}
    if len(agents) > 1:
        routing = {"defaults": {"b": "a", "a": None}}
    folder = write_crew(tmp_path / "crew", agents, routing=routing, **keys)
    problems = check(folder).problems
    found = [(one.code, said in one.message) for one in problems]
    assert found == [(code, True)], problems
    file = "agents/a.yaml" if agent else "crew.yaml"
    assert problems[0].file == file
    assert problems[0].line > 1


def test_ids_of_helpers_are_theirs(tmp_path: Path):
    """Or their metrics and limits would be mixed."""
    problems = check(write_crew(tmp_path, {"helper-title": {}})).problems
    assert [(one.code, one.file) for one in problems] == [("bad-name", "agents/helper-title.yaml")]
