"""An editor that speaks to `crew lsp`: pygls's own client."""

import socket
from pathlib import Path
from typing import Any

import anyio
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from tests.support.forking import ForkedProcess
from tests.support.processes import clean_environment

SECONDS = 60.0


class Editor(LanguageClient):
    """An editor with one crew open."""

    def __init__(self, folder: Path) -> None:
        super().__init__("editor", "1")
        self.folder = folder
        self.problems: dict[str, list[lsp.Diagnostic]] = {}
        self.news = anyio.Event()

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(given: lsp.PublishDiagnosticsParams) -> None:
            self.problems[given.uri.rpartition("/")[2]] = list(given.diagnostics)
            self.news.set()

    async def begin(self, *options: str) -> None:
        """Start `crew lsp`; editors give it pipes, which one that is forked has as a socket."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            await self.start_tcp(*listener.getsockname())
            its, _ = listener.accept()
        self.process = self._forked(its, ["lsp", *options])

    def _forked(self, its: socket.socket, words: list[str]) -> ForkedProcess:
        files = its.makefile("r"), its.makefile("w"), (self.folder / "lsp.log").open("w")
        try:
            return ForkedProcess(words, Path.cwd(), clean_environment(), *files)
        finally:
            for one in (its, *files):
                one.close()

    async def end(self) -> None:
        """Close the editor; the process ends."""
        await self.shutdown_async(None)
        self.exit(None)
        assert await anyio.to_thread.run_sync(self.process.wait, SECONDS) == 0
        await self.stop()  # type: ignore[no-untyped-call]

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    def open(self, name: str, text: str | None = None) -> None:
        whole = self.text(name) if text is None else text
        item = lsp.TextDocumentItem(self.uri(name), "yaml", 1, whole)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(uri=self.uri(name), version=2),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def until(self, name: str, *codes: str) -> list[lsp.Diagnostic]:
        """Wait until a file has problems with these codes."""
        with anyio.fail_after(SECONDS):
            while sorted(str(one.code) for one in self.problems.get(name, [])) != sorted(codes):
                self.news = anyio.Event()
                await self.news.wait()
        return self.problems[name]

    def at(self, name: str, word: str, text: str | None = None) -> tuple[Any, lsp.Position]:
        """The place within a word of a file, in UTF-16."""
        lines = (self.text(name) if text is None else text).splitlines()
        for number, line in enumerate(lines):
            if word in line:
                before = line[: line.index(word) + 1]
                column = len(before.encode("utf-16-le")) // 2
                return lsp.TextDocumentIdentifier(self.uri(name)), lsp.Position(number, column)
        raise AssertionError(word)
