"""The language server: the protocol around `features`."""

import asyncio
import importlib.metadata
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from crew.config.problems import Problem
from server.authoring import features
from server.authoring.features import Action, Offer, TextEdit
from server.authoring.folders import CrewView, crew_folder, view_crew
from server.authoring.names import Named
from server.authoring.places import QUOTES
from server.authoring.renaming import RenameRefused, rename
from server.authoring.shapes import file_kind

log = logging.getLogger(__name__)

# after the last key, before the files are checked
QUIET_SECONDS = 0.05
SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
}
OFFERS = {
    "key": lsp.CompletionItemKind.Property,
    "value": lsp.CompletionItemKind.EnumMember,
    "name": lsp.CompletionItemKind.Reference,
}
SYMBOLS = {
    "agent": lsp.SymbolKind.Class,
    "group": lsp.SymbolKind.Module,
    "signal": lsp.SymbolKind.Event,
    "tool": lsp.SymbolKind.Function,
    "provider": lsp.SymbolKind.Interface,
    "model": lsp.SymbolKind.Constant,
}


class CrewLanguageServer(LanguageServer):
    """Serves one editor, for any number of crews."""

    def __init__(self) -> None:
        super().__init__("crew", importlib.metadata.version("crewline"))
        # of each folder, the files with problems that the editor shows
        self.shown: dict[Path, set[str]] = {}
        self._waiting: dict[Path, asyncio.Task[None]] = {}

    def place_of(self, uri: str) -> tuple[Path, str] | None:
        """Return the crew's folder, and the file's name in it; None: it is of no crew."""
        path = Path(to_fs_path(uri) or "")
        folder = crew_folder(path)
        if folder is None:
            return None
        name = path.relative_to(folder).as_posix()
        return (folder, name) if file_kind(name) is not None else None

    def view(self, folder: Path) -> CrewView:
        """Check a crew with the texts that the editor has open."""
        unsaved = {}
        for uri, document in self.workspace.text_documents.items():
            found = self.place_of(uri)
            if found is not None and found[0] == folder:
                unsaved[found[1]] = document.source
        return view_crew(folder, unsaved)

    def check_soon(self, uri: str) -> None:
        """Check the crew of a file once the editor is quiet."""
        if (found := self.place_of(uri)) is None:
            return
        folder = found[0]
        if (task := self._waiting.get(folder)) is not None:
            task.cancel()
        self._waiting[folder] = asyncio.ensure_future(self._check(folder))

    async def _check(self, folder: Path) -> None:
        await asyncio.sleep(QUIET_SECONDS)
        try:
            view = self.view(folder)
        except Exception:
            # a mistake of ours must not end the editor's session
            log.exception("the files of %s could not be checked", folder)
            return
        by_file: dict[str, list[Problem]] = {}
        for problem in view.problems:
            by_file.setdefault(problem.file, []).append(problem)
        gone = self.shown.get(folder, set()) - by_file.keys()
        for file in (*by_file, *gone):
            found = [self.diagnostic(view, one) for one in by_file.get(file, ())]
            uri = from_fs_path(str(folder / file)) or ""
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))
        self.shown[folder] = set(by_file)

    def diagnostic(self, view: CrewView, problem: Problem) -> lsp.Diagnostic:
        """Return a problem as the editor shows it."""
        lines = self.lines(view, problem.file)
        line = lines[problem.line - 1] if problem.line <= len(lines) else ""
        end = _end_of_word(line, problem.column)
        message = problem.message
        if problem.suggestion:
            message = f"{message}; did you mean {problem.suggestion!r}?"
        return lsp.Diagnostic(
            self.range(lines, problem.line, problem.column, end),
            message,
            SEVERITIES[problem.severity],
            problem.code,
            source="crew",
        )

    def lines(self, view: CrewView, file: str) -> list[str]:
        """Return the lines of a file, as the editor has it."""
        document = view.documents.get(file)
        text = document.text if document is not None else ""
        if not text and file in view.sources.files:
            text = view.sources.files[file].decode("utf-8-sig", errors="replace")
        return text.splitlines() or [""]

    def range(self, lines: Sequence[str], line: int, column: int, end: int) -> lsp.Range:
        """Return a part of a line in the editor's units."""
        codec = self.workspace.position_codec
        start = lsp.Position(max(0, line - 1), max(0, column - 1))
        stop = lsp.Position(max(0, line - 1), max(0, end - 1))
        return codec.range_to_client_units(list(lines), lsp.Range(start, stop))

    def position(self, lines: Sequence[str], given: lsp.Position) -> tuple[int, int]:
        """Return a place of the editor as line and column, from 1."""
        found = self.workspace.position_codec.position_from_client_units(list(lines), given)
        return found.line + 1, found.character + 1

    def location(self, view: CrewView, one: Named) -> lsp.Location:
        """Return where a name stands."""
        where = self.range(self.lines(view, one.file), one.line, one.column, one.end)
        return lsp.Location(from_fs_path(str(view.folder / one.file)) or "", where)

    def changes(
        self,
        view: CrewView,
        edits: Sequence[TextEdit],
        files: dict[str, str] | None = None,
        moved: tuple[str, str] | None = None,
    ) -> lsp.WorkspaceEdit:
        """Return changes of files as one edit of the editor."""
        by_file: dict[str, list[Any]] = {}
        for one in edits:
            where = self.range(self.lines(view, one.file), one.line, one.column, one.end)
            by_file.setdefault(one.file, []).append(lsp.TextEdit(where, one.text))
        found: list[Any] = []
        for file, made in by_file.items():
            found.append(self._document_edit(view, file, made))
        for file, text in (files or {}).items():
            uri = from_fs_path(str(view.folder / file)) or ""
            if file not in view.sources.files:
                found.append(lsp.CreateFile(uri, options=lsp.CreateFileOptions(False, True)))
                whole = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            else:
                lines = self.lines(view, file)
                whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(lines) + 1, 0))
            found.append(self._document_edit(view, file, [lsp.TextEdit(whole, text)]))
        if moved is not None:
            old, new = (from_fs_path(str(view.folder / one)) or "" for one in moved)
            found.append(lsp.RenameFile(old, new))
        return lsp.WorkspaceEdit(document_changes=found)

    def _document_edit(self, view: CrewView, file: str, edits: list[Any]) -> lsp.TextDocumentEdit:
        uri = from_fs_path(str(view.folder / file)) or ""
        return lsp.TextDocumentEdit(
            lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=None), edits
        )


