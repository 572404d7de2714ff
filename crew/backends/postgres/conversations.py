"""Conversations and chores, in the database of a store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import TypeAdapter

from crew.backends.postgres.chores import insert_chores
from crew.backends.postgres.server import Connection, PostgresServer
from crew.backends.postgres.texts import column_json, column_text
from crew.journal.conversations import (
    KEPT_SUMMARIES,
    Conversation,
    Exchange,
    Summary,
    TitledBy,
)
from crew.journal.exchanges import (
    Began,
    ExchangeEnd,
    ExchangeStart,
    Refused,
    begin,
    copy_of,
    end,
    is_used,
    summarised,
    titled,
)

CONVERSATION: TypeAdapter[Conversation] = TypeAdapter(Conversation)
EXCHANGE: TypeAdapter[Exchange] = TypeAdapter(Exchange)
SUMMARY: TypeAdapter[Summary] = TypeAdapter(Summary)
OF = "owner = $1 AND conversation_id = $2"
GET = f"SELECT document FROM crew_conversations WHERE {OF}"  # noqa: S608 # ours
# only one of two that begin a conversation at the same time inserts; the other waits for it here
ADD = (
    "INSERT INTO crew_conversations VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1"
)
SET = f"UPDATE crew_conversations SET used_at = $3, busy = $4, document = $5 WHERE {OF}"  # noqa: S608 # ours
LISTED = """
SELECT document FROM crew_conversations AS one WHERE owner = $1
    AND ($2::text IS NULL OR (used_at, conversation_id) < ($2, $3))
    AND ($4::text IS NULL
        OR position(crew_casefold($4) in crew_casefold(document::json ->> 'title')) > 0
        OR EXISTS (
            SELECT FROM crew_exchanges AS said
            WHERE said.owner = one.owner AND said.conversation_id = one.conversation_id
                AND position(
                    crew_casefold($4) in crew_casefold(said.document::json ->> 'query')
                ) > 0
        ))
ORDER BY used_at DESC, conversation_id DESC LIMIT $5
"""
WAITING = f"SELECT count(*) FROM crew_conversation_queue WHERE {OF}"  # noqa: S608 # ours
LONGEST_WAITING = f"""
DELETE FROM crew_conversation_queue WHERE run_id = (
    SELECT run_id FROM crew_conversation_queue WHERE {OF} ORDER BY number LIMIT 1
) RETURNING run_id
"""  # noqa: S608 # ours
EXCHANGES = f"SELECT document, transcript FROM crew_exchanges WHERE {OF}"  # noqa: S608 # ours
WITHOUT_TRANSCRIPTS = f"SELECT document, '' FROM crew_exchanges WHERE {OF}"  # noqa: S608 # ours
SET_EXCHANGE = """
INSERT INTO crew_exchanges VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (owner, conversation_id, number) DO UPDATE SET position = excluded.position,
    document = excluded.document, transcript = excluded.transcript
"""
NEWEST_SUMMARY = f"""
SELECT document FROM crew_summaries WHERE {OF}
    AND ($3::int IS NULL OR (document::json ->> 'through')::int <= $3)
ORDER BY version DESC LIMIT 1
"""  # noqa: S608 # ours


async def begin_exchange(connection: Connection, start: ExchangeStart) -> Began | Refused:
    """Let a run be the next one, within the transaction of its start."""
    place = (start.owner, start.conversation_id)
    known = await _freed(connection, await _locked(connection, *place))
    waiting = 0
    if known is not None:
        waiting = await connection.fetchval(WAITING, *place)
    began = begin(known, start, waiting)
    if isinstance(began, Refused):
        return began
    if known is not None:
        await connection.execute(SET, *_columns(began.conversation))
    elif not await connection.fetchval(ADD, *_columns(began.conversation)):
        # another one began it meanwhile
        return Refused("moved")
    if began.waits:
        sql = "INSERT INTO crew_conversation_queue VALUES ($1, $2, $3, $4)"
        await connection.execute(sql, *place, start.number, start.run_id)
    return began


async def lock_conversation(connection: Connection, start: ExchangeStart) -> None:
    """Keep others from changing the conversation until the transaction's end."""
    await _locked(connection, start.owner, start.conversation_id)


