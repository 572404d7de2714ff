"""Documents of the crew's folder: kept in step with the files, by what they hold."""

import asyncio
import hashlib
import logging
from dataclasses import replace
from pathlib import Path

from crew.crew import Crew
from crew.documents.files import FilesRefused, FoundFile, find_files
from crew.documents.names import NameRefused, checked_name, new_document_id
from crew.documents.reading.kinds import UnknownKind, kind_of_file
from crew.documents.rules import CollectionRule
from crew.journal.records.conversations import CREW_OWNER
from crew.journal.records.remembered.documents import StoredDocument
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
    found = await asyncio.to_thread(_found, folder, rule)
    # first, so that there is room for what has another name now
    for name in known.keys() - {one.name for one in found}:
        await store.documents.delete(CREW_OWNER, rule.name, name)
    for file in found:
        content, digest = await asyncio.to_thread(_read, file, rule)
        same = known.get(file.name)
        if not content:
            await store.documents.delete(CREW_OWNER, rule.name, file.name)
        elif same is None or same.sha256 != digest or same.status == "failed":
            await _add(store, rule, file.name, content, digest)


async def _add(
    store: RunStore, rule: CollectionRule, name: str, content: bytes, digest: str
) -> None:
    now = store.now()
    at = rfc3339(now)
    try:
        kind = kind_of_file(content, name)
    except UnknownKind as error:
        log.warning("%s of %s %s", name, rule.name, error)
        return
    place = (CREW_OWNER, new_document_id(now), rule.name, name)
    document = StoredDocument(*place, digest, kind, len(content), at, "", changed_at=at)
    added = await store.documents.add(document, content, rule.limits)
    if added.op == "full":
        log.warning("%s of %s is not kept: max_files", name, rule.name)


def _found(folder: Path, rule: CollectionRule) -> list[FoundFile]:
    """Return the files of a collection, with names that may be kept."""
    found: list[FoundFile] = []
    try:
        for one in find_files(folder, rule.files):
            try:
                found.append(replace(one, name=checked_name(one.name)))
            except NameRefused as error:
                log.warning("%s of %s cannot be kept: %s", one.name, rule.name, error)
    except FilesRefused as error:
        log.warning("the files of %s cannot be found: %s", rule.name, error)
    return found


def _read(found: FoundFile, rule: CollectionRule) -> tuple[bytes, str]:
    """Return the bytes of a file and their digest; none where it cannot be kept."""
    try:
        with found.path.open("rb") as file:
            content = file.read(rule.max_bytes + 1)
    except OSError as error:
        log.warning("%s of %s cannot be read: %s", found.name, rule.name, error.strerror)
        return b"", ""
    if not content or len(content) > rule.max_bytes:
        log.warning("%s of %s is empty, or larger than max_file_mb", found.name, rule.name)
        return b"", ""
    return content, hashlib.sha256(content).hexdigest()
