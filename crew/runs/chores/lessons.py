"""What an answer of helper `learn` may teach; what no quote proves is left out. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError, model_validator

from crew.journal.query import text_error
from crew.journal.records.conversations import Exchange
from crew.journal.records.remembered.core import CoreValue, CoreVersion
from crew.journal.records.remembered.recall import Addition, RecallItem
from crew.journal.remembered.events import Refusal
from crew.memory.core import CoreError, CoreRule, checked, edited, value_of
from crew.memory.names import shares_name
from crew.memory.proofs import OwnWords
from crew.memory.recall import (
    MAX_OUTCOME,
    MAX_QUOTE,
    RecallError,
    RecallRule,
    Teacher,
    checked_importance,
    checked_key,
    checked_text,
    checked_topics,
    new_item_id,
    taint_of,
)
from crew.memory.words import Words
from tools.clock import rfc3339

# of one answer
MAX_ITEMS, MAX_EDITS = 10, 10
# as who has it remembered
LEARNER = "learn"


class LessonPart(BaseModel):
    """A part of an answer; null is as if it was not given."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {key: value for key, value in given.items() if value is not None}


class LearnAnswer(LessonPart):
    """What helper `learn` answers; each entry is checked by itself."""

    remember: list[Any] = []
    core: list[Any] = []
    outcome: str = ""


class TaughtItem(LessonPart):
    """Something to be remembered."""

    text: str
    quote: str
    exchange: int
    key: str = ""
    topics: list[str] = []
    importance: Annotated[float, Field(strict=True)] = 0.5
    # of the ten nearest items: the one that says the same, the one that it takes the place of
    same_as: int | None = None
    replaces: int | None = None


class TaughtEdit(LessonPart):
    """Words of a block, and what is to stand there instead."""

    old: str
    new: str


class TaughtBlock(LessonPart):
    """A change of a block of core memory."""

    block: str
    edits: Annotated[list[TaughtEdit], Field(min_length=1)]
    quote: str
    exchange: int


@dataclass(frozen=True, slots=True)
class Material:
    """What a lesson is drawn from."""

    # the owner of items; None: there are none for this conversation
    owner: str | None
    conversation_id: str
    # by their numbers, and the words of each that prove something
    exchanges: Mapping[int, Exchange]
    said: Mapping[int, OwnWords]
    # as the helper was shown them: numbers 1 to 10
    nearest: Sequence[RecallItem]
    # blocks that it may change, each with its owner and newest version
    blocks: Mapping[str, tuple[CoreRule, str, CoreVersion | None]]
    now: datetime
    mask: Callable[[str], str]
    # changes a value as `mask` does a text
    mask_value: Callable[[CoreValue], CoreValue]

    @property
    def taint(self) -> tuple[str, ...]:
        """What it holds of others: the helper has read all of it."""
        read = (name for exchange in self.exchanges.values() for name in exchange.taint)
        return tuple(dict.fromkeys((*read, *taint_of(self.nearest))))


@dataclass(slots=True)
class Learned:
    """What an answer teaches, and what of it is left out."""

    additions: list[Addition] = field(default_factory=list)
    core: list[CoreVersion] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


class _Refused(Exception):
    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason)
        self.reason = reason


def learn_from(answer: LearnAnswer, given: Material, rule: RecallRule) -> Learned:
    """Return what an answer teaches.

    Args:
        answer: of the helper.
        given: what it had.
        rule: of recall memory.
    """
    learned = Learned()
    outcome = given.mask(" ".join(answer.outcome.split()))[:MAX_OUTCOME]
    if text_error(outcome) is not None:
        outcome = ""
    for one in answer.remember[:MAX_ITEMS]:
        try:
            learned.additions.append(_addition(one, given, rule, outcome))
        except _Refused as error:
            learned.refused.append(error.reason)
    values: dict[str, tuple[int, CoreValue]] = {}
    for one in answer.core[:MAX_EDITS]:
        try:
            learned.core += _versions(one, given, rule.words, values)
        except _Refused as error:
            learned.refused.append(error.reason)
    surplus = len(answer.remember[MAX_ITEMS:]) + len(answer.core[MAX_EDITS:])
    learned.refused += ["value"] * surplus
    return learned


