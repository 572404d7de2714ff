"""What an editor may ask of the language server, and what it is answered by `features`."""

import logging
import re
from collections.abc import Mapping
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from server.authoring import features
from server.authoring.completion import Offer, offers
from server.authoring.features import Action
from server.authoring.files import file_at
from server.authoring.folders import CrewView
from server.authoring.places import QUOTES
from server.authoring.renaming import RenameRefused, rename
from server.client.targets import Target
from server.lsp.language_server import CrewLanguageServer

OFFERS = {
    "key": lsp.CompletionItemKind.Property,
    "value": lsp.CompletionItemKind.EnumMember,
    "name": lsp.CompletionItemKind.Reference,
    "shape": lsp.CompletionItemKind.Snippet,
}
# in a snippet they mean something
SPECIAL = re.compile(r"[\\$}]")
SYMBOLS = {
    "agent": lsp.SymbolKind.Class,
    "group": lsp.SymbolKind.Module,
    "signal": lsp.SymbolKind.Event,
    "tool": lsp.SymbolKind.Function,
    "provider": lsp.SymbolKind.Interface,
    "model": lsp.SymbolKind.Constant,
}


def _initialized(ls: CrewLanguageServer, given: lsp.InitializeParams) -> None:
    options = given.initialization_options
    ls.saved.is_allowed = isinstance(options, dict) and options.get("importTools") is True


async def _opened(ls: CrewLanguageServer, given: lsp.DidOpenTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)
    ls.look_at_saved(given.text_document.uri)


async def _changed(ls: CrewLanguageServer, given: lsp.DidChangeTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)


async def _saved(ls: CrewLanguageServer, given: lsp.DidSaveTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)
    ls.look_at_saved(given.text_document.uri)


async def _closed(ls: CrewLanguageServer, given: lsp.DidCloseTextDocumentParams) -> None:
    ls.check_soon(given.text_document.uri)


async def _watched(ls: CrewLanguageServer, given: lsp.DidChangeWatchedFilesParams) -> None:
    for one in given.changes:
        ls.check_soon(one.uri)
        ls.look_at_saved(one.uri)


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
    has_shapes = ls.takes_snippets
    if found is not None:
        folder, file = found
        document = ls.workspace.get_text_document(given.text_document.uri)
        lines = document.source.split("\n")
        line, column = ls.position(lines, given.position)
        view = ls.view(folder)
        made = offers(view, file, document.source, line, column)
        for one in {one.label: one for one in made}.values():
            bare = one.written[1:] if one.written[:1] in QUOTES else one.written
            written = ls.range(lines, line, column - len(bare), column)
            if has_shapes and one.shape:
                items.append(_shape_item(one, lsp.TextEdit(written, _snippet(one))))
            elif one.insert:
                # a quote that is there already is neither replaced nor written again
                insert = one.insert if bare == one.written else one.label
                items.append(_item(one, lsp.TextEdit(written, insert)))
    return lsp.CompletionList(False, items)


def _define(ls: CrewLanguageServer, given: lsp.DefinitionParams) -> list[lsp.Location]:
    at = _opened_at(ls, given.text_document.uri, given.position)
    if at is None:
        return []
    if (named := features.name_at(*at)) is not None:
        return [ls.location(at[0], one) for one in features.definitions(at[0], named)]
    if (place := file_at(*at)) is None:
        return []
    start = lsp.Position(place.line - 1, place.column - 1)
    return [lsp.Location(from_fs_path(str(place.path)) or "", lsp.Range(start, start))]


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


async def _lenses(ls: CrewLanguageServer, given: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Return what is said above each agent: how its rehearsals end, and its runs of today."""
    found = ls.place_of(given.text_document.uri)
    if found is None:
        return []
    view = ls.view(found[0])
    made = {one.name: one for one in features.symbols(view) if one.kind == "agent"}
    shown = [one for one in made.values() if one.file == found[1]]
    runs: Mapping[str, int] = {}
    crew = view.checked.files.crew
    if ls.served is not None and crew is not None and shown:
        runs = await ls.served.counts(crew.name, sorted(made))
    findings = ls.saved.findings(found[0])
    titles = [(one, findings.title(one.name)) for one in shown]
    titles += [(one, _count_text(runs[one.name])) for one in shown if one.name in runs]
    # a title without a command
    return [
        lsp.CodeLens(ls.location(view, one).range, lsp.Command(title, ""))
        for one, title in titles
        if title
    ]


def _count_text(runs: int) -> str:
    return f"{runs} run{'' if runs == 1 else 's'} today"


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


def _shape_item(one: Offer, edit: lsp.TextEdit) -> lsp.CompletionItem:
    item = _item(one, edit)
    item.insert_text_format = lsp.InsertTextFormat.Snippet
    item.insert_text_mode = lsp.InsertTextMode.AdjustIndentation
    return item


def _snippet(one: Offer) -> str:
    """Return a shape as an editor takes it: the places to fill in are numbered."""
    parts, last = [], 0
    for number, stop in enumerate(one.stops, 1):
        parts += [SPECIAL.sub(r"\\\g<0>", one.shape[last:stop]), f"${number}"]
        last = stop
    return "".join([*parts, SPECIAL.sub(r"\\\g<0>", one.shape[last:])])


def _action(ls: CrewLanguageServer, view: CrewView, one: Action) -> lsp.CodeAction:
    files = dict(one.files) if one.files is not None else None
    return lsp.CodeAction(
        title=one.title,
        kind=lsp.CodeActionKind.QuickFix if one.files is None else lsp.CodeActionKind.Source,
        diagnostics=[ls.diagnostic(view, one.problem)] if one.problem is not None else None,
        edit=ls.changes(view, one.edits, files),
    )


FEATURES: tuple[tuple[str, Any, Any], ...] = (
    (lsp.INITIALIZE, _initialized, None),
    (lsp.TEXT_DOCUMENT_DID_OPEN, _opened, None),
    (lsp.TEXT_DOCUMENT_DID_CHANGE, _changed, None),
    (lsp.TEXT_DOCUMENT_DID_SAVE, _saved, None),
    (lsp.TEXT_DOCUMENT_DID_CLOSE, _closed, None),
    (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, _watched, None),
    (lsp.TEXT_DOCUMENT_HOVER, _hover, None),
    (
        lsp.TEXT_DOCUMENT_COMPLETION,
        _complete,
        lsp.CompletionOptions(trigger_characters=[":", " ", "[", "{", '"', "-"]),
    ),
    (lsp.TEXT_DOCUMENT_DEFINITION, _define, None),
    (lsp.TEXT_DOCUMENT_REFERENCES, _refer, None),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _outline, None),
    (lsp.TEXT_DOCUMENT_CODE_LENS, _lenses, None),
    (lsp.TEXT_DOCUMENT_CODE_ACTION, _act, None),
    (lsp.TEXT_DOCUMENT_RENAME, _give_name, None),
)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, JsonRpcInvalidParams)


def make_server(target: Target | None = None) -> CrewLanguageServer:
    """Make a language server; it starts with `start_io` or `start_tcp`.

    `target`: the server with the runs of agents.
    """
    # what is refused is said to the editor, and is no mistake that needs a traceback
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_no_refusal)
    server = CrewLanguageServer(target)
    for method, answer, options in FEATURES:
        server.feature(method, options)(answer)
    return server
