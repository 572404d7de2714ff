"""`crew test` with many rehearsals, and what it suggests none for."""

import json
from pathlib import Path

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.rehearsed import rehearse, repair_crew


def test_processes_and_order_change_no_byte(tmp_path: Path):
    """Of hundreds of rehearsals, of which a tenth fails."""
    folder = repair_crew(tmp_path)
    case = {
        "name": "many",
        "query": "thanks <<n>>",
        "cases": {"each": {"n": list(range(300))}},
        "expect": {"path": ["desk", "end"], "asked": {"desk": {"words": {"lacks": "7"}}}},
    }
    rehearse(folder, case)

    def lines(*options: str) -> list[str]:
        *found, summary = crew("test", folder, "--json", *options).stdout.splitlines()
        results = [json.dumps(json.loads(line) | {"wall_millis": 0}) for line in found]
        return [*sorted(results), summary]

    alone = lines("--jobs", "1")
    assert len(alone) == 301
    assert {json.loads(one)["status"] for one in alone[:-1]} == {"passed", "failed"}
    assert lines("--jobs", "8", "--shuffle", "--seed", "3") == alone


def test_what_no_rehearsal_was_found_for_is_said(tmp_path: Path):
    """A field with a pattern: no text is made for it."""
    output = {
        "properties": {"code": {"type": "string", "pattern": "^[0-9]{3}$"}},
        "required": ["code"],
    }
    write_crew(tmp_path, {"a": {"output": output, "is_terminal": True}})
    made = crew("test", tmp_path, "--suggest")
    assert "no rehearsal was found for agents/a.yaml" in made.stdout, made.stdout
    assert "Nothing was written." in made.stdout
    assert not (tmp_path / "tests").exists()
