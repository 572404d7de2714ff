"""Items of recall memory, remembered, found and forgotten by an agent."""

from crew.engine.memory.speaker import Speaker
from crew.journal.errors import StoreError
from crew.journal.records.remembered.recall import RecallItem
from crew.journal.remembered.events import DocumentsShown, MemorySearched
from crew.memory.names import shares_name
from crew.memory.recall import (
    RecallError,
    RecallRule,
    checked_importance,
    checked_key,
    checked_text,
    item_line,
    new_item_id,
    taint_of,
    touched_ids,
)
from tools.clock import rfc3339
from tools.errors import PermanentError, TemporaryError

NAME = "recall memory"
DONE = {
    "added": "It is remembered as {id}.",
    "again": "It was known already, as {id}.",
    "replaced": "It is remembered as {id}, in the place of {replaced}.",
}


async def remember_text(
    speaker: Speaker, text: str, key: str, importance: float, quote: str, call_key: str
) -> str:
    """See Memory."""
    rule = _rule(speaker)
    owner = await speaker.owner(NAME, rule.scope)
    mask, query, now = speaker.crew.secrets.mask, speaker.state.query, speaker.store.now()
    try:
        kept = checked_text(mask(text))
    except RecallError as error:
        raise await speaker.refuse("value", f"it is not remembered: {error}") from error
    await speaker.require_quote(quote)
    if quote and not shares_name(kept, quote, rule.words):
        why = "the text names what quote does not: give the words that say so"
        raise await speaker.refuse("name", why)
    at = rfc3339(now)
    try:
        item = RecallItem(
            owner,
            new_item_id(now),
            kept,
            at,
            at,
            key=checked_key(mask(key)),
            importance=checked_importance(importance),
            quote=mask(quote),
            conversation_id=query.conversation_id,
            exchange=speaker.state.conversation.exchange,
            run_id=speaker.state.run_id,
            by="agent",
            who=speaker.agent.id,
            call_key=call_key,
            taint=speaker.state.taint,
        )
    except RecallError as error:
        raise await speaker.refuse("value", f"it is not remembered: {error}") from error
    try:
        made = await speaker.store.recall.add(owner, [rule.addition(item)], rule.limits(now))
    except StoreError as error:
        raise TemporaryError(f"it is not remembered: {error}") from error
    if made is None:
        raise await speaker.refuse("owner", "it is not remembered: the conversation was deleted")
    (done,) = made
    if done.op == "full":
        raise await speaker.refuse("full", f"it is not remembered: {rule.full}")
    ids = tuple(filter(None, (done.item_id, done.replaced)))
    await speaker.tell(done.op, ids=ids)
    return DONE[done.op].format(id=done.item_id, replaced=done.replaced)


async def search_items(speaker: Speaker, query: str, most: int) -> str:
    """See Memory."""
    rule = _rule(speaker)
    owner = await speaker.owner(NAME, rule.scope)
    store, clock = speaker.store, speaker.crew.clock
    started, now = clock.monotonic(), speaker.store.now()
    try:
        found = await speaker.finder.items(rule.search(owner, query, most, now), query) or []
        if old := touched_ids(found, now):
            await store.recall.touch(owner, old, rfc3339(now))
    except StoreError as error:
        raise TemporaryError(f"{NAME} cannot be searched: {error}") from error
    await speaker.emit(MemorySearched(speaker.agent.id, clock.monotonic() - started))
    if not found:
        return "Nothing is remembered that has these words."
    if taint := taint_of(found):
        who = speaker.agent.id, speaker.agent.name, speaker.group
        await speaker.emit(DocumentsShown(*who, (), taint))
    return "\n".join(map(item_line, found))


async def drop_item(speaker: Speaker, item_id: str, quote: str) -> str:
    """See Memory."""
    rule = _rule(speaker)
    owner = await speaker.owner(NAME, rule.scope)
    # where text of others was read, that may ask for it
    await speaker.require_quote(quote)
    try:
        is_known = await speaker.store.recall.delete(owner, item_id)
    except StoreError as error:
        raise TemporaryError(f"it is not forgotten: {error}") from error
    if not is_known:
        return f"There is nothing remembered as {item_id}."
    await speaker.tell("forgot", ids=(item_id,))
    return f"{item_id} is forgotten."


def _rule(speaker: Speaker) -> RecallRule:
    rule = speaker.crew.memory.recall
    if rule is None:
        raise PermanentError("this crew has no recall memory")
    return rule