def _end_of_word(line: str, column: int) -> int:
    """Return the column behind the word that begins at a column."""
    rest = line[column - 1 :]
    if rest[:1] in ("'", '"'):
        close = rest.find(rest[0], 1)
        return column + close + 1 if close > 0 else column + len(rest)
    word = len(rest) - len(rest.lstrip("".join(set(rest) - set(" \t,:}]#"))))
    return column + max(1, word)


async def _opened(ls: CrewLanguageServer, given: lsp.DidOpenTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)


async def _changed(ls: CrewLanguageServer, given: lsp.DidChangeTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)


async def _saved(ls: CrewLanguageServer, given: lsp.DidSaveTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)


async def _closed(ls: CrewLanguageServer, given: lsp.DidCloseTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)


async def _watched(ls: CrewLanguageServer, given: lsp.DidChangeWatchedFilesParams) -> None:
    for one in given.changes:
        ls.check_soon(one.uri)


def _opened_at(
    ls: CrewLanguageServer, uri: str, position: lsp.Position
) -> tuple[CrewView, str, int, int] | None:
    found = ls.place_of(uri)
    if found is None:
        return None
    folder, file = found
    view = ls.view(folder)
    line, column = ls.position(ls.lines(view, file), position)
    return view, file, line, column


def _hover(ls: CrewLanguageServer, given: lsp.HoverParams) -> lsp.Hover | None:
    at = _opened_at(ls, given.text_document.uri, given.position)
    text = features.hover(*at) if at is not None else ""
    if not text:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))


def _complete(ls: CrewLanguageServer, given: lsp.CompletionParams) -> lsp.CompletionList:
    found = ls.place_of(given.text_document.uri)
    items: list[lsp.CompletionItem] = []
    if found is not None:
        folder, file = found
        document = ls.workspace.get_text_document(given.text_document.uri)
        lines = document.source.split("\n")
        line, column = ls.position(lines, given.position)
        view = ls.view(folder)
        made = features.offers(view, file, document.source, line, column)
        items = []
        for one in {one.label: one for one in made}.values():
            bare = one.written[1:] if one.written[:1] in QUOTES else one.written
            written = ls.range(lines, line, column - len(bare), column)
            # a quote that is there already is neither replaced nor written again
            insert = one.insert if bare == one.written else one.label
            items.append(_item(one, lsp.TextEdit(written, insert)))
    return lsp.CompletionList(False, items)


