"""What a handler knows of its call, and can report of it."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tools.errors import PermanentError
from tools.forms import FormReply
from tools.tracing import TraceContext, derive_tool_span_id

# progress that is told, of one call
MAX_PROGRESS = 200
PROGRESS_SECONDS = 0.2

# what became of a call beside its output: `sent` (whether anything went out), `exit_code`,
# `http_status`, `truncated`, `refused`, `denied` (why nothing was sent)
Facts = dict[str, bool | int | str]
# of an environment variable by its name; raises PermanentError where it is not set
FindSecret = Callable[[str], str]


class Memory(Protocol):
    """Of one agent in one run."""

    async def edit_core(
        self, block: str, edits: Sequence[tuple[str, str]], quote: str, key: str
    ) -> str:
        """Change a block of core memory, and return its text as it is then.

        Args:
            block: its name.
            edits: what stands in its text, and what is to stand there instead; all or none.
            quote: words of the person that prove it; "" for none.
            key: of the call: made again, it changes nothing.

        Raises:
            ToolError: it was not changed.
        """
        ...

    async def remember(self, text: str, topic: str, importance: float, quote: str, key: str) -> str:
        """Remember an item, and return what that has come to.

        Args:
            text: of the item.
            topic: of which one item is remembered: a new one replaces it; "" for none.
            importance: 0 to 1.
            quote: words of the person that prove it; "" for none.
            key: of the call: made again, it changes nothing.

        Raises:
            ToolError: it is not remembered.
        """
        ...

    async def recall(self, query: str, most: int) -> str:
        """Return the items that words find, a line each; raises ToolError."""
        ...

    async def forget(self, item_id: str, quote: str) -> str:
        """Forget an item, as words of the person ask for; raises ToolError."""
        ...


class Documents(Protocol):
    """Of one agent in one run."""

    async def search(
        self, query: str, collection: str, document: str, most: int, seconds: float
    ) -> str:
        """Return the passages that words find, each with its number.

        Args:
            query: the words.
            collection: in this one alone; "" for all that the agent has.
            document: in the one of this name alone; "" for all.
            most: so many at most.
            seconds: for what is being read.

        Raises:
            ToolError: there is no such collection or document, or it cannot be searched.
        """
        ...

    async def read(self, document: str, start: int, chars: int, seconds: float) -> str:
        """Return characters of a document, with a number to cite; raises ToolError.

        Args:
            document: its name.
            start: the character to begin with.
            chars: so many at most.
            seconds: for a document that is being read.
        """
        ...

    async def listed(self) -> str:
        """Return the documents that there are, a line each; raises ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """Who makes a sequence of calls."""

    run_id: str = ""
    agent_id: str = ""
    # the person the run is for; else its owner
    user: str = ""
    # the group in which it speaks, where calls of several agents may have the same id
    group: str | None = None
    # the name of the token that the run belongs to; "" where there are none
    owner: str = ""
    # the person alone, and the conversation of the run; "" where there is none
    user_id: str = ""
    conversation_id: str = ""
    # what it remembers; None: the crew has no memory
    memory: Memory | None = None
    # what it may search and read; None: the agent has none
    documents: Documents | None = None
    # that its calls are part of; None: it is not traced
    trace: TraceContext | None = None

    @property
    def keeper(self) -> str:
        """Who may use a kept result: the person, of this owner; without one, the owner."""
        return json.dumps([self.owner, self.user_id])


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call is."""

    progress: float
    # what `progress` is at the end, if that is known
    total: float | None = None
    message: str = ""


def find_no_secret(name: str) -> str:
    """Raise PermanentError: there is no environment."""
    raise PermanentError(f"the environment variable {name} is not set")


class ToolContext:
    """Of one call; a Python tool gets it as the parameter that has this type.

    Attributes:
        call_id: the call's.
        run_id: the run that it is part of.
        agent_id: the agent that made it.
        user: the person the run is for (`user_id`), else its owner.
        owner: the name of the token that the run belongs to, which may act for many users.
        user_id: the person the run is for; "" where it names none.
        conversation_id: the conversation of the run; "" where it is in none.
        group: in which the agent speaks, if it does.
        facts: what became of the call beside its output.
        reply: a person's answers to the tool's forms (`FormsNeeded`).
        memory: what the crew remembers; None where it has no memory.
        documents: what the agent may search and read; None where it has none.
        trace: that the call is part of; None where the run is not traced.
    """

    def __init__(
        self,
        call_id: str = "",
        run_id: str = "",
        agent_id: str = "",
        user: str = "",
        group: str | None = None,
        *,
        owner: str = "",
        user_id: str = "",
        conversation_id: str = "",
        monotonic: Callable[[], float] = time.monotonic,
        find_secret: FindSecret = find_no_secret,
        reply: FormReply | None = None,
        memory: Memory | None = None,
        documents: Documents | None = None,
        trace: TraceContext | None = None,
    ) -> None:
        """Of a call of which no attempt has begun.

        Args:
            call_id: see above.
            run_id: see above.
            agent_id: see above.
            user: see above.
            group: in which the agent speaks, if it does.
            owner: see above.
            user_id: see above.
            conversation_id: see above.
            monotonic: the clock of its deadlines.
            find_secret: what `secret` asks.
            reply: see above.
            memory: see above.
            documents: see above.
            trace: see above.
        """
        self.call_id, self.run_id, self.agent_id, self.user = call_id, run_id, agent_id, user
        self.group, self.reply, self.owner = group, reply, owner
        self.user_id, self.conversation_id, self.memory = user_id, conversation_id, memory
        self.documents, self.trace = documents, trace
        self.facts: Facts = {}
        self._monotonic, self._find_secret = monotonic, find_secret
        self._ends_at = float("inf")
        self._tell: Callable[[Progress], None] | None = None
        self._told, self._next_told = 0, float("-inf")
        self._warnings: list[tuple[str, str]] = []

    @classmethod
    def of(
        cls,
        origin: CallOrigin,
        call_id: str,
        *,
        monotonic: Callable[[], float],
        find_secret: FindSecret,
        reply: FormReply | None,
    ) -> "ToolContext":
        """Return that of a call from an origin; for the rest see `__init__`."""
        return cls(
            *(call_id, origin.run_id, origin.agent_id, origin.user, origin.group),
            owner=origin.owner,
            user_id=origin.user_id,
            conversation_id=origin.conversation_id,
            memory=origin.memory,
            documents=origin.documents,
            trace=origin.trace,
            monotonic=monotonic,
            find_secret=find_secret,
            reply=reply,
        )

    def begin(self, ends_at: float, tell: Callable[[Progress], None]) -> None:
        """Begin another attempt.

        Args:
            ends_at: when it is ended, on the clock of deadlines.
            tell: gets its progress.
        """
        self._ends_at, self._tell = ends_at, tell
        # of the attempt before; that something was sent stays so
        self.facts.pop("http_status", None)
        self.facts.pop("exit_code", None)

    @property
    def key(self) -> str:
        """The same for each attempt of this call, also after a restart, and of no other call."""
        if self.group is None:
            return f"{self.run_id}-{self.call_id}"
        return f"{self.run_id}-{self.agent_id}-{self.call_id}"

    @property
    def traceparent(self) -> str:
        """The call's span as W3C's `traceparent`; "" where the run is not traced."""
        if self.trace is None:
            return ""
        return self.trace.at(derive_tool_span_id(self.key)).header

    @property
    def remaining_seconds(self) -> float:
        """Until this attempt is ended."""
        return max(0.0, self._ends_at - self._monotonic())

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Report how far the call is; at most 5 reports a second and 200 in all are shown."""
        now = self._monotonic()
        if self._tell is None or self._told >= MAX_PROGRESS or now < self._next_told:
            return
        self._told, self._next_told = self._told + 1, now + PROGRESS_SECONDS
        self._tell(Progress(progress, total, message))

    def secret(self, name: str) -> str:
        """Return the value of an environment variable, which is masked everywhere from then on.

        Raises:
            PermanentError: it is not set.
        """
        return self._find_secret(name)

    def begin_sending(self) -> None:
        """Note that from here on it is known whether anything goes out: nothing has yet."""
        self.facts.setdefault("sent", False)

    def warn(self, code: str, message: str) -> None:
        """Add a warning of the run, which is no part of the result."""
        self._warnings.append((code, message))

    def take_warnings(self) -> list[tuple[str, str]]:
        """Take the warnings since the last time."""
        taken, self._warnings = self._warnings, []
        return taken

    def note(self, **facts: Any) -> None:
        """Record what became of the call."""
        self.facts.update(facts)
