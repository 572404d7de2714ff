"""`crew lsp`: texts with places to fill in, brackets over several lines, related places, files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.server.cli.test_lsp import editing, editor, labels, offered
from tests.support.lsp_editor import Editor

__all__ = ["editor"]
SNIPPETS = lsp.ClientCapabilities(
    text_document=lsp.TextDocumentClientCapabilities(
        completion=lsp.CompletionClientCapabilities(
            completion_item=lsp.ClientCompletionItemOptions(snippet_support=True)
        )
    )
)


@pytest.fixture
async def filling(tmp_path: Path) -> AsyncIterator[Editor]:
    """An editor that takes texts with places to fill in."""
    async with editing(tmp_path, SNIPPETS) as started:
        yield started


@pytest.mark.parametrize(
    ("name", "text", "label", "becomes"),
    [
        ("tools.yaml", "tools:\n  |", "new (http)", "$1:\n  kind: http\n  url: $2"),
        ("crew.yaml", "routing:\n  sig|", "signals", "signals:\n  $1:\n    - signal: $2"),
        ("crew.yaml", "bud|", "budgets", "budgets:\n  $1:\n    scope: $2"),
        ("crew.yaml", "routing:\n  signals:\n    desk:\n      - |", "new", "signal: $1"),
        (
            "crew.yaml",
            "routing:\n  parallel_groups:\n    |",
            "new",
            "$1:\n  agents: [$2]",
        ),
        ("agents/desk.yaml", "|", "new", "id: $1\nname: $2\nrole: $3"),
        ("tests/all.yaml", "rehearsals:\n  - |", "new", "name: $1"),
        # a key behind a dash: what is below it stands further to the right
        ("tests/all.yaml", "invariants:\n  - name: a\n    |", "when", "when: "),
    ],
)
async def test_what_an_entry_must_have(
    filling: Editor, name: str, text: str, label: str, becomes: str
):
    (item,) = [one for one in await offered(filling, name, text) if one.label == label]
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert item.text_edit.new_text == becomes
    if "$" in becomes:
        assert item.insert_text_format == lsp.InsertTextFormat.Snippet
        assert item.insert_text_mode == lsp.InsertTextMode.AdjustIndentation


async def test_an_editor_without_snippets_gets_plain_keys(editor: Editor):
    items = await offered(editor, "crew.yaml", "routing:\n  sig|")
    (edit,) = [one.text_edit for one in items if one.label == "signals"]
    assert isinstance(edit, lsp.TextEdit)
    assert edit.new_text == "signals: "
    assert "new (http)" not in await labels(editor, "tools.yaml", "tools:\n  |")


async def test_brackets_over_several_lines(editor: Editor):
    """Also where they are not closed; a line further left ends them."""
    crew = "agents: [desk,\n  |"
    assert {"desk", "closer"} <= set(await labels(editor, "crew.yaml", crew))
    signals = (
        'routing:\n  signals: {\n    desk: [\n      { signal: "[X, {Y}]",  # a note, [\n        |'
    )
    found = await labels(editor, "crew.yaml", signals)
    assert "target" in found
    assert "signal" not in found
    target = f"{signals}target: |"
    assert {"desk", "closer"} <= set(await labels(editor, "crew.yaml", target.replace("|", "", 1)))
    left = await labels(editor, "crew.yaml", "agents: [desk,\nsettings:\n  |")
    assert "max_rounds" in left
    prompt = await labels(editor, "crew.yaml", "description: see [1\nsettings:\n  |")
    assert "max_rounds" in prompt, "this bracket is part of a text"


async def test_signals_in_a_prompt(editor: Editor):
    """Those that the agent may say; a bracket that the editor has closed is there once."""
    desk, own = editor.text("agents/desk.yaml").replace("🎉", "So"), "[KẾT THÚC]"
    text = desk.replace("[KẾT THÚC]", "[K|")
    (item,) = [one for one in await offered(editor, "agents/desk.yaml", text) if one.label == own]
    assert isinstance(item.text_edit, lsp.TextEdit)
    edit = item.text_edit
    assert (edit.new_text, edit.range.end.character - edit.range.start.character) == (own, 2)
    closed = await offered(editor, "agents/desk.yaml", desk.replace("[KẾT THÚC]", "[|]"))
    (item,) = [one for one in closed if one.label == own]
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert item.text_edit.new_text == "[KẾT THÚC"
    closer = editor.text("agents/closer.yaml") + "description: ends [|"
    assert own not in await labels(editor, "agents/closer.yaml", closer)
    script = "rules:\n  - agent: desk\n    say: bye [|"
    assert own in await labels(editor, "script.yaml", script)


def line_of(address: str) -> str:
    """The line of a file that an address leads to."""
    path, _, line = address.removeprefix("file://").partition("#L")
    return Path(path).read_text().splitlines()[int(line) - 1]


async def test_problems_have_related_places_and_an_explanation(editor: Editor):
    text = editor.text("crew.yaml")
    editor.open("crew.yaml", f"name: first\n{text}name: second\n")
    found = await editor.until("crew.yaml", "duplicate-key", "duplicate-key")
    problem = max(found, key=lambda one: one.range.start.line)
    assert problem.related_information is not None
    (related,) = problem.related_information
    assert related.location.range.start == lsp.Position(0, 0)
    assert related.location.uri == editor.uri("crew.yaml")
    assert problem.code_description is not None
    assert line_of(problem.code_description.href) == "duplicate-key:"


async def test_an_agent_in_two_files_names_the_other_one(editor: Editor):
    editor.open(
        "agents/desk.yaml", editor.text("agents/desk.yaml").replace("id: desk", "id: closer")
    )
    (problem,) = await editor.until("desk.yaml", "agent-twice")
    assert problem.related_information is not None
    assert problem.related_information[0].location.uri == editor.uri("agents/closer.yaml")


async def defined(editor: Editor, name: str, word: str) -> list[tuple[str, int]]:
    """The places that a word leads to: name of the file, and line from 0."""
    found = await editor.text_document_definition_async(
        lsp.DefinitionParams(*editor.at(name, word))
    )
    assert isinstance(found, list)
    locations = [one for one in found if isinstance(one, lsp.Location)]
    return [(one.uri.rpartition("/")[2], one.range.start.line) for one in locations]


async def test_files_and_functions_that_a_value_names(editor: Editor, tmp_path: Path):
    """None is run; what a link leads to outside of the folder is not looked at."""
    folder = editor.folder
    (folder / "trap.py").write_text("x = 1\n\ndef spring():\n    open('sprung', 'w')\n")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "look.sh").write_text("ls\n")
    (tmp_path / "secret.txt").write_text("no")
    (folder / "leads_out.txt").symlink_to(tmp_path / "secret.txt")
    written = """tools:
  trap: { kind: python, function: "trap.py:spring", description: Springs. }
  std: { kind: python, function: "json.decoder:JSONDecoder", description: Reads. }
  look: { kind: command, argv: [scripts/look.sh, leads_out.txt, nothing.txt], description: Looks. }
"""
    (folder / "tools.yaml").write_text(written)
    editor.open("tools.yaml")
    assert await defined(editor, "tools.yaml", "trap.py") == [("trap.py", 2)]
    ((file, line),) = await defined(editor, "tools.yaml", "json.decoder")
    assert file == "decoder.py"
    assert line > 0
    assert await defined(editor, "tools.yaml", "scripts/") == [("look.sh", 0)]
    assert await defined(editor, "tools.yaml", "leads_out") == []
    assert await defined(editor, "tools.yaml", "nothing.txt") == []
