"""Documents of the crew's folder: kept in step with the files, by what they hold."""

import asyncio
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

from crew.crew import Crew
from crew.documents.files import FilesRefused, find_files
from crew.documents.names import NameRefused, checked_name, new_document_id
from crew.documents.reading.kinds import UnknownKind, kind_of_file
from crew.documents.rules import CollectionRule
from crew.journal.records.conversations import CREW_OWNER
from crew.journal.records.documents import StoredDocument
from crew.journal.store import RunStore
from tools.clock import rfc3339

log = logging.getLogger(__name__)

MAX_LISTED = 20_000


async def sync_folder(store: RunStore, crew: Crew) -> None:
    """Add what is new or has changed, and delete what is gone; raises StoreError.

    Other processes may do the same at the same time.
    """
    for rule in crew.documents.collections.values():
        if rule.files:
            await _sync_collection(store, crew.sources.folder, rule)


async def _sync_collection(store: RunStore, folder: Path, rule: CollectionRule) -> None:
    listed = await store.documents.listed([(rule.name, CREW_OWNER)], MAX_LISTED)
    known: dict[str, StoredDocument] = {}
    for one in listed:
        # newest first
        known.setdefault(one.name, one)
    names: set[str] = set()
    files = _files(folder, rule)
    while (found := await asyncio.to_thread(next, files, None)) is not None:
        name, content = found
        names.add(name)
        digest = hashlib.sha256(content).hexdigest()
        same = known.get(name)
        if same is not None and same.sha256 == digest and same.status != "failed":
            continue
        now = store.now()
        at = rfc3339(now)
        try:
            kind = kind_of_file(content, name)
        except UnknownKind as error:
            log.warning("%s of %s %s", name, rule.name, error)
            continue
        place = (CREW_OWNER, new_document_id(now), rule.name, name)
        document = StoredDocument(*place, digest, kind, len(content), at, "", changed_at=at)
        added = await store.documents.add(document, content, rule.limits)
        if added.op == "full":
            log.warning("%s of %s is not kept: max_files", name, rule.name)
    for name in known.keys() - names:
        await store.documents.delete(CREW_OWNER, rule.name, name)


def _files(folder: Path, rule: CollectionRule) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the bytes of a collection's files, as far as they can be read."""
    try:
        found = find_files(folder, rule.files)
    except FilesRefused as error:
        log.warning("the files of %s cannot be found: %s", rule.name, error)
        return
    for one in found:
        try:
            name = checked_name(one.name)
            with one.path.open("rb") as file:
                content = file.read(rule.max_bytes + 1)
        except (OSError, NameRefused) as error:
            log.warning("%s of %s cannot be read: %s", one.name, rule.name, error)
            continue
        if not content or len(content) > rule.max_bytes:
            log.warning("%s of %s is empty, or larger than max_file_mb", name, rule.name)
            continue
        yield name, content
