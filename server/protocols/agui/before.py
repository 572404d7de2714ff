"""What was said before a run, for a client that comes back: what it is sent replaces all it has."""

from typing import Any

from starlette.requests import Request

from crew.journal.events import RunStarted
from crew.journal.records.conversations import owner_of
from crew.journal.records.rows import PAGE, RunRow
from crew.journal.replay import read_event
from crew.journal.said import parts_in_words
from server.http.services import services_of
from server.protocols.folds import speech_of


async def messages_before(request: Request, row: RunRow) -> list[dict[str, Any]]:
    """Return the history of a run and its question, as messages; raises StoreError.

    Of a conversation these are its newest exchanges. The ids are not the client's: no run keeps
    them.
    """
    said = await (_exchanges(request, row) if row.conversation_id else _history(request, row))
    before = [
        {"id": f"{row.run_id}:before:{number}", "role": role, "content": text}
        for number, (role, text) in enumerate(said, 1)
    ]
    return [*before, {"id": f"{row.run_id}:query", "role": "user", "content": row.query}]


async def _exchanges(request: Request, row: RunRow) -> list[tuple[str, str]]:
    log = services_of(request).runs.store.conversations
    place = owner_of(row.user_id), row.conversation_id
    last, speech = row.exchange - 1, speech_of(services_of(request).runs.crew)
    said: list[tuple[str, str]] = []
    for one in await log.exchanges(*place, max(0, last - PAGE), PAGE):
        if one.number > last:
            break
        said.append(("user", one.query))
        for part in parts_in_words(one.said):
            is_agents = bool(part.agent_id)
            text = speech.shown(part.text) if is_agents else part.text
            said.append(("assistant" if is_agents else "user", text))
        if answer := speech.shown(one.answer):
            said.append(("assistant", answer))
    return said


async def _history(request: Request, row: RunRow) -> list[tuple[str, str]]:
    records = await services_of(request).runs.store.records(row.run_id, 0, 1)
    if not records or records[0].seq != 1:
        # its first events are no longer kept
        return []
    event, _ = read_event(records[0], row.run_id)
    assert isinstance(event, RunStarted), "a run begins so"
    return [(one.role, one.content) for one in event.query.history]
