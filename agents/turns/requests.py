"""The requests that one answer took, and their times."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from agents.events import FailedRequest
from agents.model import ModelEvent, RequestEnded, TextDelta, ThinkingDelta
from tools.clock import Clock


@dataclass(slots=True)
class Requests:
    """Those that were made for an answer, in order."""

    clock: Clock
    ended: list[RequestEnded] = field(default_factory=list)
    # of the newest, from its beginning to its first words; None: it is not streamed
    first_token_seconds: float | None = None
    _first_at: float | None = None
    _ended_at: float | None = None
    # between each of them and the next
    _waits: list[float] = field(default_factory=list)
    _calling_seconds: float = 0.0

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Count the time of this block, which calls the model."""
        started = self.clock.monotonic()
        try:
            yield
        finally:
            self._calling_seconds += self.clock.monotonic() - started

    def note(self, event: ModelEvent) -> None:
        """Note what a request has said, or its end."""
        if isinstance(event, TextDelta | ThinkingDelta):
            if self._first_at is None:
                self._first_at = self.clock.monotonic()
        elif isinstance(event, RequestEnded):
            now = self.clock.monotonic()
            if self._ended_at is not None:
                self._waits.append(max(0.0, now - event.duration_seconds - self._ended_at))
            self._ended_at = now
            self.ended.append(event)
            self.first_token_seconds = self._first_of(event)
            self._first_at = None

    def _first_of(self, event: RequestEnded) -> float | None:
        if self._first_at is None:
            return None
        since = self.clock.monotonic() - self._first_at
        return round(max(0.0, event.duration_seconds - since), 6)

    @property
    def provider(self) -> str:
        """Of the newest one; "" where none was made."""
        return self.ended[-1].provider if self.ended else ""

    @property
    def failed(self) -> tuple[FailedRequest, ...]:
        """Those that had no answer, each with the wait behind it."""
        ended = zip(self.ended, (*self._waits, 0.0), strict=False)
        return tuple([FailedRequest.of(*one) for one in ended if one[0].outcome != "success"])

    @property
    def waited_seconds(self) -> float:
        """The time in which a request was to be made, and none was, in whole milliseconds.

        That is for a place, a turn, a breaker, a budget, or before another try.
        """
        made = sum([one.duration_seconds for one in self.ended])
        return round(max(0.0, self._calling_seconds - made), 3)
