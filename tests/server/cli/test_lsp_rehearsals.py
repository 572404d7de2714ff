"""`crew lsp` and rehearsals, variables of prompts, a crew that is gone."""

from lsprotocol import types as lsp

from tests.server.cli.test_lsp import editor, labels
from tests.support.lsp_editor import Editor

__all__ = ["editor"]

REHEARSED = """rehearsals:
  - name: ends
    query: hello
    expect: { path: [desk, { closer: "[KẾT THÚC]" }, end], calls: [{ tool: disk, times: 0 }] }
"""


async def test_rehearsals_are_checked_as_they_are_written(editor: Editor):
    """With what they name, hover and completion; a mistake is explained where it stands."""
    name = "tests/all.yaml"
    (editor.folder / "tests").mkdir()
    (editor.folder / name).write_text(REHEARSED)
    editor.open(name)
    editor.open("crew.yaml")
    hovered = await editor.text_document_hover_async(lsp.HoverParams(*editor.at(name, "closer")))
    assert hovered is not None
    assert "agent **closer**" in str(hovered.contents)
    wrong = REHEARSED.replace("[desk,", "[dask,").replace("tool: disk", "tool: dist")
    editor.change(name, wrong)
    problems = await editor.until("all.yaml", "unknown-agent", "unknown-tool")
    assert all("did you mean" in one.message for one in problems)
    place = editor.at(name, "dask", wrong)
    hovered = await editor.text_document_hover_async(lsp.HoverParams(*place))
    assert hovered is not None
    assert "`unknown-agent`: " in str(hovered.contents)
    editor.change(name, REHEARSED)
    await editor.until("all.yaml")


async def test_variables_providers_and_groups_are_offered(editor: Editor):
    desk = editor.text("agents/desk.yaml")
    at = desk.replace("🎉 Say [", "Say {{| [")
    assert {"name", "role", "today"} <= set(await labels(editor, "agents/desk.yaml", at))
    backup = await labels(editor, "agents/desk.yaml", desk + "backup: {provider: |")
    assert "anthropic" in backup
    provider = desk.replace("provider: scripted", "provider: |")
    found = set(await labels(editor, "agents/desk.yaml", provider))
    assert {"openai", "anthropic", "ollama", "scripted"} <= found
    group = "routing:\n  parallel_groups: { both: { agents: [desk, closer] } }\n"
    crew = f"agents: [desk, closer]\n{group}"
    assert "both" in await labels(editor, "crew.yaml", crew + "  defaults:\n    desk: |")


async def test_a_crew_that_is_gone_has_no_problems(editor: Editor):
    text = editor.text("crew.yaml").replace("target: closer", "target: close")
    (editor.folder / "crew.yaml").write_text(text)
    editor.open("crew.yaml")
    await editor.until("crew.yaml", "unknown-agent")
    (editor.folder / "crew.yaml").unlink()
    changed = lsp.FileEvent(editor.uri("crew.yaml"), lsp.FileChangeType.Deleted)
    editor.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([changed]))
    await editor.until("crew.yaml")
