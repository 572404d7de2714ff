"""A crew with documents, and their chores."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crew import Crew, Runs, load_crew
from crew.documents.cuts import CutRule
from crew.documents.reading.kinds import kind_of_file
from crew.documents.reading.reader import PROGRAM, read_file
from crew.documents.reading.results import ReadRequest, ReadText
from crew.journal.records.remembered.documents import StoredDocument
from crew.runs.chores.chores import Chores, Counts
from crew.runs.chores.documents import CountDocuments
from tests.support.crews import write_crew
from tools.clock import SYSTEM_CLOCK

CUT = CutRule(400, 50)
UPLOADS = {"description": "what the person has sent", "scope": "user"}
POLICY = {"description": "rules of the house", "files": ["docs/*.md"]}
RULES = "# Rules\n\n## Stop loss\n\nEvery position has a stop loss at 8 %.\n"
ANSWERS: list[dict[str, Any]] = [
    {
        "agent": "a",
        "after": "SearchDocuments",
        "say": "By the rule [1]: {{result.SearchDocuments}}",
    },
    {"agent": "a", "after": "ReadDocument", "say": "{{result.ReadDocument}}"},
    {"agent": "a", "after": "ListDocuments", "say": "{{result.ListDocuments}}"},
]


def call(tool: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"tool": tool, "arguments": arguments}]


def document_crew(
    folder: Path,
    rules: Sequence[dict[str, Any]],
    documents: dict[str, Any] | None = None,
    agent: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
    answers: Sequence[dict[str, Any]] = ANSWERS,
    **crew: Any,
) -> Crew:
    """A crew with one agent, which has all collections."""
    documents = {"uploads": UPLOADS} if documents is None else documents
    for name, text in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    agents = {"a": {"documents": list(documents), "is_terminal": True, **(agent or {})}}
    more = {"conversations": {}, "documents": documents, **crew}
    return load_crew(write_crew(folder, agents, [*answers, *rules], **more))


class Reading:
    """Does the chores of documents, and counts what becomes of them."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.outcomes: list[str] = []
        self.documents: Counter[str] = Counter()

    async def drain(self) -> None:
        counts = Counts(
            lambda kind, outcome, seconds: self.outcomes.append(f"{kind} {outcome}"),
            documents=CountDocuments(
                lambda collection, outcome: self.documents.update([f"{collection} {outcome}"])
            ),
        )
        await Chores(self.runs, counts).drain()

    async def send(
        self,
        name: str,
        content: bytes | str,
        collection: str = "uploads",
        user: str = "ann",
        **place: Any,
    ) -> StoredDocument:
        """Upload and read a document."""
        data = content.encode() if isinstance(content, str) else content
        sent, _ = await self.runs.documents.upload(collection, name, data, user, user, **place)
        await self.drain()
        found = await self.runs.store.documents.get(sent.owner, sent.document_id)
        assert found is not None
        return found


async def read(
    name: str,
    data: bytes,
    max_chars: int = 1_000_000,
    cut: CutRule = CUT,
    program: Sequence[str] = PROGRAM,
    seconds: float = 120,
) -> ReadText:
    """Read a file as a chore does."""
    request = ReadRequest(kind_of_file(data, name), "en", max_chars, cut)
    return await read_file(request, data, SYSTEM_CLOCK, program, seconds)
