"""Documents, searched and read by an agent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from crew.documents.passages import document_line, newest_names, passage_text
from crew.engine.memory.speaker import Speaker
from crew.journal.errors import StoreError
from crew.journal.records.remembered.documents import WAITING, DocumentSearch, StoredDocument
from crew.journal.remembered.events import DocumentsSearched, DocumentsShown
from crew.journal.remembered.sources import ShownPassage, numbered
from tools.errors import PermanentError, TemporaryError
from tools.text.suggest import nearest

# between two looks at a document that is being read
LOOK_SECONDS, MAX_LOOK_SECONDS = 0.2, 1.0
# documents of an agent that are looked at, and that a list shows
MAX_LISTED, MAX_SHOWN = 10_000, 200


@dataclass(frozen=True, slots=True)
class RunDocuments:
    """Of one agent in one run; see Documents."""

    speaker: Speaker

    async def search(
        self, query: str, collection: str, document: str, most: int, seconds: float
    ) -> str:
        """See Documents."""
        known = await self._known(collection)
        chosen = await self._named(document, known, collection) if document else None
        wanted = [chosen] if chosen is not None else known
        waiting = await self._wait([one for one in wanted if one.status in WAITING], seconds)
        words = self.speaker.crew.documents.words
        assert words is not None, "there are collections"
        # the version that is searched may have changed meanwhile
        chosen = await self._searched(chosen) if chosen is not None else None
        await self.speaker.emit(DocumentsSearched(self.speaker.agent.id, self._names(collection)))
        search = DocumentSearch(
            self._owners(collection),
            words.query(query),
            most,
            chosen.document_id if chosen is not None else "",
        )
        try:
            found = await self.speaker.finder.passages(search, query) or []
        except StoreError as error:
            raise TemporaryError("the documents cannot be searched now") from error
        shown = [
            (
                ShownPassage(
                    *(0, one.document.document_id, one.document.collection, one.document.name),
                    *(one.place, one.start, one.end),
                ),
                one.text,
                one.about,
            )
            for one in found
        ]
        texts = await self._show(shown)
        if not texts:
            # names are text of others, too
            await self._note([one.collection for one in known])
            names = ", ".join(one.name for one in known[:MAX_SHOWN])
            texts = [f"No passage has these words. There is: {names or 'no document'}"]
        await self._note([one.collection for one in waiting])
        texts += [f"({one.name} is still being read)" for one in waiting]
        return "\n\n".join(texts)

    async def read(self, document: str, start: int, chars: int, seconds: float) -> str:
        """See Documents."""
        known = await self._known("")
        chosen = await self._named(document, known, "")
        if await self._wait([chosen] if chosen.status in WAITING else [], seconds):
            raise TemporaryError(f"{chosen.name} is still being read; read it a little later")
        chosen = await self._searched(chosen)
        if chosen.status == "failed":
            raise PermanentError(f"{chosen.name} cannot be read: it {chosen.reason}")
        store = self.speaker.store.documents
        try:
            text = await store.text(chosen.owner, chosen.document_id, start, chars)
        except StoreError as error:
            raise TemporaryError(f"{chosen.name} cannot be read now") from error
        if text is None:
            raise PermanentError(f"{chosen.name} was deleted")
        if not text:
            raise PermanentError(f"{chosen.name} has {chosen.chars} characters: from is too large")
        end = start + len(text)
        place = f"characters {start} to {end} of {chosen.chars}"
        names = (chosen.document_id, chosen.collection, chosen.name)
        (shown,) = await self._show([(ShownPassage(0, *names, place, start, end), text, "")])
        return shown if end >= chosen.chars else f"{shown}\n\n(it goes on: from {end})"

    async def listed(self) -> str:
        """See Documents."""
        known = await self._known("")
        await self._note([one.collection for one in known])
        lines = [document_line(one) for one in known[:MAX_SHOWN]]
        if len(known) > MAX_SHOWN:
            lines.append(f"({len(known) - MAX_SHOWN} more)")
        return "\n".join(lines) or "There is no document."

    def _names(self, collection: str) -> tuple[str, ...]:
        return (collection,) if collection else self.speaker.agent.documents

    def _owners(self, collection: str) -> tuple[tuple[str, str], ...]:
        """Return the collections that are meant, with their owners; raises PermanentError."""
        names = self.speaker.agent.documents
        if collection and collection not in names:
            near = nearest(collection, names)
            text = f"there is no collection {collection!r}; known: {', '.join(names)}"
            raise PermanentError(f"{text}; did you mean {near}?" if near else text)
        query = self.speaker.state.query
        wanted = self._names(collection)
        rules = self.speaker.crew.documents
        return tuple(rules.owners(wanted, query.user_id, query.conversation_id))

    async def _known(self, collection: str) -> list[StoredDocument]:
        """Return the documents that are meant, one of each name."""
        owners = self._owners(collection)
        try:
            found = await self.speaker.store.documents.listed(owners, MAX_LISTED)
        except StoreError as error:
            raise TemporaryError("the documents cannot be looked at now") from error
        return newest_names(found)

    async def _searched(self, document: StoredDocument) -> StoredDocument:
        """Return the version of a name that is searched now, else the newest one."""
        for one in await self._known(document.collection):
            if one.name == document.name:
                return one
        raise PermanentError(f"{document.name} was deleted")

    async def _named(
        self, name: str, known: Sequence[StoredDocument], collection: str
    ) -> StoredDocument:
        """Return the document of a name or an id; raises PermanentError."""
        wanted = name.strip()
        exact = [one for one in known if wanted in (one.name, one.document_id)]
        whole = [one for one in known if _whole_name(one) == wanted]
        alike = [one for one in known if one.name.casefold() == wanted.casefold()]
        found = exact or whole or alike
        if len({one.collection for one in found}) == 1:
            return found[0]
        # the names are text of others, too
        await self._note([one.collection for one in known])
        if found:
            both = ", ".join(map(_whole_name, found))
            raise PermanentError(f"{len(found)} documents have the name {wanted!r}: {both}")
        count = Counter(one.name for one in known)
        names = [one.name if count[one.name] == 1 else _whole_name(one) for one in known]
        near = nearest(wanted, names)
        where = f" in {collection}" if collection else ""
        listed = ", ".join(names[:MAX_SHOWN]) or "none"
        text = f"there is no document {wanted!r}{where}; known: {listed}"
        raise PermanentError(f"{text}; did you mean {near}?" if near else text)

    async def _wait(
        self, documents: Sequence[StoredDocument], seconds: float
    ) -> list[StoredDocument]:
        """Wait until documents are read; return those that are not."""
        clock, waiting = self.speaker.crew.clock, {one.document_id: one for one in documents}
        ends_at, look = clock.monotonic() + seconds, LOOK_SECONDS
        while waiting and clock.monotonic() < ends_at:
            await clock.sleep(look)
            look = min(2 * look, MAX_LOOK_SECONDS)
            known = {one.document_id: one for one in await self._known("")}
            now = [known.get(document_id) for document_id in waiting]
            waiting = {one.document_id: one for one in now if one and one.status in WAITING}
        return list(waiting.values())

    async def _show(self, shown: Sequence[tuple[ShownPassage, str, str]]) -> list[str]:
        """Give passages their numbers, and publish that they are shown."""
        speaker = self.speaker
        # nothing comes between the numbers and the event that keeps them
        sources = numbered(speaker.state.sources, [source for source, *_ in shown])
        known = {one.n for one in speaker.state.sources}
        await self._note(
            [one.collection for one in sources], [one for one in sources if one.n not in known]
        )
        return [
            passage_text(one, text, about)
            for one, (_, text, about) in zip(sources, shown, strict=True)
        ]

    async def _note(self, collections: Sequence[str], sources: Sequence[ShownPassage] = ()) -> None:
        """Publish which passages are shown, and of which collections there are texts of others."""
        speaker, rules = self.speaker, self.speaker.crew.documents.collections
        untrusted = [name for name in dict.fromkeys(collections) if rules[name].is_untrusted]
        if sources or untrusted:
            who = speaker.agent.id, speaker.agent.name, speaker.group
            await speaker.emit(DocumentsShown(*who, tuple(sources), tuple(untrusted)))


def _whole_name(document: StoredDocument) -> str:
    """Return its name with its collection, as it is named where others have the same name."""
    return f"{document.collection}/{document.name}"
