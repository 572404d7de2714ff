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
    """Say for whom."""
    return f"user={context.user} owner={context.owner}"
'''


def crew(folder: Path, **keys: Any) -> Path:
    written = write_crew(
        folder,
        {"a": {"tools": ["who"], "is_terminal": True}},
        [{"after": "who", "say": "{{result.who}}"}, {"say": "", "calls": ["who"]}],
        {"who": {"kind": "python", "function": "mine.py:who", **keys}},
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
                ({"query": "x", "user_id": "ann"}, "user=ann owner=shop"),
                ({"query": "x"}, "user=shop owner=shop"),
            ):
                assert http.post("/api/crew/run", json=body).json()["answer"] == said
