"""OpenAPI documents are files of a crew: read within limits, and kept with its runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import load_crew
from crew.config.files.sources import Sources
from crew.crew import check
from tests.support.crews import write_crew

DOCUMENT: dict[str, Any] = {"openapi": "3.1.0", "paths": {"/x": {"get": {"operationId": "look"}}}}


def folder_with(path: Path, text: str | bytes, name: str = "api.json") -> Path:
    entry = {
        "kind": "openapi",
        "document": name,
        "server": "https://api.example.com",
        "operations": ["look"],
    }
    folder = write_crew(path, {"a": {"tools": ["api"]}}, tools={"api": entry})
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize("name", ["api.json", "api.yaml"])
def test_a_document_is_kept_with_the_crew(name: str, tmp_path: Path):
    """A run goes on with that which it was started with, though another is in the folder."""
    folder = folder_with(tmp_path, json.dumps(DOCUMENT, indent="\t"[: name == "api.json"]), name)
    before = load_crew(folder, environment={})
    kept = Sources.from_json(folder, before.sources.to_json())
    other = json.dumps(DOCUMENT).replace("/x", "/y")
    (folder / name).write_text(other)
    now = before.load_again()
    assert now.revision != before.revision == kept.revision
    again = now.load_other(kept, None)
    assert [tool.description for tool in again.tools] == ["GET /x"]
    assert [tool.description for tool in now.tools] == ["GET /y"]
    (folder / name).unlink()
    assert now.load_other(kept, None).tools[0].name == "api_look"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (b'{"openapi": "3.1.0",\n\xff}', "not-utf8", 2),
        ('{"openapi":\n "3.1.0",}', "syntax", 2),
        ("[" * 100_000, "too-deep", 1),
        ('{"a":' * 100 + "1" + "}" * 100, "too-deep", 1),
        (f"[{'1,' * 100_001}1]", "too-many-nodes", 1),
        (" " * 2**20 + "{}", "too-large", 1),
    ],
)
def test_a_document_that_cannot_be_read(text: str | bytes, code: str, line: int, tmp_path: Path):
    """One problem, in the document."""
    found = check(folder_with(tmp_path, text)).problems
    assert [(one.file, one.code, one.line) for one in found] == [("api.json", code, line)]


def test_nothing_outside_of_the_folder_is_read(tmp_path: Path):
    """Not by a link either."""
    folder = folder_with(tmp_path / "crew", "{}")
    (tmp_path / "secret.json").write_text(json.dumps(DOCUMENT))
    (folder / "api.json").unlink()
    (folder / "api.json").symlink_to(tmp_path / "secret.json")
    found = check(folder).problems
    assert [(one.file, one.code) for one in found] == [("tools.yaml", "openapi")]
    assert "secret" not in found[0].message