async def end_exchange(connection: Connection, ended: ExchangeEnd) -> str | None:
    """Write an exchange, within the transaction of its run's end; the run that goes on now."""
    place, given = (ended.owner, ended.conversation_id), ended.exchange
    known = await _locked(connection, *place)
    if known is None:
        return None
    sql = "DELETE FROM crew_conversation_queue WHERE run_id = $1"
    await connection.execute(sql, given.run_id)
    next_run = None
    if known.busy == given.run_id:
        next_run = await connection.fetchval(LONGEST_WAITING, *place)
    earlier = await connection.fetchrow(f"{EXCHANGES} AND number = $3", *place, given.number)
    result = end(known, ended, _exchange(*earlier) if earlier else None, next_run)
    await connection.execute(SET, *_columns(result.conversation))
    await _set_exchange(connection, place, result.exchange)
    await insert_chores(connection, result.chores)
    return next_run


async def _locked(connection: Connection, owner: str, conversation_id: str) -> Conversation | None:
    found = await connection.fetchval(f"{GET} FOR UPDATE", owner, conversation_id)
    return CONVERSATION.validate_json(found) if found else None


async def _freed(connection: Connection, known: Conversation | None) -> Conversation | None:
    """Free a conversation of a run that has ended (an older version may have) or is not there."""
    if known is None or known.busy is None:
        return known
    sql = "SELECT 1 FROM crew_runs WHERE run_id = $1 AND ended_at IS NULL"
    is_open = await connection.fetchval(sql, known.busy)
    return known if is_open else replace(known, busy=None)


def _columns(one: Conversation) -> tuple[object, ...]:
    document = column_json(CONVERSATION.dump_json(one))
    return (one.owner, one.conversation_id, one.used_at, one.busy, document)


async def _set_exchange(connection: Connection, place: tuple[str, str], one: Exchange) -> None:
    document = column_json(EXCHANGE.dump_json(one, exclude={"transcript"}))
    values = (one.number, one.position, document, column_text(one.transcript))
    await connection.execute(SET_EXCHANGE, *place, *values)


def _exchange(document: str, transcript: str) -> Exchange:
    return replace(EXCHANGE.validate_json(document), transcript=transcript)


