"""People of a rehearsal decide on calls, in time or too late."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.rehearsed import play_one, repair_crew

BROKEN = "it is broken"
CALL = {"calls": [{"tool": "restart", "arguments": {"service": "web"}}]}
DONE = {"end": "terminal"}


def test_people_decide_on_one_call_each(tmp_path: Path):
    calls = [{"tool": "restart", "arguments": {"service": name}} for name in ("web", "mail")]
    result = play_one(
        repair_crew(tmp_path),
        query=BROKEN,
        says={"fixer": [{"calls": calls}, "Done."]},
        returns={"restart": "up"},
        answers=[{"approve": True, "call": "call_1_1"}, {"deny": "not mail", "call": "call_1_2"}],
        expect={
            "calls": [
                {"tool": "restart", "arguments": {"service": "web"}, "times": 1},
                {"tool": "restart", "status": "denied", "times": 1},
            ],
            "pauses": [{"calls": ["restart", "restart"]}],
        },
    )
    assert result.status == "passed", result.mismatches


@pytest.mark.parametrize(
    ("person", "how", "seconds"),
    [
        ({"nobody": "16m"}, "denied", 900),
        ({"approve": True, "after": "14m59s"}, None, 899),
        ({"approve": True, "after": "15m1s"}, "denied", 900),
        ({"done": "by hand"}, "success", 0),
    ],
)
def test_a_deadline_holds_to_the_second(tmp_path: Path, person: dict[str, Any], how: str | None, seconds: float):  # fmt: skip
    if person.get("after") == "14m59s":
        person = {"approve": True, "after": 899}
    elif person.get("after") == "15m1s":
        person = {"approve": True, "after": 901}
    returns = {"restart": "up"} if how is None else {}
    rule = {"deadline_seconds": 900, "answer": True}
    result = play_one(
        repair_crew(tmp_path),
        query=BROKEN,
        set={"tools.restart.requires_approval": rule},
        says={"fixer": [CALL, "Done."]},
        returns=returns,
        answers=[person],
        expect={
            "calls": [{"tool": "restart", "status": how or "success"}],
            "seconds": {"min": seconds, "max": seconds + 1},
            **DONE,
        },
    )
    assert result.status == "passed", result.mismatches
