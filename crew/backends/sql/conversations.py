"""Conversations, in the database of a store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import TypeAdapter

from crew.backends.sql.chores import insert_chores
from crew.backends.sql.deletion import delete_with_all
from crew.backends.sql.remembered.core import fill_core
from crew.backends.sql.statements import sql
from crew.backends.sql.transactions import SqlDatabase, Steps
from crew.journal.records.conversations import (
    KEPT_SUMMARIES,
    Conversation,
    Exchange,
    Summary,
    TitledBy,
)
from crew.journal.records.exchanges import (
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
GET = sql(f"SELECT document FROM crew_conversations WHERE {OF}")  # noqa: S608 # ours
# others wait with their changes until the transaction's end
LOCK = sql(f"SELECT document FROM crew_conversations WHERE {OF} FOR UPDATE")  # noqa: S608 # ours
# only one of two that begin a conversation at the same time inserts; the other waits for it here
ADD = sql(
    "INSERT INTO crew_conversations VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1"
)
SET = sql(f"UPDATE crew_conversations SET used_at = $3, busy = $4, document = $5 WHERE {OF}")  # noqa: S608 # ours
LISTED = sql("""
SELECT document FROM crew_conversations AS one WHERE owner = $1
    AND ($2::text IS NULL OR (used_at, conversation_id) < ($2, $3))
    AND ($4::text IS NULL
        OR strpos(crew_casefold(document::json ->> 'title'), crew_casefold($4)) > 0
        OR EXISTS (
            SELECT 1 FROM crew_exchanges AS said
            WHERE said.owner = one.owner AND said.conversation_id = one.conversation_id
                AND strpos(crew_casefold(said.document::json ->> 'query'), crew_casefold($4)) > 0
        ))
ORDER BY used_at DESC, conversation_id DESC LIMIT $5
""")
IS_OPEN = sql("SELECT 1 FROM crew_runs WHERE run_id = $1 AND ended_at IS NULL")
WAITING = sql(f"SELECT count(*) FROM crew_conversation_queue WHERE {OF}")  # noqa: S608 # ours
WAIT = sql("INSERT INTO crew_conversation_queue VALUES ($1, $2, $3, $4)")
WAIT_NO_MORE = sql("DELETE FROM crew_conversation_queue WHERE run_id = $1")
LONGEST_WAITING = sql(f"""
DELETE FROM crew_conversation_queue WHERE run_id = (
    SELECT run_id FROM crew_conversation_queue WHERE {OF} ORDER BY number LIMIT 1
) RETURNING run_id
""")  # noqa: S608 # ours
WAITING_RUNS = sql("SELECT run_id FROM crew_conversation_queue WHERE run_id = ANY($1)")
EXCHANGES = f"SELECT document, transcript FROM crew_exchanges WHERE {OF}"  # noqa: S608 # ours
PLACED = "position > $3 AND position <= coalesce($4::int, position) ORDER BY position"
EXCHANGE_AT = sql(f"{EXCHANGES} AND number = $3")
EXCHANGES_AFTER = sql(f"{EXCHANGES} AND number > $3 ORDER BY number LIMIT $4")
EXCHANGES_THROUGH = sql(f"{EXCHANGES} AND number <= $3 ORDER BY number")
SHOWN = sql(f"{EXCHANGES} AND {PLACED}")
SHOWN_BRIEFLY = sql(f"SELECT document, '' FROM crew_exchanges WHERE {OF} AND {PLACED}")  # noqa: S608 # ours
SET_EXCHANGE = sql("""
INSERT INTO crew_exchanges VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (owner, conversation_id, number) DO UPDATE SET position = excluded.position,
    document = excluded.document, transcript = excluded.transcript
""")
NEWEST_SUMMARY = sql(f"""
SELECT document FROM crew_summaries WHERE {OF}
    AND ($3::int IS NULL OR (document::json ->> 'through')::int <= $3)
