"""What a tool file imports beside itself."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.made_tools import tool_of
from tools.errors import ToolDefinitionError

HELPERS = "import dataclasses\n@dataclasses.dataclass\nclass Seen:\n    n: int = 0\nSEEN = Seen()\nSAID = 'one'\n"
ACTS = """
from . import helpers
from .helpers import SAID

def act() -> str:
    helpers.SEEN.n += 1
    return f"{SAID} {helpers.SEEN.n}"
"""


def folder_of(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    (path / "helpers.py").write_text(HELPERS)
    (path / "acts.py").write_text(ACTS)
    (path / "more.py").write_text(ACTS)
    return path


async def said(folder: Path, file: str = "acts.py", **entry: Any) -> str:
    async with tool_of("python", folder, function=f"{file}:act", **entry) as made:
        return (await made()).output


async def test_a_file_of_the_same_folder(tmp_path: Path):
    """Is one module for all tool files; no folder is searched for others, nothing is written."""
    folder, before = folder_of(tmp_path), list(sys.path)
    assert await said(folder) == "one 1"
    assert await said(folder, "more.py") == "one 2"
    assert sys.path == before
    assert sorted(one.name for one in folder.iterdir()) == ["acts.py", "helpers.py", "more.py"]


async def test_in_a_process_of_its_own(tmp_path: Path):
    """The same."""
    assert await said(folder_of(tmp_path), isolate="process") == "one 1"


async def test_a_file_that_is_changed(tmp_path: Path):
    """At once, for what is loaded from then on; what is loaded already keeps its own."""
    folder = folder_of(tmp_path)
    async with tool_of("python", folder, function="acts.py:act") as first:
        assert (await first()).output == "one 1"
        (folder / "helpers.py").write_text(HELPERS.replace("one", "two"))
        assert await said(folder) == "two 1"
        assert (await first()).output == "one 2"


async def test_an_import_that_comes_late(tmp_path: Path):
    """Has what was there when the tool was loaded."""
    folder = folder_of(tmp_path)
    late = "def act() -> str:\n    from .helpers import SAID\n    return SAID\n"
    (folder / "acts.py").write_text(late)
    async with tool_of("python", folder, function="acts.py:act") as made:
        (folder / "helpers.py").write_text(HELPERS.replace("one", "two"))
        assert (await made()).output == "one"


async def test_two_crews(tmp_path: Path):
    """Have their own, also where they are called alike."""
    one, two = folder_of(tmp_path / "one"), folder_of(tmp_path / "two")
    assert [await said(one), await said(two), await said(one)] == ["one 1", "one 1", "one 2"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import helpers", "for the file beside acts.py write: from . import helpers"),
        ("from . import none", "none"),
        ("from .. import helpers", "beyond"),
        ("from . import linked", "outside the crew's folder"),
        ("from . import broken", "SyntaxError"),
    ],
)
async def test_what_cannot_be_imported(tmp_path: Path, line: str, told: str):
    """Says why: no other folder is reached."""
    folder = folder_of(tmp_path / "crew")
    (tmp_path / "helpers.py").write_text(HELPERS)
    (folder / "linked.py").symlink_to(tmp_path / "helpers.py")
    (folder / "broken.py").write_text("def")
    (folder / "acts.py").write_text(f"{line}\n{ACTS}")
    with pytest.raises(ToolDefinitionError) as raised:
        await said(folder)
    assert told in str(raised.value)
