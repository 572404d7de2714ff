"""Conversations: threads of runs of one user, with their summaries and chores.

What the start and the end of a run change in one: see `exchanges`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.messages import Attachment
from crew.journal.events import RunStatus
from crew.journal.said import Said, heard_of_person, words_of_person

# of what belongs to no user
CREW_OWNER = "crew"
# of a title, in characters
MAX_TITLE = 60
# summaries that are kept
KEPT_SUMMARIES = 5
TitledBy = Literal["query", "helper", "person"]
# when a chore is due that is due at once
DUE = "1970-01-01T00:00:00.000Z"
ChoreKind = Literal["title", "summary", "learn", "erase", "read", "describe", "drop", "embed"]


def owner_of(user_id: str) -> str:
    """Return the owner of this user's conversations; "" for none."""
    return f"user:{user_id}" if user_id else CREW_OWNER


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread of runs. Times are RFC 3339, UTC."""

    owner: str
    conversation_id: str
    created_at: str
    # when its newest run started or ended
    used_at: str
    title: str = ""
    titled_by: TitledBy = "query"
    metadata: dict[str, Any] = field(default_factory=dict)
    # runs that were given a number in it, and those of them that have ended
    started: int = 0
    exchanges: int = 0
    # those that models are shown, and how many of them the newest summary covers
    shown: int = 0
    summarised: int = 0
    # through which exchange something was learned of it
    learned: int = 0
    # of the newest summary; 0: there is none
    summary_version: int = 0
    # its newest run, and how that was when it started or ended
    run_id: str | None = None
    status: RunStatus | None = None
    # the run that is at work or paused
    busy: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One run in a conversation: the query and the answer.

    One that is still open has what was said so far, no answer and no end.
    """

    # from 1 on
    number: int
    run_id: str
    query: str
    answer: str
    # who answered, and its display name
    agent_id: str
    agent: str
    status: RunStatus
    started_at: str
    # "" while it is open
    ended_at: str
    # what was said between query and answer, where the run paused
    said: tuple[Said, ...] = ()
    # its place among those that models are shown, from 1 on; None: it is not shown
    position: int | None = None
    # all that was said, as JSON, where it is kept; see `transcripts`
    transcript: str = ""
    # the tools that gave text of others in it, or in what it was shown
    taint: tuple[str, ...] = ()
    # what went with the query
    attached: tuple[Attachment, ...] = ()

    @property
    def words_of_person(self) -> tuple[str, ...]:
        """All that the person said in it: the query, and answers to pauses that are in words."""
        return words_of_person(self.query, self.said)

    @property
    def heard_of_person(self) -> tuple[str, ...]:
        """All that the person's client said in it: these, and what was read as a decision."""
        return heard_of_person(self.query, self.said)

    @property
    def words_of_agents(self) -> tuple[str, ...]:
        """What agents have said in it: the answer, and questions."""
        return (self.answer, *(one.text for one in self.said if one.agent_id))


@dataclass(frozen=True, slots=True)
class Fact:
    """What was said in a conversation, and where."""

    text: str
    # stands in the exchange of this number
    quote: str
    exchange: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What a conversation's oldest exchanges come to."""

    version: int
    # it covers the shown exchanges up to this place
    through: int
    text: str
    facts: tuple[Fact, ...]
    made_at: str
    # of the exchanges that it covers
    taint: tuple[str, ...] = ()

    @property
    def text_with_facts(self) -> str:
        """As models are shown it: each fact with its quote."""
        facts = [f'- {one.text} (exchange {one.exchange}: "{one.quote}")' for one in self.facts]
        return "\n".join([self.text, *facts])


@dataclass(frozen=True, slots=True)
class Chore:
    """Work after a run; of the same kind and key only one waits."""

    kind: ChoreKind
    owner: str
    # the conversation's id; of an erasure, when it was requested
    key: str
    due_at: str
    # how often it was taken
    attempts: int = 0