ORDER BY version DESC LIMIT 1
""")  # noqa: S608 # ours
ADD_SUMMARY = sql("INSERT INTO crew_summaries VALUES ($1, $2, $3, $4)")
OLD_SUMMARIES = sql(f"DELETE FROM crew_summaries WHERE {OF} AND version <= $3")  # noqa: S608 # ours
OLD = sql("""
SELECT owner, conversation_id FROM crew_conversations WHERE used_at < $1 AND busy IS NULL LIMIT $2
""")


def begin_exchange(start: ExchangeStart) -> Steps[Began | Refused]:
    """Let a run be the next one, within the transaction of its start."""
    place = (start.owner, start.conversation_id)
    known = yield from _free(place)
    waiting = 0
    if known is not None:
        ((waiting,),) = yield WAITING, place
    began = begin(known, start, waiting)
    if isinstance(began, Refused):
        return began
    if known is not None:
        yield SET, _columns(began.conversation)
    elif not (yield ADD, _columns(began.conversation)):
        # another one began it meanwhile
        return Refused("moved")
    if began.waits:
        yield WAIT, (*place, start.number, start.run_id)
    return began


def lock_conversation(owner: str, conversation_id: str) -> Steps[Conversation | None]:
    """Read a conversation, and keep others from changing it until the transaction's end."""
    found = yield LOCK, (owner, conversation_id)
    return CONVERSATION.validate_json(found[0][0]) if found else None


def set_conversation(one: Conversation) -> Steps[None]:
    """Change a conversation that is locked."""
    yield SET, _columns(one)


def end_exchange(ended: ExchangeEnd) -> Steps[str | None]:
    """Write an exchange, within the transaction of its run's end; return the run that goes on."""
    place, given = (ended.owner, ended.conversation_id), ended.exchange
    known = yield from lock_conversation(*place)
    if known is None:
        return None
    yield WAIT_NO_MORE, (given.run_id,)
    next_run: str | None = None
    if known.busy == given.run_id:
        for (run_id,) in (yield LONGEST_WAITING, place):
            next_run = run_id
    earlier = yield EXCHANGE_AT, (*place, given.number)
    result = end(known, ended, _exchange(*earlier[0]) if earlier else None, next_run)
    yield SET, _columns(result.conversation)
    yield SET_EXCHANGE, _exchange_columns(place, result.exchange)
    yield from insert_chores(result.chores)
    yield from fill_core(ended)
    return next_run


def _free(place: tuple[str, str]) -> Steps[Conversation | None]:
    """Free a conversation of a run that has ended (an older version may have) or is not there."""
    known = yield from lock_conversation(*place)
    if known is None or known.busy is None:
        return known
    is_open = yield IS_OPEN, (known.busy,)
    return known if is_open else replace(known, busy=None)


def _columns(one: Conversation) -> tuple[object, ...]:
    document = CONVERSATION.dump_json(one)
    return (one.owner, one.conversation_id, one.used_at, one.busy, document)


def _exchange_columns(place: tuple[str, str], one: Exchange) -> tuple[object, ...]:
    document = EXCHANGE.dump_json(one, exclude={"transcript"})
    return (*place, one.number, one.position, document, one.transcript)


def _exchange(document: str, transcript: str) -> Exchange:
    return replace(EXCHANGE.validate_json(document), transcript=transcript)


