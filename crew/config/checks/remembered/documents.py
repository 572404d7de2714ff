"""Documents: collections that are not there or not used, files, and what reads them."""

import importlib.util
from collections.abc import Iterator

from crew.config.crew_files import CrewFiles
from crew.config.files.document import YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.keys.documents import CollectionConfig
from crew.config.problems import Problem
from crew.documents.files import FilesRefused, FoundFile, find_files
from crew.documents.images import IMAGES
from crew.documents.names import NameRefused, checked_name
from crew.documents.reading.kinds import OFFICE_KINDS, FileKind, UnknownKind, kind_of_file
from tools.builtin.documents import DOCUMENT_TOOL_NAMES
from tools.text.suggest import nearest

# of a pattern
WILD = frozenset("*?[")
DOCUMENTS: YamlPath = ("documents",)
# of the extra `documents`, by the kind that each reads
MODULES: dict[FileKind, str] = {
    "pdf": "pypdfium2",
    "docx": "docx",
    "xlsx": "openpyxl",
    "pptx": "pptx",
}
INSTALL = "pip install 'crewline[documents]'"


def check_documents(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield the problems of `documents`, and of what agents name of it."""
    yield from _check_agents(files, crew)
    document = files.crew_document
    used = {name for agent in files.agents.values() for name in agent.documents}
    all_read = len(files.agents) == len(files.agent_files)
    for name, config in crew.documents.items():
        path: YamlPath = (*DOCUMENTS, name)
        if name == IMAGES and crew.conversations is not None:
            text = f"{name} is the name of what people send with their words; choose another one"
            yield document.problem(path, "document-collection", text, key=True)
        if name not in used and all_read:
            text = f"{name} has no effect: no agent has it among its documents"
            yield document.problem(path, "ignored-key", text, key=True)
        if config.scope == "conversation" and crew.conversations is None:
            text = "scope: conversation has no effect: there are no conversations"
            yield document.problem((*path, "scope"), "ignored-key", text, key=True)
        elif config.owner_scope == "conversation" and crew.conversations is None:
            text = (
                "uploads belong to a conversation unless scope says otherwise, and there are no "
                "conversations: write scope: user or scope: crew, or describe conversations"
            )
            yield document.problem(path, "document-collection", text, key=True)
        yield from _check_accept(files, config, path)
        if config.files is not None:
            yield from _check_files(files, config, path)


def _check_agents(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    is_whole = files.is_whole(CREW_FILE, "documents")
    for agent_id, agent in files.agents.items():
        document = files.agent_files[agent_id]
        for place, name in enumerate(agent.documents):
            if name in agent.documents[:place]:
                text = f"documents has {name} twice; it can stand there once"
                yield document.problem(("documents", place), "document-collection", text)
            if name not in crew.documents and is_whole:
                near = nearest(name, crew.documents)
                text = f"there is no collection {name!r} in documents of crew.yaml"
                yield document.problem(
                    ("documents", place), "document-collection", text, suggestion=near
                )
        if agent.documents:
            continue
        for place, tool in enumerate(agent.tools):
            if tool in DOCUMENT_TOOL_NAMES:
                text = f"{tool} needs documents: name collections under documents of this agent"
                yield document.problem(("tools", place), "document-tool", text)


def _check_accept(files: CrewFiles, config: CollectionConfig, path: YamlPath) -> Iterator[Problem]:
    for place, kind in enumerate(config.accept):
        if kind in OFFICE_KINDS and importlib.util.find_spec(MODULES[kind]) is None:
            text = f"{kind} needs the extra `documents`: {INSTALL}"
            where = (*path, "accept", place)
            yield files.crew_document.problem(where, "document-extra", text)


def _check_files(files: CrewFiles, config: CollectionConfig, path: YamlPath) -> Iterator[Problem]:
    document, where = files.crew_document, (*path, "files")
    assert config.files is not None, "looked at by the caller"
    found: list[FoundFile] = []
    for place, pattern in enumerate(config.files):
        try:
            some = find_files(files.sources.folder, [pattern])
        except FilesRefused as error:
            yield document.problem((*where, place), "document-files", str(error))
            continue
        if not some and not WILD.isdisjoint(pattern):
            text = f"no file of the crew's folder is named by {pattern} now"
            yield document.problem((*where, place), "no-files", text)
        elif not some:
            text = f"there is no file {pattern} in the crew's folder that can be read"
            yield document.problem((*where, place), "document-files", text)
        found += some
    names = {one.name: one for one in found}
    if len(names) > config.max_files:
        text = f"these are {len(names)} files, and max_files is {config.max_files}"
        yield document.problem(where, "document-files", text, key=True)
        return
    for one in names.values():
        if (wrong := _wrong_with(one, config)) is not None:
            yield document.problem(where, "document-files", f"{one.name} {wrong}", key=True)


def _wrong_with(found: FoundFile, config: CollectionConfig) -> str | None:
    """Return why a file cannot be in the collection."""
    try:
        checked_name(found.name)
    except NameRefused as error:
        return f"cannot be kept: {error}"
    if found.size > config.max_file_mb * 1_000_000:
        return f"has {found.size / 1_000_000:.1f} MB, and max_file_mb is {config.max_file_mb:g}"
    try:
        kind = kind_of_file(found.path.read_bytes(), found.name)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except UnknownKind as error:
        return str(error)
    return None if kind in config.accept else f"is {kind}, which accept does not list"
