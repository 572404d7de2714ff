"""A client's query, and a person's answer to a pause."""

import re
from dataclasses import dataclass, field
from typing import Any, Literal
from unicodedata import category

from agents.messages import AgentMessage, Attachment, Message, SystemMessage, UserMessage
from tools.approval import Remember

# all but line feed, carriage return and tab; and halves of surrogate pairs, which have no UTF-8
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# of runs, agents and conversations
MAX_ID = 128
ID = rf"^[A-Za-z0-9_-]{{1,{MAX_ID}}}$"
NO_ID = f"is 1 to {MAX_ID} of the characters A to Z, a to z, 0 to 9, _ and -"
MAX_USER_ID = 256
DEFAULT_PRIORITY = 5
MAX_PRIORITY = 9
Role = Literal["user", "assistant", "system"]
# user: a person in a terminal
SourceKind = Literal["user", "console", "api", "schedule", "hook", "fork"]
Decision = Literal["approve", "deny", "retry", "skip", "done"]


def text_error(text: str) -> str | None:
    """Return why a text from a person or a program is refused; None if it is not."""
    found = CONTROL.search(text)
    if found is None:
        return None
    character = f"U+{ord(found[0]):04X}"
    return (
        f"has the character {character}; "
        "of control characters only line feed, carriage return and tab are allowed"
    )


def is_blank(text: str) -> bool:
    """Return whether nothing of a text is seen: white space, and characters without a width."""
    return all(one.isspace() or category(one) in ("Cc", "Cf", "Zs") for one in text)


def id_error(text: str) -> str | None:
    """Return why a conversation cannot have this id; None if it can."""
    if re.fullmatch(ID, text) is not None:
        return None
    return NO_ID


def user_id_error(text: str) -> str | None:
    """Return why no user has this id; None if one may."""
    if 0 < len(text) <= MAX_USER_ID and text.isprintable():
        return None
    return f"is 1 to {MAX_USER_ID} printable characters"


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message of a history that a client gives."""

    role: Role
    content: str

    def as_message(self, agent_id: str, name: str) -> Message:
        """Return it as a message; its `assistant` is the agent that the run begins with."""
        match self.role:
            case "user":
                return UserMessage(self.content)
            case "assistant":
                return AgentMessage(agent_id, name, self.content)
            case "system":
                return SystemMessage(self.content)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's key: the same request again under it starts nothing a second time."""

    key: str
    # of what is asked
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question to a crew: starts a run."""

    text: str
    history: tuple[HistoryMessage, ...] = ()
    # start at this agent instead of the entry
    agent_id: str | None = None
    # publish the text as it is written
    deltas: bool = False
    # 0 to 9; where runs wait, higher ones go first
    priority: int = DEFAULT_PRIORITY
    # the person the run is for; "" for none
    user_id: str = ""
    # the conversation that it goes on with; "" for none
    conversation_id: str = ""
    # one of `settings.client_models`, for the agents that take it; "": each has its own
    model: str = ""
    # what goes with the text
    attachments: tuple[Attachment, ...] = ()
    # what the run may cost; None: as much as budgets have
    max_usd: float | None = None


# of a run that has not started
NO_QUERY = Query("")


@dataclass(frozen=True, slots=True)
class Source:
    """What has started a run."""

    kind: SourceKind
    # of the schedule or the hook; of a fork, the run that was copied
    name: str = ""


API = Source("api")


# the id of the question of a budget, which stands as a call
BUDGET_CALL = "budget"


@dataclass(frozen=True, slots=True)
class CallDecision:
    """What a person decides on one of the calls that a pause asks about."""

    call_id: str
    decision: Decision
    # whose call it is; None: there is only one of this id
    agent_id: str | None = None
    reason: str = ""
    # with `done`: what the call returned
    result: str = ""
    # of the call that the person was shown; "": not said
    hash: str = ""
    # with `approve`: instead of those of the call
    arguments: dict[str, Any] | None = None
    # with `approve`: later calls are approved too
    remember: Remember | None = None
    # with `always`: globs on the texts of arguments that may be others
    patterns: dict[str, str] = field(default_factory=dict)

    @property
    def given(self) -> str:
        """What is given to a budget, in short; "" for calls: their arguments are the events'."""
        if self.call_id != BUDGET_CALL or not self.arguments:
            return ""
        return " " + " ".join(f"{key}:{value}" for key, value in self.arguments.items())


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to a pause: resumes a run."""

    text: str = ""
    # where the pause asks about calls, on all of them; None: the text says it
    decision: Decision | None = None
    # with `done`: what the call returned
    result: str = ""
    # the number of the `pause` event that is answered; None: whichever the run is in
    pause_seq: int | None = None
    deltas: bool = False
    # on each call by itself, instead of `decision`
    decisions: tuple[CallDecision, ...] = ()
    # the name of the token it came with; "" where there are none
    by: str = ""
    # what goes with the text
    attachments: tuple[Attachment, ...] = ()
    # who gives it may raise budgets
    may_spend: bool = True
    # what a client that has only words has said, which was read as these decisions
    heard: str = ""

    @property
    def says_something(self) -> bool:
        """Whether there is anything in it; an empty one only ends a run."""
        return bool(self.text or self.attachments or self.decision or self.decisions)

    @property
    def decides(self) -> str:
        """What it decides on calls, in short; "" for one in words."""
        each = [
            f"{one.call_id}={one.decision}{' always' * (one.remember == 'always')}{one.given}"
            for one in self.decisions
        ]
        return ", ".join(each) or self.decision or ""