def _addition(entry: Any, given: Material, rule: RecallRule, outcome: str) -> Addition:
    try:
        one = TaughtItem.model_validate(entry)
    except ValidationError as error:
        raise _Refused("value") from error
    if given.owner is None:
        raise _Refused("owner")
    mask, at = given.mask, rfc3339(given.now)
    try:
        text = checked_text(mask(one.text))
    except RecallError as error:
        raise _Refused("value") from error
    _require_quote(one.quote, one.exchange, given)
    if not shares_name(text, one.quote, rule.words):
        raise _Refused("name")
    said = given.exchanges[one.exchange]
    try:
        item = RecallItem(
            given.owner,
            new_item_id(given.now),
            text,
            at,
            # it was said then, however late it is learned
            said.ended_at or at,
            key=checked_key(mask(one.key)),
            topics=checked_topics([mask(topic) for topic in one.topics]),
            importance=checked_importance(one.importance),
            outcome=outcome,
            quote=mask(one.quote),
            conversation_id=given.conversation_id,
            exchange=one.exchange,
            run_id=said.run_id,
            by="learn",
            who=LEARNER,
            taint=given.taint,
        )
    except RecallError as error:
        raise _Refused("value") from error
    return rule.addition(
        item, _numbered(one.same_as, given.nearest), _numbered(one.replaces, given.nearest)
    )


def _numbered(number: int | None, nearest: Sequence[RecallItem]) -> str:
    """Return the id of an item by the number that the helper was shown; "" for none of them."""
    known = number is not None and 0 < number <= len(nearest)
    return nearest[number - 1].item_id if known and number is not None else ""


def _versions(
    entry: Any,
    given: Material,
    words: Words,
    values: dict[str, tuple[int, CoreValue]],
) -> list[CoreVersion]:
    """Return the version that a change makes, if it changes anything.

    `words`: of the crew's language; `values`: of the blocks that were changed before, with their
    versions.
    """
    try:
        one = TaughtBlock.model_validate(entry)
    except ValidationError as error:
        raise _Refused("value") from error
    if one.block not in given.blocks:
        raise _Refused("writer")
    rule, owner, version = given.blocks[one.block]
    _require_quote(one.quote, one.exchange, given)
    if rule.schema is None:
        for edit in one.edits:
            if not shares_name(edit.new, one.quote, words, known=edit.old):
                raise _Refused("name")
    number = version.version if version is not None else 0
    number, value = values.get(one.block, (number, value_of(rule, version)[0]))
    try:
        changed = edited(rule, value, [(edit.old, edit.new) for edit in one.edits])
        changed = checked(rule, given.mask_value(changed))
    except CoreError as error:
        raise _Refused("value") from error
    if changed == value:
        return []
    values[one.block] = number + 1, changed
    origin = rule.origin(given.exchanges[one.exchange].run_id, given.mask(one.quote))
    taint = rule.taint(version, given.taint)
    of = owner, one.block, number + 1, changed, rfc3339(given.now)
    return [CoreVersion(*of, "learn", LEARNER, *origin, taint=taint)]


def _require_quote(quote: str, exchange: int, given: Material) -> None:
    """Raise where a quote proves nothing in its exchange."""
    said = given.said.get(exchange)
    if said is None or len(quote) > MAX_QUOTE or not said.prove(quote):
        raise _Refused("quote")


def proving_words(exchange: Exchange, teachers: frozenset[Teacher]) -> list[str]:
    """Return the words of an exchange that prove something."""
    own = exchange.words_of_person if "person" in teachers else ()
    return [*own, *(exchange.words_of_agents if "agents" in teachers else ())]
