"""Conversations and chores, in the file of a store."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.sqlite.chores import insert_chores
from crew.backends.sqlite.file import SqliteFile
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
OF = "owner = ? AND conversation_id = ?"
GET = f"SELECT document FROM conversations WHERE {OF}"  # noqa: S608 # ours
SET = """
INSERT INTO conversations VALUES (?, ?, ?, ?, ?)
ON CONFLICT (owner, conversation_id) DO UPDATE
SET used_at = excluded.used_at, busy = excluded.busy, document = excluded.document
"""
LISTED = """
SELECT document FROM conversations AS one WHERE owner = ?1
    AND (?2 IS NULL OR (used_at, conversation_id) < (?2, ?3))
    AND (?4 IS NULL OR instr(casefold(document ->> 'title'), casefold(?4)) > 0 OR EXISTS (
        SELECT 1 FROM exchanges WHERE owner = one.owner AND conversation_id = one.conversation_id
            AND instr(casefold(exchanges.document ->> 'query'), casefold(?4)) > 0
    ))
ORDER BY used_at DESC, conversation_id DESC LIMIT ?5
"""
SET_EXCHANGE = "INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?, ?, ?)"
EXCHANGES = f"SELECT document, transcript FROM exchanges WHERE {OF}"  # noqa: S608 # ours
WITHOUT_TRANSCRIPTS = f"SELECT document, '' FROM exchanges WHERE {OF}"  # noqa: S608 # ours


def begin_exchange(connection: sqlite3.Connection, start: ExchangeStart) -> Began | Refused:
    """Let a run be the next one, within the transaction of its start."""
    place = (start.owner, start.conversation_id)
    sql = f"SELECT count(*) FROM conversation_queue WHERE {OF}"  # noqa: S608 # ours
    (waiting,) = connection.execute(sql, place).fetchone()
    began = begin(_freed(connection, _get(connection, *place)), start, waiting)
    if isinstance(began, Refused):
        return began
    _set(connection, began.conversation)
    if began.waits:
        values = (*place, start.number, start.run_id)
        connection.execute("INSERT INTO conversation_queue VALUES (?, ?, ?, ?)", values)
    return began


def end_exchange(connection: sqlite3.Connection, ended: ExchangeEnd) -> str | None:
    """Write an exchange, within the transaction of its run's end; the run that goes on now."""
    place, given = (ended.owner, ended.conversation_id), ended.exchange
    known = _get(connection, *place)
    if known is None:
        return None
    sql = f"DELETE FROM conversation_queue WHERE {OF} AND run_id = ?"  # noqa: S608 # ours
    connection.execute(sql, (*place, given.run_id))
    next_run: str | None = None
    if known.busy == given.run_id:
        sql = f"SELECT run_id, number FROM conversation_queue WHERE {OF} ORDER BY number LIMIT 1"  # noqa: S608 # ours
        if (found := connection.execute(sql, place).fetchone()) is not None:
            next_run = found[0]
            connection.execute("DELETE FROM conversation_queue WHERE run_id = ?", (next_run,))
    sql = f"{EXCHANGES} AND number = ?"
    earlier = connection.execute(sql, (*place, given.number)).fetchone()
    result = end(known, ended, _exchange(*earlier) if earlier else None, next_run)
    _set(connection, result.conversation)
    _set_exchange(connection, place, result.exchange)
    insert_chores(connection, result.chores)
    return next_run


def _get(connection: sqlite3.Connection, owner: str, conversation_id: str) -> Conversation | None:
    found = connection.execute(GET, (owner, conversation_id)).fetchone()
    return CONVERSATION.validate_json(found[0]) if found else None


def _freed(connection: sqlite3.Connection, known: Conversation | None) -> Conversation | None:
    """Free a conversation of a run that has ended (an older version may have) or is not there."""
    if known is None or known.busy is None:
        return known
    sql = "SELECT 1 FROM runs WHERE run_id = ? AND ended_at IS NULL"
    is_open = connection.execute(sql, (known.busy,)).fetchone()
    return known if is_open else replace(known, busy=None)


def _set(connection: sqlite3.Connection, one: Conversation) -> None:
    document = CONVERSATION.dump_json(one).decode()
    connection.execute(SET, (one.owner, one.conversation_id, one.used_at, one.busy, document))


def _set_exchange(connection: sqlite3.Connection, place: tuple[str, str], one: Exchange) -> None:
    document = EXCHANGE.dump_json(one, exclude={"transcript"}).decode()
    values = (*place, one.number, one.position, document, one.transcript)
    connection.execute(SET_EXCHANGE, values)


def _exchange(document: str, transcript: str) -> Exchange:
    return replace(EXCHANGE.validate_json(document), transcript=transcript)