class SqlConversations:
    """See ConversationLog."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def create(self, conversation: Conversation) -> bool:
        """See ConversationLog."""
        return bool(await self._database.fetch(ADD, *_columns(conversation), writes=True))

    async def get(self, owner: str, conversation_id: str) -> Conversation | None:
        """See ConversationLog."""
        found = await self._database.fetch(GET, owner, conversation_id)
        return CONVERSATION.validate_json(found[0][0]) if found else None

    async def listed(
        self,
        owner: str,
        limit: int = 50,
        after: tuple[str, str] | None = None,
        text: str | None = None,
    ) -> list[Conversation]:
        """See ConversationLog."""
        values = (owner, *(after or (None, None)), text, limit)
        found = await self._database.fetch(LISTED, *values)
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
        def work() -> Steps[bool]:
            known = yield from lock_conversation(owner, conversation_id)
            changed = change(known) if known is not None else None
            if changed is not None:
                yield SET, _columns(changed)
            return changed is not None

        return await self._database.transact(work)

    async def exchanges(
        self, owner: str, conversation_id: str, after: int = 0, limit: int = 50
    ) -> list[Exchange]:
        """See ConversationLog."""
        found = await self._database.fetch(EXCHANGES_AFTER, owner, conversation_id, after, limit)
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
        statement = SHOWN if transcripts else SHOWN_BRIEFLY
        found = await self._database.fetch(statement, owner, conversation_id, after, through)
        return [_exchange(*one) for one in found]

    async def summary(
        self, owner: str, conversation_id: str, through: int | None = None
    ) -> Summary | None:
        """See ConversationLog."""
        found = await self._database.fetch(NEWEST_SUMMARY, owner, conversation_id, through)
        return SUMMARY.validate_json(found[0][0]) if found else None

    async def add_summary(
        self, owner: str, conversation_id: str, summary: Summary, created_at: str
    ) -> bool:
        """See ConversationLog."""
        place = (owner, conversation_id)

        def work() -> Steps[bool]:
            known = yield from lock_conversation(*place)
            changed = summarised(known, summary, created_at) if known is not None else None
            if changed is None:
                return False
            yield SET, _columns(changed)
            yield ADD_SUMMARY, (*place, summary.version, SUMMARY.dump_json(summary))
            yield OLD_SUMMARIES, (*place, summary.version - KEPT_SUMMARIES)
            return True

        return await self._database.transact(work)

    async def fork(
        self, owner: str, conversation_id: str, through: int, copy: Conversation
    ) -> bool:
        """See ConversationLog."""
        place = (copy.owner, copy.conversation_id)

        def work() -> Steps[bool]:
            known = yield from lock_conversation(owner, conversation_id)
            if known is None:
                return False
            found = yield EXCHANGES_THROUGH, (owner, conversation_id, through)
            exchanges = [_exchange(*one) for one in found]
            shown = sum(one.position is not None for one in exchanges)
            found = yield NEWEST_SUMMARY, (owner, conversation_id, shown)
            summary = SUMMARY.validate_json(found[0][0]) if found else None
            made, summary = copy_of(known, copy, exchanges, summary)
            if not (yield ADD, _columns(made)):
                return False
            for one in exchanges:
                yield SET_EXCHANGE, _exchange_columns(place, one)
            if summary is not None:
                yield ADD_SUMMARY, (*place, summary.version, SUMMARY.dump_json(summary))
            return True

        return await self._database.transact(work)

    async def delete(
        self,
        owner: str,
        conversation_id: str,
        unused_since: str | None = None,
    ) -> Literal["deleted", "busy", "none"]:
        """See ConversationLog."""
        result = await self._database.transact(
            lambda: _delete((owner, conversation_id), unused_since)
        )
        if result == "deleted":
            await self._database.forget_deleted()
        return result

    async def old(self, before: str, limit: int = 100) -> list[tuple[str, str]]:
        """See ConversationLog."""
        return [(one[0], one[1]) for one in await self._database.fetch(OLD, before, limit)]

    async def waiting(self, run_ids: Sequence[str]) -> set[str]:
        """See ConversationLog."""
        found = await self._database.fetch(WAITING_RUNS, list(run_ids))
        return {run_id for (run_id,) in found}


def _delete(
    place: tuple[str, str], unused_since: str | None
) -> Steps[Literal["deleted", "busy", "none"]]:
    known = yield from _free(place)
    if known is None:
        return "none"
    if known.busy is not None or is_used(known, unused_since):
        return "busy"
    yield from delete_with_all(place)
    return "deleted"
