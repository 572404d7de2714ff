"""What stands above an agent in an editor: its rehearsals, and its runs of today."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from lsprotocol import types as lsp

from tests.support.crews import write_crew
from tests.support.lsp_editor import SECONDS, Editor
from tests.support.processes import client, serving

ROUTING = {"signals": {"desk": [{"signal": "[OUT]", "target": "closer"}]}}
REHEARSALS = """
rehearsals:
- name: one word
  query: hello
  says: { desk: ["bye [OUT]"], closer: [closed] }
  expect: { path: [desk, closer, end] }
- name: no word
  query: hello
  says: { desk: [bye] }
  expect: { end: END }
"""


def crew(folder: Path) -> Path:
    """Two agents, a tool of a file, and two rehearsals; the second fails."""
    rules = [{"agent": "desk", "say": "bye [OUT]"}, {"agent": "closer", "say": "closed"}]
    tool = {"kind": "python", "function": "acts.py:act", "description": "Acts."}
    agents = {"desk": {"tools": ["act"]}, "closer": {"is_terminal": True}}
    written = write_crew(folder, agents, rules, {"act": tool}, routing=ROUTING)
    (written / "acts.py").write_text('def act() -> str:\n    """Act."""\n    return "done"\n')
    (written / "tests").mkdir()
    (written / "tests" / "desk.yaml").write_text(REHEARSALS.replace("END", "paused"))
    return written


@asynccontextmanager
async def opened(folder: Path, *options: str, **allowed: bool) -> AsyncIterator[Editor]:
    """An editor with the files of the crew's agents open, and what it allows."""
    editor = Editor(folder)
    await editor.begin(*options)
    refreshes = lsp.CodeLensWorkspaceClientCapabilities(refresh_support=True)
    capabilities = lsp.ClientCapabilities(
        workspace=lsp.WorkspaceClientCapabilities(code_lens=refreshes)
    )
    refreshed = lsp.WORKSPACE_CODE_LENS_REFRESH
    editor.feature(refreshed)(lambda *_: editor.news.set())
    given = lsp.InitializeParams(
        capabilities, None, root_uri=folder.as_uri(), initialization_options=allowed or None
    )
    await editor.initialize_async(given)
    editor.initialized(lsp.InitializedParams())
    for name in ("agents/desk.yaml", "agents/closer.yaml"):
        editor.open(name)
    yield editor
    await editor.end()


async def titles(editor: Editor, name: str) -> list[str]:
    """What stands above the agents of a file."""
    params = lsp.CodeLensParams(lsp.TextDocumentIdentifier(editor.uri(name)))
    found = await editor.text_document_code_lens_async(params)
    return [one.command.title for one in found or () if one.command is not None]


async def until_titles(editor: Editor, name: str, *expected: str) -> None:
    """Wait until these stand there."""
    with anyio.fail_after(SECONDS):
        while await titles(editor, name) != list(expected):
            editor.news = anyio.Event()
            with anyio.move_on_after(1):
                await editor.news.wait()


def save(editor: Editor, name: str, text: str) -> None:
    """Save a file, as another program does."""
    (editor.folder / name).write_text(text)
    change = lsp.FileEvent(editor.uri(name), lsp.FileChangeType.Changed)
    params = lsp.DidChangeWatchedFilesParams([change])
    editor.workspace_did_change_watched_files(params)


async def test_how_the_rehearsals_of_an_agent_end(tmp_path: Path):
    """After each save; problems of Python files are shown, too, as long as they are there."""
    async with opened(crew(tmp_path / "crew"), importTools=True) as editor:
        await until_titles(editor, "agents/desk.yaml", "1 of 2 rehearsals pass")
        await until_titles(editor, "agents/closer.yaml", "1 of 2 rehearsals pass")
        save(editor, "tests/desk.yaml", REHEARSALS.replace("END", "terminal"))
        await until_titles(editor, "agents/desk.yaml", "2 rehearsals pass")
        code = (editor.folder / "acts.py").read_text()
        (editor.folder / "acts.py").write_text("import nosuchmodule\n")
        save(editor, "crew.yaml", editor.text("crew.yaml") + "\n")
        (problem,) = await editor.until("tools.yaml", "tool-import")
        assert "nosuchmodule" in problem.message
        (editor.folder / "acts.py").write_text(code)
        save(editor, "crew.yaml", editor.text("crew.yaml") + "\n")
        await editor.until("tools.yaml")


async def test_an_editor_that_allows_nothing(tmp_path: Path):
    """No rehearsal is played: it may call a real tool."""
    folder = crew(tmp_path / "crew")
    (folder / "acts.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    async with opened(folder) as editor:
        text = editor.text("agents/desk.yaml")
        editor.change("agents/desk.yaml", text + "is_treminal: true\n")
        await editor.until("desk.yaml", "unknown-key")
        assert await titles(editor, "agents/desk.yaml") == []
    assert not (tmp_path / "sprung").exists()


async def test_runs_of_today(tmp_path: Path):
    """Of the crew that is served; those of another crew are not its own."""
    folder = crew(tmp_path / "crew")
    with serving(folder) as server:
        async with opened(folder, "--server", server.url) as editor:
            with client(server) as http:
                for _ in range(2):
                    assert http.post("/api/crew/run", json={"query": "x"}).status_code == 200
            assert await titles(editor, "agents/closer.yaml") == ["2 runs today"]
            assert await titles(editor, "agents/desk.yaml") == ["0 runs today"]
        other: dict[str, Any] = {"name": "other"}
        second = write_crew(tmp_path / "other", {"desk": {}, "closer": {}}, **other)
        async with opened(second, "--server", server.url) as editor:
            assert await titles(editor, "agents/desk.yaml") == []
            server.stop()
            assert await titles(editor, "agents/closer.yaml") == []