class ConversationLog(Protocol):
    """Keeps conversations. The owner is the first argument of all; methods raise StoreError."""

    async def create(self, conversation: Conversation) -> bool:
        """Keep a new one; False if there is one of its id."""
        ...

    async def get(self, owner: str, conversation_id: str) -> Conversation | None:
        """Return one of them."""
        ...

    async def listed(
        self,
        owner: str,
        limit: int = 50,
        after: tuple[str, str] | None = None,
        text: str | None = None,
    ) -> list[Conversation]:
        """Return the conversations of an owner, last used first.

        Args:
            owner: of it.
            limit: so many at most.
            after: (used_at, conversation_id) of the last one of the page before.
            text: is a part of the title or of a query, in whatever case.
        """
        ...

    async def set_title(
        self,
        owner: str,
        conversation_id: str,
        title: str,
        by: TitledBy,
        created_at: str | None = None,
    ) -> bool:
        """Name it; False if there is none, or a person has named it and this is a helper.

        `created_at`: of the one that is meant, where another one may have its id by now.
        """
        ...

    async def set_metadata(
        self, owner: str, conversation_id: str, metadata: Mapping[str, Any]
    ) -> bool:
        """Replace what programs keep with it; False if there is none."""
        ...

    async def exchanges(
        self, owner: str, conversation_id: str, after: int = 0, limit: int = 50
    ) -> list[Exchange]:
        """Return those with a number above `after`, in order."""
        ...

    async def shown(
        self,
        owner: str,
        conversation_id: str,
        after: int,
        through: int | None = None,
        *,
        transcripts: bool,
    ) -> list[Exchange]:
        """Return those that models are shown, at places above `after` (up to `through`), in order.

        `transcripts`: with all that was said in them, where that is kept.
        """
        ...

    async def summary(
        self, owner: str, conversation_id: str, through: int | None = None
    ) -> Summary | None:
        """Return the newest summary, or the newest that covers no more than this."""
        ...

    async def add_summary(
        self, owner: str, conversation_id: str, summary: Summary, created_at: str
    ) -> bool:
        """Keep a summary if its version is the next one; the newest few stay.

        `created_at`: of the conversation, which another one may have replaced meanwhile.
        """
        ...

    async def fork(
        self, owner: str, conversation_id: str, through: int, copy: Conversation
    ) -> bool:
        """Copy the exchanges up to a number, and the summary of those, into a new one.

        `copy` has the id and the times of the new one; its counts are set. False if there is no
        such conversation, or one of the new id.
        """
        ...

    async def delete(
        self,
        owner: str,
        conversation_id: str,
        unused_since: str | None = None,
    ) -> Literal["deleted", "busy", "none"]:
        """Delete one with all that is of it: runs, events, receipts, notices, chores.

        Args:
            owner: of it.
            conversation_id: the conversation.
            unused_since: only if it has not been used since then (else "busy").
        """
        ...

    async def old(self, before: str, limit: int = 100) -> list[tuple[str, str]]:
        """Return (owner, id) of conversations that were used before a time, and are not busy."""
        ...

    async def waiting(self, run_ids: Sequence[str]) -> set[str]:
        """Return which of some runs wait for another one of their conversation."""
        ...


class ChoreLog(Protocol):
    """Keeps chores, which are written with the ends of their runs. Methods raise StoreError."""

    async def add(self, chore: Chore) -> None:
        """Keep one that no run's end makes necessary."""
        ...

    async def take(
        self, now: str, until: str, limit: int, kinds: Sequence[ChoreKind]
    ) -> list[Chore]:
        """Take chores of some kinds that are due, earliest first.

        Due again at `until`, unless they are finished.
        """
        ...

    async def postpone(self, chore: Chore, until: str) -> None:
        """Let one be due at a later time."""
        ...

    async def finish(self, chore: Chore, now: str, *, more: bool = False) -> None:
        """Forget one that is done, or given up; not if another one has it by now.

        One that became necessary again meanwhile, or of which there is `more` to do, is due now.
        """
        ...

    async def free(self, now: str) -> None:
        """Let what was taken be taken again now: the processes that took it are gone."""
        ...

    async def counts(self) -> dict[ChoreKind, int]:
        """Return how many wait, by kind."""
        ...