def _define(ls: CrewLanguageServer, given: lsp.DefinitionParams) -> list[lsp.Location]:
    at = _opened_at(ls, given.text_document.uri, given.position)
    named = features.name_at(*at) if at is not None else None
    if at is None or named is None:
        return []
    return [ls.location(at[0], one) for one in features.definitions(at[0], named)]


def _refer(ls: CrewLanguageServer, given: lsp.ReferenceParams) -> list[lsp.Location]:
    at = _opened_at(ls, given.text_document.uri, given.position)
    named = features.name_at(*at) if at is not None else None
    if at is None or named is None:
        return []
    found = features.references(at[0], named)
    if not given.context.include_declaration:
        found = [one for one in found if not one.is_made]
    return [ls.location(at[0], one) for one in found]


def _outline(
    ls: CrewLanguageServer, given: lsp.DocumentSymbolParams
) -> list[lsp.SymbolInformation]:
    found = ls.place_of(given.text_document.uri)
    if found is None:
        return []
    view = ls.view(found[0])
    return [
        lsp.SymbolInformation(ls.location(view, one), one.name, SYMBOLS[one.kind])
        for one in features.symbols(view)
        if one.file == found[1]
    ]


def _act(ls: CrewLanguageServer, given: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    found = ls.place_of(given.text_document.uri)
    if found is None:
        return []
    view = ls.view(found[0])
    first, last = given.range.start.line + 1, given.range.end.line + 1
    return [_action(ls, view, one) for one in features.actions(view, found[1], first, last)]


def _give_name(ls: CrewLanguageServer, given: lsp.RenameParams) -> lsp.WorkspaceEdit:
    at = _opened_at(ls, given.text_document.uri, given.position)
    named = features.name_at(*at) if at is not None else None
    if at is None or named is None:
        raise JsonRpcInvalidParams("there is no name here that can be another one")
    try:
        made = rename(at[0], named, given.new_name)
    except RenameRefused as error:
        raise JsonRpcInvalidParams(str(error)) from None
    return ls.changes(at[0], made.edits, None, made.moved)


def _item(one: Offer, edit: lsp.TextEdit) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=one.label,
        text_edit=edit,
        filter_text=one.label,
        kind=OFFERS[one.kind],
        detail=one.detail or None,
        documentation=one.documentation or None,
    )


def _action(ls: CrewLanguageServer, view: CrewView, one: Action) -> lsp.CodeAction:
    files = dict(one.files) if one.files is not None else None
    return lsp.CodeAction(
        title=one.title,
        kind=lsp.CodeActionKind.QuickFix if one.files is None else lsp.CodeActionKind.Source,
        diagnostics=[ls.diagnostic(view, one.problem)] if one.problem is not None else None,
        edit=ls.changes(view, one.edits, files),
    )


FEATURES: tuple[tuple[str, Any, Any], ...] = (
    (lsp.TEXT_DOCUMENT_DID_OPEN, _opened, None),
    (lsp.TEXT_DOCUMENT_DID_CHANGE, _changed, None),
    (lsp.TEXT_DOCUMENT_DID_SAVE, _saved, None),
    (lsp.TEXT_DOCUMENT_DID_CLOSE, _closed, None),
    (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, _watched, None),
    (lsp.TEXT_DOCUMENT_HOVER, _hover, None),
    (
        lsp.TEXT_DOCUMENT_COMPLETION,
        _complete,
        lsp.CompletionOptions(trigger_characters=[":", " ", "[", '"', "-"]),
    ),
    (lsp.TEXT_DOCUMENT_DEFINITION, _define, None),
    (lsp.TEXT_DOCUMENT_REFERENCES, _refer, None),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _outline, None),
    (lsp.TEXT_DOCUMENT_CODE_ACTION, _act, None),
    (lsp.TEXT_DOCUMENT_RENAME, _give_name, None),
)


def make_server() -> CrewLanguageServer:
    """Make a language server; it starts with `start_io` or `start_tcp`."""
    server = CrewLanguageServer()
    for method, answer, options in FEATURES:
        server.feature(method, options)(answer)
    return server
