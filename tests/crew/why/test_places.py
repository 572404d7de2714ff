"""Where files say something of what a run did, without starting anything."""

from pathlib import Path
from typing import Any

from crew.crew import check
from crew.why.places import FilePlaces
from tests.support.crews import write_crew

TOOLS: dict[str, Any] = {
    "files": {"kind": "mcp", "command": "gone-for-good"},
    "files_more": {"kind": "mcp", "command": "gone-for-good", "prefix": "more_"},
}


def places_of(folder: Path) -> FilePlaces:
    prices = {"input": 1, "output": 2}
    models = {"big": {"provider": "scripted", "model": "m-1", "prices": prices}}
    agents = {"a": {"tools": ["files_read", "more_read"], "is_terminal": True}}
    written = write_crew(folder, agents, [{"say": "x"}], TOOLS, models=models)
    checked = check(written, imports=False)
    return FilePlaces.of(checked.files, checked.tools)


def test_tools_of_a_server_that_was_not_asked(tmp_path: Path):
    """By what their names begin with."""
    places = places_of(tmp_path)
    lines = (tmp_path / "tools.yaml").read_text().splitlines()
    for name, entry in (("files_read", "  files:"), ("more_read", "  files_more:")):
        assert places.tool(name) == f"tools.yaml:{lines.index(entry) + 1}"
    assert places.tool("other") is None


def test_prices_by_the_name_of_the_model(tmp_path: Path):
    places = places_of(tmp_path)
    lines = (tmp_path / "crew.yaml").read_text().splitlines()
    line = next(number for number, one in enumerate(lines, 1) if one.strip() == "prices:")
    assert places.prices("scripted", "m-1") == f"crew.yaml:{line}"
    assert places.prices("scripted", "m-2") is None
    assert places.prices("other", "m-1") is None
