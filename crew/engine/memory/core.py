"""Blocks of core memory, changed by an agent."""

from collections.abc import Sequence

from crew.engine.masking import masked_data
from crew.engine.memory.speaker import Speaker
from crew.journal.errors import StoreError
from crew.journal.records.remembered.core import CoreValue, CoreVersion
from crew.memory.core import CoreError, CoreRule, block_text, checked, edited, value_of
from crew.memory.names import shares_name
from tools.clock import rfc3339
from tools.errors import TemporaryError

# another one may change the same block at the same time
MAX_TRIES = 10


async def edit_block(
    speaker: Speaker, block: str, edits: Sequence[tuple[str, str]], quote: str, key: str
) -> str:
    """See Memory."""
    rules = speaker.crew.memory.core
    rule = rules.get(block)
    if rule is None:
        text = f"there is no block {block!r}; known: {', '.join(rules)}"
        raise await speaker.refuse("value", text)
    if "agent" not in rule.writers:
        raise await speaker.refuse("writer", f"agents may not change {block}")
    owner = await speaker.owner(block, rule.scope)
    await speaker.require_quote(quote)
    if speaker.state.taint and rule.schema is None:
        recall = speaker.crew.memory.recall
        words = recall.words if recall is not None else None
        for old, new in edits:
            if not shares_name(new, quote, words, known=old):
                text = f"what is to stand in {block} has a name or a number that quote has not"
                raise await speaker.refuse("name", text)
    try:
        return await _edit(speaker, rule, owner, edits, quote, key)
    except CoreError as error:
        raise await speaker.refuse("value", f"{block} is not changed: {error}") from error
    except StoreError as error:
        raise TemporaryError(f"{block} is not changed: {error}") from error


async def _edit(
    speaker: Speaker,
    rule: CoreRule,
    owner: str,
    edits: Sequence[tuple[str, str]],
    quote: str,
    key: str,
) -> str:
    secrets, store = speaker.crew.secrets, speaker.store
    for _ in range(MAX_TRIES):
        versions = await store.core.versions(owner, rule.name)
        made = next((one for one in versions if one.key == key), None)
        if made is not None:
            # before the process ended that made the call; its event may be lost
            await speaker.tell("edited", made.block, made.version)
            return _answer(rule, value_of(rule, made)[0])
        newest = versions[0] if versions else None
        value, _ = value_of(rule, newest)
        changed = checked(rule, masked_data(edited(rule, value, edits), secrets))
        if changed == value:
            return f"Nothing has changed. {_answer(rule, value)}"
        number = newest.version + 1 if newest is not None else 1
        version = CoreVersion(
            owner,
            rule.name,
            number,
            changed,
            rfc3339(store.now()),
            "agent",
            speaker.agent.id,
            *rule.origin(speaker.state.run_id, secrets.mask(quote)),
            key,
            rule.taint(newest, speaker.state.taint),
        )
        if await store.core.add(version):
            await speaker.tell("edited", version.block, version.version)
            return _answer(rule, changed)
    raise TemporaryError(f"others are changing {rule.name}")


def _answer(rule: CoreRule, value: CoreValue) -> str:
    return f"{rule.name} is now:\n{block_text(rule, value)}"