class PostgresConversations:
    """See ConversationLog."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def create(self, conversation: Conversation) -> bool:
        """See ConversationLog."""
        async with self._server.connection(writes=True) as connection:
            return bool(await connection.fetchval(ADD, *_columns(conversation)))

    async def get(self, owner: str, conversation_id: str) -> Conversation | None:
        """See ConversationLog."""
        async with self._server.connection() as connection:
            found = await connection.fetchval(GET, owner, conversation_id)
        return CONVERSATION.validate_json(found) if found else None

    async def listed(
        self,
        owner: str,
        limit: int = 50,
        after: tuple[str, str] | None = None,
        text: str | None = None,
    ) -> list[Conversation]:
        """See ConversationLog."""
        sought = column_text(text) if text is not None else None
        values = (owner, *(after or (None, None)), sought, limit)
        async with self._server.connection() as connection:
            found = await connection.fetch(LISTED, *values)
        return [CONVERSATION.validate_json(document) for (document,) in found]

    async def set_title(
        self,
        owner: str,
        conversation_id: str,
        title: str,
        by: TitledBy,
        created_at: str | None = None,
    ) -> bool:
        """See ConversationLog."""
        return await self._change(
            owner, conversation_id, lambda one: titled(one, title, by, created_at)
        )

    async def set_metadata(
        self, owner: str, conversation_id: str, metadata: Mapping[str, Any]
    ) -> bool:
        """See ConversationLog."""
        changed = dict(metadata)
        return await self._change(
            owner, conversation_id, lambda one: replace(one, metadata=changed)
        )

    async def _change(
        self,
        owner: str,
        conversation_id: str,
        change: Callable[[Conversation], Conversation | None],
    ) -> bool:
        async with self._server.connection(writes=True) as connection, connection.transaction():
            known = await _locked(connection, owner, conversation_id)
            changed = change(known) if known is not None else None
            if changed is not None:
                await connection.execute(SET, *_columns(changed))
            return changed is not None

    async def exchanges(
        self, owner: str, conversation_id: str, after: int = 0, limit: int = 50
    ) -> list[Exchange]:
        """See ConversationLog."""
        sql = f"{EXCHANGES} AND number > $3 ORDER BY number LIMIT $4"
        async with self._server.connection() as connection:
            found = await connection.fetch(sql, owner, conversation_id, after, limit)
        return [_exchange(*one) for one in found]

    async def shown(
        self,
        owner: str,
        conversation_id: str,
        after: int,
        through: int | None = None,
        *,
        transcripts: bool,
    ) -> list[Exchange]:
        """See ConversationLog."""
        sql = EXCHANGES if transcripts else WITHOUT_TRANSCRIPTS
        sql = f"{sql} AND position > $3 AND position <= coalesce($4::int, position)"
        async with self._server.connection() as connection:
            values = (owner, conversation_id, after, through)
            found = await connection.fetch(f"{sql} ORDER BY position", *values)
        return [_exchange(*one) for one in found]

    async def summary(
        self, owner: str, conversation_id: str, through: int | None = None
    ) -> Summary | None:
        """See ConversationLog."""
        async with self._server.connection() as connection:
            return await _summary(connection, owner, conversation_id, through)

    async def add_summary(
        self, owner: str, conversation_id: str, summary: Summary, created_at: str
    ) -> bool:
        """See ConversationLog."""
        async with self._server.connection(writes=True) as connection, connection.transaction():
            known = await _locked(connection, owner, conversation_id)
            changed = summarised(known, summary, created_at) if known is not None else None
            if changed is None:
                return False
            await connection.execute(SET, *_columns(changed))
            await _add_summary(connection, (owner, conversation_id), summary)
            sql = f"DELETE FROM crew_summaries WHERE {OF} AND version <= $3"  # noqa: S608 # ours
            oldest = summary.version - KEPT_SUMMARIES
            await connection.execute(sql, owner, conversation_id, oldest)
            return True

    async def fork(
        self, owner: str, conversation_id: str, through: int, copy: Conversation
    ) -> bool:
        """See ConversationLog."""
        place = (copy.owner, copy.conversation_id)
        async with self._server.connection(writes=True) as connection, connection.transaction():
            known = await _locked(connection, owner, conversation_id)
            if known is None:
                return False
            sql = f"{EXCHANGES} AND number <= $3 ORDER BY number"
            found = await connection.fetch(sql, owner, conversation_id, through)
            exchanges = [_exchange(*one) for one in found]
            shown = sum(one.position is not None for one in exchanges)
            summary = await _summary(connection, owner, conversation_id, shown)
            made, summary = copy_of(known, copy, exchanges, summary)
            if not await connection.fetchval(ADD, *_columns(made)):
                return False
            for one in exchanges:
                await _set_exchange(connection, place, one)
            if summary is not None:
                await _add_summary(connection, place, summary)
            return True

    async def delete(
        self,
        owner: str,
        conversation_id: str,
        unused_since: str | None = None,
    ) -> Literal["deleted", "busy", "none"]:
        """See ConversationLog."""
        place = (owner, conversation_id)
        async with self._server.connection(writes=True) as connection, connection.transaction():
            known = await _freed(connection, await _locked(connection, *place))
            if known is None:
                return "none"
            if known.busy is not None or is_used(known, unused_since):
                return "busy"
            sql = "SELECT run_id FROM crew_runs WHERE conversation_owner = $1"
            sql = f"{sql} AND conversation_id = $2 FOR UPDATE"
            runs = [run_id for (run_id,) in await connection.fetch(sql, *place)]
            for table in ("crew_events", "crew_idempotency_records", "crew_runs"):
                sql = f"DELETE FROM {table} WHERE run_id = ANY($1)"  # noqa: S608 # ours
                await connection.execute(sql, runs)
            sql = "DELETE FROM crew_notices WHERE split_part(id, ':', 1) = ANY($1)"
            await connection.execute(sql, runs)
            for table in ("exchanges", "summaries", "conversation_queue", "conversations"):
                await connection.execute(f"DELETE FROM crew_{table} WHERE {OF}", *place)  # noqa: S608 # ours
            await connection.execute(
                "DELETE FROM crew_chores WHERE owner = $1 AND key = $2", *place
            )
            return "deleted"

    async def old(self, before: str, limit: int = 100) -> list[tuple[str, str]]:
        """See ConversationLog."""
        sql = "SELECT owner, conversation_id FROM crew_conversations"
        sql = f"{sql} WHERE used_at < $1 AND busy IS NULL LIMIT $2"
        async with self._server.connection() as connection:
            return [(one[0], one[1]) for one in await connection.fetch(sql, before, limit)]

    async def waiting(self, run_ids: Sequence[str]) -> set[str]:
        """See ConversationLog."""
        sql = "SELECT run_id FROM crew_conversation_queue WHERE run_id = ANY($1)"
        async with self._server.connection() as connection:
            return {run_id for (run_id,) in await connection.fetch(sql, run_ids)}


async def _summary(
    connection: Connection, owner: str, conversation_id: str, through: int | None
) -> Summary | None:
    found = await connection.fetchval(NEWEST_SUMMARY, owner, conversation_id, through)
    return SUMMARY.validate_json(found) if found else None


async def _add_summary(connection: Connection, place: tuple[str, str], summary: Summary) -> None:
    document = SUMMARY.dump_json(summary).decode()
    sql = "INSERT INTO crew_summaries VALUES ($1, $2, $3, $4)"
    await connection.execute(sql, *place, summary.version, document)
