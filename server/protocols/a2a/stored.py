"""A task as the stored events of its run have it."""

from contextlib import aclosing

from starlette.requests import Request

from crew.journal.records.rows import RunRow
from server.http.services import services_of
from server.protocols.a2a.fold import TaskFold
from server.protocols.folds import speech_of


def context_of(row: RunRow) -> str:
    """Return the context of a task: the conversation, or what the client calls it."""
    return row.conversation_id or row.source_name or row.run_id


def fold_of(request: Request, row: RunRow) -> TaskFold:
    """Return the fold of a task, without any event."""
    crew = services_of(request).runs.crew
    return TaskFold(row.run_id, context_of(row), row.query, speech_of(crew))


async def folded(request: Request, row: RunRow) -> TaskFold:
    """Return the fold of a task with all that is stored of it."""
    fold = fold_of(request, row)
    async with aclosing(services_of(request).runs.stored(row.run_id)) as events:
        async for event in events:
            fold.add(event)
    return fold
