"""`crew lsp`, as an editor sees it: pygls's own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from crew.crew import check
from tests.support.crews import write_crew
from tests.support.lsp_editor import Editor

CREW: dict[str, Any] = {
    "routing": {
        "signals": {"desk": [{"signal": "[KẾT THÚC]", "target": "closer"}]},
        "agent_behaviors": {"desk": {"wait_for_signal": True}},
    },
    "entry_point": "desk",
}
AGENTS = {
    "desk": {"system_prompt": "🎉 Say [KẾT THÚC] at the end.", "tools": ["disk"]},
    "closer": {"is_terminal": True},
}
TOOLS = {
    "disk": {"kind": "command", "argv": ["df"], "description": "What is free."},
    "trap": {"kind": "python", "function": "trap.py:spring", "description": "Springs."},
}
RULES = [{"agent": "desk", "say": "bye [KẾT THÚC]"}, {"agent": "closer", "say": "closed"}]


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    async with editing(tmp_path, lsp.ClientCapabilities()) as started:
        yield started


@asynccontextmanager
async def editing(tmp_path: Path, capabilities: lsp.ClientCapabilities) -> AsyncIterator[Editor]:
    """An editor that has a crew open, and can do certain things."""
    folder = write_crew(tmp_path / "crew", AGENTS, RULES, TOOLS, **CREW)
    (folder / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    editor = Editor(folder)
    await editor.begin()
    await editor.initialize_async(
        lsp.InitializeParams(capabilities, process_id=None, root_uri=folder.as_uri())
    )
    editor.initialized(lsp.InitializedParams())
    yield editor
    await editor.end()
    assert not (tmp_path / "sprung").exists(), "nothing of the folder is run"


async def test_problems_come_and_go(editor: Editor):
    """Also in files that are not open, and with unfinished YAML."""
    text = editor.text("crew.yaml")
    editor.open("crew.yaml", text.replace("target: closer", "target: close"))
    (problem,) = await editor.until("crew.yaml", "unknown-agent")
    assert "did you mean 'closer'?" in problem.message
    line = text[: text.index("target: closer")].count("\n")
    assert (problem.range.start.line, problem.severity) == (line, lsp.DiagnosticSeverity.Error)
    editor.change("crew.yaml", text + "settings: { max_rounds: 0 ")
    assert (await editor.until("crew.yaml", "syntax"))[0].code == "syntax"
    editor.change("crew.yaml", text.replace("- closer\n", "- closer\n- ghost\n"))
    await editor.until("crew.yaml", "missing-agent")
    editor.change("crew.yaml", text)
    await editor.until("crew.yaml")
    editor.open("agents/desk.yaml", editor.text("agents/desk.yaml") + "is_treminal: true\n")
    found = await editor.until("desk.yaml", "unknown-key")
    assert found[0].range.end.character == len("is_treminal")


async def test_what_a_word_means(editor: Editor):
    for name in ("crew.yaml", "agents/desk.yaml"):
        editor.open(name)

    async def hover(name: str, word: str) -> str:
        document, position = editor.at(name, word)
        found = await editor.text_document_hover_async(lsp.HoverParams(document, position))
        if found is None:
            return ""
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    assert "desk → closer" in await hover("crew.yaml", "KẾT")
    assert "agent **closer**: Closer, closer" in await hover("crew.yaml", "closer")
    key = await hover("crew.yaml", "wait_for_signal")
    assert key.startswith("**wait_for_signal**")
    assert "boolean" in key
    # behind an emoji, which is two units of UTF-16
    assert "signal `[KẾT THÚC]`" in await hover("agents/desk.yaml", "[KẾT")
    assert "tool **disk** (command): What is free." in await hover("agents/desk.yaml", "disk")
    prompt = "id: desk\nname: Dana\nrole: front\nsystem_prompt: You are {{name}} at {{organization}}, {{today}}, {{mood}}.\n"
    (editor.folder / "agents" / "desk.yaml").write_text(prompt)
    editor.change("agents/desk.yaml", prompt)
    assert "`{{name}}`: Dana" in await hover("agents/desk.yaml", "{name")
    assert "no key `organization` is given" in await hover("agents/desk.yaml", "{organ")
    assert "the date of the run" in await hover("agents/desk.yaml", "{today")
    assert "stays as written" in await hover("agents/desk.yaml", "{mood")


async def offered(editor: Editor, name: str, text: str) -> list[lsp.CompletionItem]:
    """What is offered at the mark `|`."""
    document = lsp.TextDocumentIdentifier(editor.uri(name))
    before = text[: text.index("|")]
    whole = text.replace("|", "", 1)
    editor.open(name, whole)
    position = lsp.Position(before.count("\n"), len(before.rpartition("\n")[2]))
    found = await editor.text_document_completion_async(lsp.CompletionParams(document, position))
    assert isinstance(found, lsp.CompletionList)
    return list(found.items)


async def labels(editor: Editor, name: str, text: str) -> list[str]:
    return [one.label for one in await offered(editor, name, text)]


async def test_what_may_be_written(editor: Editor):
    """In block and in flow style, before the file is finished."""
    crew = editor.text("crew.yaml")
    at_top = await labels(editor, "crew.yaml", crew + "|")
    assert {"settings", "tools", "providers"} <= set(at_top)
    assert not {"routing", "agents", "name"} & set(at_top), "they are there"
    in_settings = await labels(editor, "crew.yaml", crew + "settings:\n  max_rounds: 5\n  |")
    assert "timeout_seconds" in in_settings
    assert "max_rounds" not in in_settings
    target = crew.replace("target: closer", "target: |")
    assert {"desk", "closer"} <= set(await labels(editor, "crew.yaml", target))
    flow = 'agents: [desk]\nrouting:\n  signals:\n    desk: [{ signal: "[X]", |'
    assert {"target", "description"} <= set(await labels(editor, "crew.yaml", flow))
    assert "signal" not in await labels(editor, "crew.yaml", flow)
    desk = editor.text("agents/desk.yaml")
    assert "disk" in await labels(editor, "agents/desk.yaml", desk.replace("- disk", "- |"))
    flag = await labels(editor, "agents/desk.yaml", desk + "is_terminal: |")
    assert flag == ["true", "false"]
    kinds = await labels(editor, "tools.yaml", "tools:\n  t:\n    kind: |")
    assert {"http", "command", "mcp", "python"} <= set(kinds)


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("|", '- signal: "[KẾT THÚC]"'),
        ("KẾ|", '- signal: "[KẾT THÚC]"'),
        ('"|"', '- signal: "[KẾT THÚC]"'),
        ('"[KẾ|"', '- signal: "[KẾT THÚC]"'),
        ("'[KẾ|'", "- signal: '[KẾT THÚC]'"),
    ],
)
async def test_what_is_written_is_completed(editor: Editor, written: str, becomes: str):
    """A quote is there once."""
    text = editor.text("crew.yaml")
    marked = f"    - signal: {written}"
    text = text.replace("  signals:\n", f"  signals:\n    closer:\n{marked}\n", 1)
    items = await offered(editor, "crew.yaml", text)
    (edit,) = [one.text_edit for one in items if one.label == "[KẾT THÚC]"]
    assert isinstance(edit, lsp.TextEdit)
    before = marked.replace("|", "", 1)
    first, last = edit.range.start.character, edit.range.end.character
    assert (before[:first] + edit.new_text + before[last:]).strip() == becomes


async def test_where_a_name_is(editor: Editor):
    document, position = editor.at("crew.yaml", "target: closer".partition(" ")[2])
    editor.open("crew.yaml")
    made = await editor.text_document_definition_async(lsp.DefinitionParams(document, position))
    assert isinstance(made, list)
    assert [str(one.uri).rpartition("/")[2] for one in made] == ["closer.yaml"]
    context = lsp.ReferenceContext(include_declaration=True)
    document, position = editor.at("crew.yaml", "KẾT")
    used = await editor.text_document_references_async(
        lsp.ReferenceParams(context, document, position)
    )
    assert used is not None
    names = sorted(one.uri.rpartition("/")[2] for one in used)
    assert names == ["crew.yaml", "desk.yaml", "script.yaml"]
    outline = await editor.text_document_document_symbol_async(
        lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(editor.uri("tools.yaml")))
    )
    assert outline is not None
    assert [one.name for one in outline] == ["disk", "trap"]


def applied(editor: Editor, edit: lsp.WorkspaceEdit) -> None:
    """Write an edit to the files, as an editor does."""
    for one in edit.document_changes or ():
        if isinstance(one, lsp.RenameFile):
            old, new = (Path(uri.removeprefix("file://")) for uri in (one.old_uri, one.new_uri))
            old.rename(new)
        elif isinstance(one, lsp.CreateFile):
            Path(one.uri.removeprefix("file://")).touch()
        elif isinstance(one, lsp.TextDocumentEdit):
            path = Path(one.text_document.uri.removeprefix("file://"))
            lines = path.read_text().splitlines(keepends=True) or [""]
            changes = [edit for edit in one.edits if isinstance(edit, lsp.TextEdit)]
            for change in sorted(changes, key=lambda c: c.range.start.character, reverse=True):
                first, last = change.range.start, change.range.end
                if last.line > first.line:
                    lines = [change.new_text]
                    continue
                units = lines[first.line].encode("utf-16-le")
                before, behind = units[: 2 * first.character], units[2 * last.character :]
                whole = before + change.new_text.encode("utf-16-le") + behind
                lines[first.line] = whole.decode("utf-16-le")
            path.write_text("".join(lines))


async def test_a_name_becomes_another_one(editor: Editor):
    """In all files at once; comments and quotes stay."""
    path = editor.folder / "crew.yaml"
    path.write_text(path.read_text() + "# the end\n")
    for name in ("crew.yaml", "agents/desk.yaml", "script.yaml"):
        editor.open(name)

    async def rename(name: str, word: str, new: str) -> lsp.WorkspaceEdit:
        document, position = editor.at(name, word)
        params = lsp.RenameParams(document, position, new)
        found = await editor.text_document_rename_async(params)
        assert found is not None
        return found

    applied(editor, await rename("crew.yaml", "KẾT", "[OVER]"))
    texts = [editor.text(one) for one in ("crew.yaml", "agents/desk.yaml", "script.yaml")]
    assert all("[OVER]" in text and "KẾT" not in text for text in texts)
    assert texts[0].endswith("# the end\n")
    assert "🎉 Say [OVER] at the end." in texts[1]
    for name, text in zip(("crew.yaml", "agents/desk.yaml", "script.yaml"), texts, strict=True):
        editor.change(name, text)
    applied(editor, await rename("crew.yaml", "desk", "front"))
    assert (editor.folder / "agents" / "front.yaml").exists()
    assert not (editor.folder / "agents" / "desk.yaml").exists()
    problems = check(editor.folder, imports=False).problems
    assert [one.code for one in problems if one.severity == "error"] == []


@pytest.mark.parametrize(
    ("word", "new"),
    [
        *(("desk", "closer"), ("desk", "a b"), ("KẾT", "plain"), ("KẾT", "[a\nb]"), ("name", "x")),
        *(("KẾT", "[]"), ("KẾT", "[A]B]"), ("KẾT", "[\u202eX]"), ("desk", "null")),
    ],
)
async def test_what_is_not_renamed(editor: Editor, word: str, new: str):
    editor.open("crew.yaml")
    document, position = editor.at("crew.yaml", word)
    with pytest.raises(
        Exception, match=r"there already|no id|brackets|no signal|no name here|says:"
    ):
        await editor.text_document_rename_async(lsp.RenameParams(document, position, new))


async def test_mistakes_are_mended(editor: Editor):
    text = editor.text("crew.yaml").replace("entry_point", "entry_pont")
    (editor.folder / "crew.yaml").write_text(text + "settings: { max_handofs: 5 }\n")
    editor.open("crew.yaml")
    found = await editor.until("crew.yaml", "unknown-key", "unknown-key")
    actions = await editor.text_document_code_action_async(
        lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(editor.uri("crew.yaml")),
            found[0].range,
            lsp.CodeActionContext(found),
        )
    )
    assert actions is not None
    by_title = {one.title: one for one in actions if isinstance(one, lsp.CodeAction)}
    assert "Write entry_point" in by_title or "Write max_handoffs" in by_title
    whole = by_title["Fix all that is certain, in all files"]
    assert whole.edit is not None
    applied(editor, whole.edit)
    fixed = editor.text("crew.yaml")
    assert "entry_point" in fixed
    assert "max_handoffs" in fixed


async def test_a_missing_agent_is_made(editor: Editor):
    text = editor.text("crew.yaml").replace("- closer\n", "- closer\n- ghost\n")
    (editor.folder / "crew.yaml").write_text(text)
    editor.open("crew.yaml")
    (problem,) = await editor.until("crew.yaml", "missing-agent")
    actions = await editor.text_document_code_action_async(
        lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(editor.uri("crew.yaml")),
            problem.range,
            lsp.CodeActionContext([problem]),
        )
    )
    assert actions is not None
    made = next(one for one in actions if one.title == "Create agents/ghost.yaml")
    assert isinstance(made, lsp.CodeAction)
    assert made.edit is not None
    applied(editor, made.edit)
    assert "id: ghost" in editor.text("agents/ghost.yaml")
