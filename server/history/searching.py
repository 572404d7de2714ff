"""Where words were said: in questions, answers, arguments and outputs of tools, people's words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import to_json

from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from server.history.steps import person_text
from tools.clock import Clock

# runs and events in one look at the store
BATCH, MAX_EVENTS = 200, 1000
# of a text, before and behind what was found
AROUND = 80
# of one run that is shown
MAX_OF_RUN = 3
SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where words were found."""

    row: RunRow
    # of the event; None: in the run's question, or in its answer
    seq: int | None
    # question, answer, agent, call, output, person
    kind: str
    who: str
    at: str
    # around the place, and where in it the words are
    text: str
    start: int
    end: int


@dataclass(slots=True)
class WordSearch:
    """A search through stored runs, newest first, which ends after some time."""

    text: str
    store: RunStore
    clock: Clock
    # only of this owner; None: of all
    owner: str | None
    # behind the run that was looked at last; None: from the newest on
    after: str | None = None
    # everything was looked at
    is_done: bool = False
    # when the run was started that was looked at last
    reached: str | None = None

    async def hits(self, limit: int) -> list[Hit]:
        """Return up to so many places; fewer where the time is over, or nothing is left."""
        found: list[Hit] = []
        ends = self.clock.monotonic() + SECONDS
        while len(found) < limit and self.clock.monotonic() < ends:
            wanted = RunFilter(owner=self.owner)
            rows = await self.store.rows(wanted, BATCH, self.after)
            if not rows:
                self.is_done = True
                break
            for row, hits in await self._of_rows(rows):
                found += hits
                self.after, self.reached = row.run_id, row.started_at
                if len(found) >= limit:
                    break
        # of the last run some places may be left out
        return found[:limit]

    async def _of_rows(self, rows: Sequence[RunRow]) -> list[tuple[RunRow, list[Hit]]]:
        """Return what was found in each of some runs; of fewer, where much was found in one."""
        # as it stands in JSON, without the quotes around it
        needle = to_json(self.text).decode()[1:-1]
        ids = [row.run_id for row in rows]
        events: dict[str, list[RunEvent]] = {}
        found = await self.store.search(needle, ids, MAX_EVENTS)
        for run_id, public in found:
            events.setdefault(run_id, []).append(RunEvent.decode(None, public))
        if len(found) == MAX_EVENTS:
            # of the runs behind this one, none was looked at
            rows = rows[: ids.index(found[-1][0]) + 1]
        hits: list[tuple[RunRow, list[Hit]]] = []
        for row in rows:
            of_run = list(self._of_row(row))
            for event in events.get(row.run_id, ()):
                of_run += self._of_event(row, event)
            hits.append((row, of_run[:MAX_OF_RUN]))
        return hits

    def _of_row(self, row: RunRow) -> Iterator[Hit]:
        texts = (("question", row.query, row.started_at), ("answer", row.answer, row.ended_at))
        for kind, text, at in texts:
            yield from self._in(Hit(row, None, kind, "", at or row.started_at, "", 0, 0), text)

    def _of_event(self, row: RunRow, event: RunEvent) -> Iterator[Hit]:
        data, seq = event.metadata, event.metadata.get("seq")
        hit = Hit(row, seq, "agent", event.agent, event.timestamp, "", 0, 0)
        match event.type:
            case "agent_response":
                yield from self._in(hit, event.content)
            case "tool_start":
                call = replace(hit, kind="call", who=str(data.get("tool")))
                yield from self._in(call, _plain(data.get("arguments")))
            case "tool_result":
                output = replace(hit, kind="output", who=str(data.get("tool")))
                yield from self._in(output, str(data.get("output") or ""))
            case "answered":
                yield from self._in(replace(hit, kind="person"), person_text(event))
            case "error":
                yield from self._in(replace(hit, kind="error"), event.content)

    def _in(self, hit: Hit, text: str | None) -> Iterator[Hit]:
        """Yield the place of the words in a text."""
        if not text:
            return
        place = text.casefold().find(self.text.casefold())
        if place < 0:
            return
        # where a letter has become two, the mark is a little off
        begin = max(0, place - AROUND)
        end = place + len(self.text)
        yield replace(hit, text=text[begin : end + AROUND], start=place - begin, end=end - begin)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
