"""What an agent is shown beside the run's own messages: loaded once for a segment of its turns."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.messages import Message
from agents.model import ShownImage, ShownMessage


@dataclass(frozen=True, slots=True)
class PastExchange:
    """An earlier run of the conversation, as messages."""

    number: int
    # its place among those that models are shown
    position: int
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class LoadedBlock:
    """A block that was loaded, or why it was not."""

    kind: str
    # "" where there is nothing to show
    text: str = ""
    ids: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()
    load_millis: float = 0.0
    is_late: bool = False
    # of what is kept, what may stand there no more and is not shown
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Of one agent, in one segment."""

    # what stands before the history, in this order
    before: tuple[LoadedBlock, ...] = ()
    # what stands before the newest query
    beside: tuple[LoadedBlock, ...] = ()
    past: tuple[PastExchange, ...] = ()
    # how long the history took
    history_millis: float = 0.0
    history_is_late: bool = False
    # the run is in a conversation
    is_conversation: bool = False
    # the tools that gave text of others in what stands there
    taint: tuple[str, ...] = ()
    # that go with the run's own messages, by their ids
    images: Mapping[str, ShownImage] = field(default_factory=dict)

    @property
    def late(self) -> list[str]:
        """The kinds of what was not loaded in time."""
        found = [one.kind for one in (*self.before, *self.beside) if one.is_late]
        return [*found, "history"] if self.history_is_late else found


NOTHING = Loaded()


async def load_nothing() -> Loaded:
    """Return the context of a run that has nothing but its own messages."""
    return NOTHING


@dataclass(slots=True)
class Context:
    """Loads at first use; remembers its warnings, and what messages are shown as."""

    load: Callable[[], Awaitable[Loaded]] = load_nothing
    # what messages are shown as, by their ids; with each message, so that its id stays its own
    shown: dict[int, tuple[Message, list[ShownMessage]]] = field(default_factory=dict)
    # a helper could not shorten it: it is not asked again
    helper_failed: bool = False
    _loaded: Loaded | None = None
    # what was left out when it was told; None: it was not told yet
    _told: int | None = field(default=None)

    async def get(self) -> Loaded:
        """Return what was loaded."""
        if self._loaded is None:
            self._loaded = await self.load()
        return self._loaded

    def is_news(self, left_out: int) -> bool:
        """Return whether so much left out is news; it is none from now on."""
        is_news = self._told is None or left_out > self._told
        if is_news:
            self._told = left_out
        return is_news
