"""The language server of one editor: its documents, and what is shown of crews."""

import asyncio
import importlib.metadata
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from crew.config.explanations import explained_at
from crew.config.problems import Problem, RelatedPlace
from server.authoring.features import TextEdit, end_of_word
from server.authoring.folders import CrewView, crew_folder, view_crew
from server.authoring.names import Named
from server.authoring.shapes import file_kind
from server.client.targets import Target
from server.lsp.saved import SavedFiles
from server.lsp.served import ServedRuns

log = logging.getLogger(__name__)

# after the last key, before the files are checked
QUIET_SECONDS = 0.05
SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
}


class CrewLanguageServer(LanguageServer):
    """Serves one editor, for any number of crews."""

    def __init__(self, target: Target | None = None) -> None:
        """`target`: the server with the runs of agents."""
        super().__init__("crew", importlib.metadata.version("crewline"))
        self.saved = SavedFiles(self._note_findings)
        self.served = None if target is None else ServedRuns(target)
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
        if (found := self.place_of(uri)) is not None:
            self._check_later(found[0])
            return
        path = Path(to_fs_path(uri) or "")
        for folder in [one for one in self.shown if path.is_relative_to(one)]:
            if crew_folder(path) != folder:
                # it has no crew.yaml any more
                if (task := self._waiting.pop(folder, None)) is not None:
                    task.cancel()
                self._publish(folder, {})

    def _check_later(self, folder: Path) -> None:
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
        by_file: dict[str, list[lsp.Diagnostic]] = {}
        for problem in (*view.problems, *self.saved.findings(folder).problems):
            by_file.setdefault(problem.file, []).append(self.diagnostic(view, problem))
        self._publish(folder, by_file)

    def _publish(self, folder: Path, by_file: Mapping[str, Sequence[lsp.Diagnostic]]) -> None:
        """Show what is wrong in the files of a folder, and nothing in those that were mended."""
        gone = self.shown.get(folder, set()) - by_file.keys()
        for file in (*by_file, *gone):
            found = list(by_file.get(file, ()))
            uri = from_fs_path(str(folder / file)) or ""
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))
        self.shown[folder] = set(by_file)

    def look_at_saved(self, uri: str) -> None:
        """Look at the saved files of the crew of a file."""
        if (found := self.place_of(uri)) is not None:
            self.saved.look(found[0])

    @property
    def takes_snippets(self) -> bool:
        """Whether the editor takes texts with places to fill in."""
        document = self.client_capabilities.text_document
        completion = document.completion if document is not None else None
        item = completion.completion_item if completion is not None else None
        return bool(item is not None and item.snippet_support)

    def _note_findings(self, folder: Path) -> None:
        """Show what was found in saved files."""
        self._check_later(folder)
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.code_lens and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def diagnostic(self, view: CrewView, problem: Problem) -> lsp.Diagnostic:
        """Return a problem as the editor shows it."""
        lines = self.lines(view, problem.file)
        line = lines[problem.line - 1] if problem.line <= len(lines) else ""
        end = end_of_word(line, problem.column)
        message = problem.message
        if problem.suggestion:
            message = f"{message}; did you mean {problem.suggestion!r}?"
        address = explained_at(problem.code)
        return lsp.Diagnostic(
            self.range(lines, problem.line, problem.column, end),
            message,
            SEVERITIES[problem.severity],
            problem.code,
            code_description=lsp.CodeDescription(address) if address else None,
            source="crew",
            related_information=[self._related(view, one) for one in problem.related] or None,
        )

    def _related(self, view: CrewView, place: RelatedPlace) -> lsp.DiagnosticRelatedInformation:
        lines = self.lines(view, place.file)
        line = lines[place.line - 1] if place.line <= len(lines) else ""
        where = self.range(lines, place.line, place.column, end_of_word(line, place.column))
        uri = from_fs_path(str(view.folder / place.file)) or ""
        return lsp.DiagnosticRelatedInformation(lsp.Location(uri, where), place.text)

    def lines(self, view: CrewView, file: str) -> list[str]:
        """Return the lines of a file, as the editor has it."""
        document = view.document(file)
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
