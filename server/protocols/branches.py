"""Branches of a conversation: what a client that has gone back in its history goes on with.

Such a client has one name for a chat, and repeats in each request what was said in it. Where it has
cut or edited that, the exchanges before go on in a copy: of conversation C, C-fork-1, C-fork-2, ….
"""

import re
from collections.abc import Sequence

from starlette.requests import Request

from crew.journal.query import MAX_ID
from crew.journal.records.conversations import Conversation, Exchange
from crew.journal.records.rows import RunRow
from crew.runs.errors import UnknownConversation
from server.http.callers.rights import require, user_of
from server.http.errors import HttpProblem
from server.http.services import services_of

MARK = re.compile(r"-fork-[1-9][0-9]*$")
# of one conversation; each is read to find the one that a client means
MAX_BRANCHES = 50


def has_gone_back(
    exchanges: Sequence[Exchange], shared: int, said: Sequence[str], text: str
) -> bool:
    """Return whether a client has gone back behind the newest of some exchanges.

    It may leave out old messages, and have some that the crew never got.

    Args:
        exchanges: of the conversation.
        shared: so many of the first are in what the client repeats.
        said: that, of the user.
        text: what the user says now.
    """
    if shared == len(exchanges) or (said and not shared):
        # nothing is missing, or all is in other words than those that were sent
        return False
    newest, queries = exchanges[-1], [one.query for one in exchanges]
    if not newest.ended_at and newest.query == text and shared == len(exchanges) - 1:
        # the same request again, whose run is at work or waits
        return False
    if said.count(newest.query) >= queries.count(newest.query):
        return False
    return len(said) < sum(len(one.heard_of_person) for one in exchanges)


def shared_exchanges(queries: Sequence[str], said: Sequence[str]) -> int:
    """Return how many of the first queries are among texts, in the same order."""
    place = 0
    for count, query in enumerate(queries):
        try:
            place = said.index(query, place) + 1
        except ValueError:
            return count
    return len(queries)


def thread_of(conversation_id: str) -> str:
    """Return a client's name for the chat that a conversation is a branch of."""
    return MARK.sub("", conversation_id)


def require_thread(row: RunRow, name: str) -> None:
    """Raise HttpProblem unless a run is of a conversation, as a client names that."""
    if name not in (row.conversation_id, thread_of(row.conversation_id), row.source_name):
        raise HttpProblem(409, "what is answered is of another conversation")


async def branches_of(request: Request, conversation: str) -> list[Conversation]:
    """Return a conversation of the caller and its branches, oldest first; [] without it."""
    conversations, user = services_of(request).runs.conversations, user_of(request, None)
    found: list[Conversation] = []
    while len(found) <= MAX_BRANCHES:
        try:
            found.append(await conversations.get(user, _name(conversation, len(found))))
        except UnknownConversation:
            break
    return found


async def branch_for(
    request: Request,
    conversation: str | None,
    messages: Sequence[tuple[str, str]],
    *,
    again: bool = False,
) -> str | None:
    """Return the conversation that a client's messages go on with; make one where it went back.

    Args:
        request: the client's.
        conversation: its name for it.
        messages: role and text of each; the last is what it says now.
        again: it wants its last message answered anew, or has edited that.

    Raises:
        HttpProblem: it has gone back too often.
    """
    services = services_of(request)
    runs, user = services.runs, user_of(request, None)
    if not conversation or runs.crew.config.conversations is None:
        return conversation
    said = [runs.crew.secrets.mask(text) for role, text in messages if role == "user"]
    repeats = len(messages) > 1 or again
    if not repeats or not messages or messages[-1][0] != "user":
        return conversation
    *said, text = said
    if not said and not again:
        # it has lost its words: that is no word of its user's
        return conversation
    known = await branches_of(request, conversation)
    best, exchanges, likeness = conversation, [], (0, 0)
    for one in known:
        found = await runs.conversations.all_exchanges(user, one.conversation_id)
        queries = [each.query for each in found]
        # where the beginning is left out, the others tell; of equal ones the newest is meant
        alike = shared_exchanges(queries, said), sum(each in queries for each in said)
        if alike >= likeness:
            best, exchanges, likeness = one.conversation_id, found, alike
    shared, _ = likeness
    if not has_gone_back(exchanges, shared, said, text):
        return best
    name = _name(conversation, len(known))
    if len(known) > MAX_BRANCHES or len(name) > MAX_ID:
        raise HttpProblem(409, "this chat was changed too often; begin another one")
    require(request, "run")
    through = exchanges[shared - 1].number if shared else 0
    try:
        await runs.conversations.fork(user, best, through, name)
    except UnknownConversation:
        # another request has made it meanwhile, or deleted the conversation
        return await branch_for(request, conversation, messages, again=again)
    return name


async def branch_behind(request: Request, row: RunRow) -> str | None:
    """Return the conversation that goes on behind a run of one; None where it is of none.

    It is another one where more was said in it since.
    """
    conversations, user = services_of(request).runs.conversations, user_of(request, None)
    if not row.conversation_id:
        return None
    try:
        known = await conversations.get(user, row.conversation_id)
        if row.exchange >= known.started:
            return known.conversation_id
        require(request, "run")
        made = await conversations.fork(user, known.conversation_id, row.exchange)
    except UnknownConversation:
        return row.conversation_id
    return made.conversation_id


def _name(conversation: str, number: int) -> str:
    return f"{conversation}-fork-{number}" if number else conversation
