"""Chores of documents: each is read, described by a helper, and dropped when it is deleted."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, Field

from agents.context.blocks import as_data, cut_to
from agents.helper import Helper
from crew.documents.reading.reader import SECONDS, read_file
from crew.documents.reading.results import ReadPiece, ReadText
from crew.documents.rules import CollectionRule
from crew.journal.errors import StoreError
from crew.journal.records.conversations import Chore
from crew.journal.records.remembered.core import user_behind
from crew.journal.records.remembered.documents import WAITING, Passage, StoredDocument
from crew.runs.chores.helpers import emit_of, meter_of
from crew.runs.chores.kinds import HELPERS_LANE, ChoreWork
from crew.runs.runs import Runs
from tools.clock import rfc3339

DOCUMENTS_LANE = "documents"
# a file that has ended its process so often is given up
MAX_ATTEMPTS = 10
# a collection that this process does not know may be one of newer files
LATER, MISSED = timedelta(minutes=2), timedelta(days=1)
# for the passages of a large text
INDEX_SECONDS = 300.0
# and a helper that fails
MAX_DESCRIPTIONS = 3
# passages in one transaction: others write between two
AT_ONCE = 50
# of a document, as helper `describe` is shown it
SHOWN_CHARS, SHOWN_TOKENS = 60_000, 6000
MAX_SUMMARY = 2000
# passages that are described by one chore
DESCRIBED_AT_ONCE = 10
# why a document that was read is not searched
TOO_MUCH = {
    "chars": "has more text than there is room for (max_chars)",
    "passages": "would be more passages than a collection may have",
}


class DescribeAnswer(BaseModel):
    """What helper `describe` answers."""

    summary: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class CountDocuments:
    """Gets what becomes of documents."""

    # the collection, and the outcome
    document: Callable[[str, str], None] = lambda collection, outcome: None
    # the step (read, index, describe) and its seconds
    step: Callable[[str, float], None] = lambda step, seconds: None


class DocumentChores:
    """Reads, describes and drops the documents of a store."""

    def __init__(self, runs: Runs, counts: CountDocuments) -> None:
        """Of a crew's runs; `counts`: gets what becomes of documents."""
        self.runs, self.store, self._counts = runs, runs.store, counts
        self._clock = runs.crew.clock

    @property
    def works(self) -> tuple[ChoreWork, ...]:
        """The kinds of chores that this does."""
        return (
            # the process that reads a file has an end of its own
            ChoreWork(
                "read", DOCUMENTS_LANE, self._read, seconds=SECONDS + INDEX_SECONDS, gives_up=False
            ),
            ChoreWork("drop", DOCUMENTS_LANE, self._drop, gives_up=False),
            # without a helper there is only to note that there will be no summary
            ChoreWork("describe", HELPERS_LANE, self._describe, gives_up=False),
        )

    async def _read(self, chore: Chore) -> str:
        """Read a document's bytes, and let it be searched."""
        document = await self.store.documents.get(chore.owner, chore.key)
        if document is None or document.status not in WAITING:
            return "skipped"
        rule = self.runs.crew.documents.collections.get(document.collection)
        content = await self.store.documents.content(chore.owner, chore.key)
        if content is None:
            return await self._fail(document, "was lost before it was read")
        if rule is None:
            return await self._wait(chore, document)
        if chore.attempts > MAX_ATTEMPTS:
            return await self._fail(document, f"could not be read in {MAX_ATTEMPTS} attempts")
        if not await self.store.documents.change(self._changed(document, status="reading")):
            return "stale"
        request = rule.request(document.kind, self.runs.crew.documents.language)
        started = self._clock.monotonic()
        try:
            read = await read_file(request, content, self._clock)
        except OSError as error:
            raise StoreError(f"no process could be started to read it: {error}") from error
        self._counts.step("read", self._clock.monotonic() - started)
        if read.reason:
            return await self._fail(document, read.reason)
        return await self._index(document, read, rule)

    async def _index(self, document: StoredDocument, read: ReadText, rule: CollectionRule) -> str:
        started, place = self._clock.monotonic(), (document.owner, document.document_id)
        # what an attempt before has left
        while await self.store.documents.drop(*place, AT_ONCE):
            pass
        passages = [_passage(number, one, read.text) for number, one in enumerate(read.pieces)]
        for first in range(0, len(passages), AT_ONCE):
            some = passages[first : first + AT_ONCE]
            if not await self.store.documents.add_passages(document, some):
                return "stale"
        will_describe = rule.summaries != "none" and "describe" in self.runs.crew.helpers
        done = self._changed(
            document,
            status="summarizing" if will_describe else "ready",
            chars=len(read.text),
            chunks=len(passages),
            words=sum(one.length for one in passages),
            notes=read.notes,
        )
        refused = await self.store.documents.publish(done, read.text, rule.limits)
        if refused == "deleted":
            return "stale"
        if refused == "differs":
            # the one that is alone at last succeeds
            raise StoreError("another process reads the same document")
        if refused:
            return await self._fail(document, TOO_MUCH[refused])
        self._counts.step("index", self._clock.monotonic() - started)
        self._counts.document(document.collection, "read")
        return "done"

    async def _wait(self, chore: Chore, document: StoredDocument) -> str:
        """Wait for a process with files that know the collection; fail after a day."""
        now = self.store.now()
        if now - datetime.fromisoformat(document.created_at) > MISSED:
            return await self._fail(document, "has no collection any more")
        # it was no attempt
        await self.store.chores.finish(chore, rfc3339(now + LATER), more=True)
        return "postponed"

    async def _fail(self, document: StoredDocument, why: str) -> str:
        failed = self._changed(document, status="failed", reason=why)
        if not await self.store.documents.change(failed):
            return "stale"
        while await self.store.documents.drop(document.owner, document.document_id, AT_ONCE):
            pass
        self._counts.document(document.collection, "failed")
        return "done"

    def _changed(self, document: StoredDocument, **more: object) -> StoredDocument:
        return replace(document, changed_at=rfc3339(self.store.now()), **more)  # type: ignore[arg-type] # fields of it

    async def _drop(self, chore: Chore) -> str:
        """Delete what a deleted document has left."""
        while await self.store.documents.drop(chore.owner, chore.key, AT_ONCE):
            pass
        return "done"

    async def _describe(self, chore: Chore) -> str:
        """Have a summary written; without one the document is ready all the same."""
        document = await self.store.documents.get(chore.owner, chore.key)
        if document is None or document.status != "summarizing":
            return "skipped"
        helper, started = self.runs.crew.helpers.get("describe"), self._clock.monotonic()
        text = await self.store.documents.text(chore.owner, chore.key, 0, SHOWN_CHARS)
        rule = self.runs.crew.documents.collections.get(document.collection)
        is_over = chore.attempts > MAX_DESCRIPTIONS
        if helper is None or text is None or rule is None or is_over:
            await self.store.documents.change(self._changed(document, status="ready"))
            return "skipped"
        if rule.summaries == "chunks" and document.described < document.chunks:
            done = await self._describe_passages(document, helper)
            self._counts.step("describe", self._clock.monotonic() - started)
            return done
        summary = await self._summary(helper, document, document.name, text)
        await self.store.documents.change(self._changed(document, status="ready", summary=summary))
        self._counts.step("describe", self._clock.monotonic() - started)
        return "done"

    async def _describe_passages(self, document: StoredDocument, helper: Helper) -> str:
        """Have some passages described; "more": there is the rest, and the document itself."""
        words, first = self.runs.crew.documents.words, document.described
        assert words is not None, "there are collections"
        place = (document.owner, document.document_id)
        some = await self.store.documents.passages(*place, first, DESCRIBED_AT_ONCE)
        for one in some:
            name = f"{document.name}, {one.place}" if one.place else document.name
            about = await self._summary(helper, document, name, one.text)
            terms, length = words.terms(about)
            described = replace(one, about=about, terms=terms, length=length)
            if not await self.store.documents.describe(document, described):
                return "stale"
        number = first + len(some) if some else document.chunks
        is_kept = await self.store.documents.change(replace(document, described=number))
        return "more" if is_kept else "stale"

    async def _summary(self, helper: Helper, document: StoredDocument, name: str, text: str) -> str:
        mask = self.runs.crew.secrets.mask
        shown = mask(cut_to(text, SHOWN_TOKENS, helper.tokenizer))
        question = as_data("documents", f"{name}\n\n{shown}")
        of = (self.runs, helper, user_behind(document.owner))
        answer = await helper.ask(question, DescribeAnswer, emit_of(*of), meter_of(*of))
        return mask(answer.summary)[:MAX_SUMMARY]


def _passage(number: int, one: ReadPiece, text: str) -> Passage:
    piece = one.piece
    words = text[piece.start : piece.end]
    return Passage(number, piece.start, piece.end, piece.place, words, one.terms, one.length)