class SqliteConversations:
    """See ConversationLog."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def create(self, conversation: Conversation) -> bool:
        """See ConversationLog."""

        def work(connection: sqlite3.Connection) -> bool:
            place = (conversation.owner, conversation.conversation_id)
            if _get(connection, *place) is not None:
                return False
            _set(connection, conversation)
            return True

        return await self._file.do(work, writes=True)

    async def get(self, owner: str, conversation_id: str) -> Conversation | None:
        """See ConversationLog."""
        return await self._file.do(lambda c: _get(c, owner, conversation_id))

    async def listed(
        self,
        owner: str,
        limit: int = 50,
        after: tuple[str, str] | None = None,
        text: str | None = None,
    ) -> list[Conversation]:
        """See ConversationLog."""
        values = (owner, *(after or (None, None)), text, limit)
        found = await self._file.do(lambda c: c.execute(LISTED, values).fetchall())
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
        def work(connection: sqlite3.Connection) -> bool:
            known = _get(connection, owner, conversation_id)
            changed = change(known) if known is not None else None
            if changed is not None:
                _set(connection, changed)
            return changed is not None

        return await self._file.do(work, writes=True)

    async def exchanges(
        self, owner: str, conversation_id: str, after: int = 0, limit: int = 50
    ) -> list[Exchange]:
        """See ConversationLog."""
        sql = f"{EXCHANGES} AND number > ? ORDER BY number LIMIT ?"
        values = (owner, conversation_id, after, limit)
        found = await self._file.do(lambda c: c.execute(sql, values).fetchall())
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
        sql = f"{sql} AND position > ? AND position <= coalesce(?, position)"
        values = (owner, conversation_id, after, through)
        sql = f"{sql} ORDER BY position"
        found = await self._file.do(lambda c: c.execute(sql, values).fetchall())
        return [_exchange(*one) for one in found]

    async def summary(
        self, owner: str, conversation_id: str, through: int | None = None
    ) -> Summary | None:
        """See ConversationLog."""
        return await self._file.do(lambda c: _summary(c, owner, conversation_id, through))

    async def add_summary(
        self, owner: str, conversation_id: str, summary: Summary, created_at: str
    ) -> bool:
        """See ConversationLog."""

        def work(connection: sqlite3.Connection) -> bool:
            known = _get(connection, owner, conversation_id)
            changed = summarised(known, summary, created_at) if known is not None else None
            if changed is None:
                return False
            _set(connection, changed)
            _add_summary(connection, (owner, conversation_id), summary)
            sql = f"DELETE FROM summaries WHERE {OF} AND version <= ?"  # noqa: S608 # ours
            connection.execute(sql, (owner, conversation_id, summary.version - KEPT_SUMMARIES))
            return True

        return await self._file.do(work, writes=True)

    async def fork(
        self, owner: str, conversation_id: str, through: int, copy: Conversation
    ) -> bool:
        """See ConversationLog."""

        def work(connection: sqlite3.Connection) -> bool:
            place = (copy.owner, copy.conversation_id)
            known = _get(connection, owner, conversation_id)
            if known is None or _get(connection, *place) is not None:
                return False
            sql = f"{EXCHANGES} AND number <= ? ORDER BY number"
            found = connection.execute(sql, (owner, conversation_id, through)).fetchall()
            exchanges = [_exchange(*one) for one in found]
            shown = sum(one.position is not None for one in exchanges)
            summary = _summary(connection, owner, conversation_id, shown)
            made, summary = copy_of(known, copy, exchanges, summary)
            _set(connection, made)
            for one in exchanges:
                _set_exchange(connection, place, one)
            if summary is not None:
                _add_summary(connection, place, summary)
            return True

        return await self._file.do(work, writes=True)

    async def delete(
        self,
        owner: str,
        conversation_id: str,
        unused_since: str | None = None,
    ) -> Literal["deleted", "busy", "none"]:
        """See ConversationLog."""
        result = await self._file.do(
            lambda c: _delete(c, owner, conversation_id, unused_since), writes=True
        )
        if result == "deleted":
            # what was deleted still stands in the log of writes
            await self._file.truncate_log()
        return result

    async def old(self, before: str, limit: int = 100) -> list[tuple[str, str]]:
        """See ConversationLog."""
        sql = "SELECT owner, conversation_id FROM conversations WHERE used_at < ? AND busy IS NULL"
        values = (before, limit)
        return await self._file.do(lambda c: c.execute(f"{sql} LIMIT ?", values).fetchall())

    async def waiting(self, run_ids: Sequence[str]) -> set[str]:
        """See ConversationLog."""
        sql = (
            "SELECT run_id FROM conversation_queue WHERE run_id IN (SELECT value FROM json_each(?))"
        )
        wanted = (to_json(run_ids).decode(),)
        found = await self._file.do(lambda c: c.execute(sql, wanted).fetchall())
        return {run_id for (run_id,) in found}


def _summary(
    connection: sqlite3.Connection, owner: str, conversation_id: str, through: int | None
) -> Summary | None:
    sql = (
        f"SELECT document FROM summaries WHERE {OF} AND document ->> 'through' <= coalesce(?, 1e9)"  # noqa: S608 # ours
    )
    values = (owner, conversation_id, through)
    found = connection.execute(f"{sql} ORDER BY version DESC LIMIT 1", values).fetchone()
    return SUMMARY.validate_json(found[0]) if found else None


def _add_summary(connection: sqlite3.Connection, place: tuple[str, str], summary: Summary) -> None:
    document = SUMMARY.dump_json(summary).decode()
    connection.execute(
        "INSERT INTO summaries VALUES (?, ?, ?, ?)", (*place, summary.version, document)
    )


def _delete(
    connection: sqlite3.Connection,
    owner: str,
    conversation_id: str,
    unused_since: str | None,
) -> Literal["deleted", "busy", "none"]:
    place = (owner, conversation_id)
    known = _freed(connection, _get(connection, *place))
    if known is None:
        return "none"
    if known.busy is not None or is_used(known, unused_since):
        return "busy"
    sql = "SELECT run_id FROM runs WHERE conversation_owner = ? AND conversation_id = ?"
    runs = connection.execute(sql, place).fetchall()
    for table in ("events", "idempotency_records", "runs"):
        connection.executemany(f"DELETE FROM {table} WHERE run_id = ?", runs)  # noqa: S608 # ours
    sql = "DELETE FROM notices WHERE id >= ?1 || ':' AND id < ?1 || ';'"
    connection.executemany(sql, runs)
    for table in ("exchanges", "summaries", "conversation_queue", "conversations"):
        connection.execute(f"DELETE FROM {table} WHERE {OF}", place)  # noqa: S608 # ours
    connection.execute("DELETE FROM chores WHERE owner = ? AND key = ?", place)
    return "deleted"
