"""How often a caller may do something, and how many streams one may have."""

import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter as RefusedCounter

from server.http.errors import HttpProblem
from server.settings import ServerSettings

# of which it is known how often; the oldest is forgotten
MAX_KEYS = 10_000
# what may come at once, of that which may come in a minute
BURST_PART = 6


class Pace:
    """So many at once of each key, and one more after each so many seconds (a token bucket)."""

    def __init__(self, burst: float, seconds: float) -> None:
        self.burst, self.seconds = burst, seconds
        # by key: until when what it did counts, on the monotonic clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def wait(self, key: str) -> float:
        """Return for how many seconds a key has to wait; not above 0: it need not."""
        return self._until.get(key, 0.0) - time.monotonic() - (self.burst - 1) * self.seconds

    def count(self, key: str) -> None:
        """Count once more."""
        now = time.monotonic()
        self._until[key] = max(self._until.get(key, now), now) + self.seconds
        self._until.move_to_end(key)
        if len(self._until) > MAX_KEYS:
            self._until.popitem(last=False)


class RateLimits:
    """Requests of each token and address, and open streams of each token."""

    def __init__(self, settings: ServerSettings, refused: RefusedCounter) -> None:
        """`refused`: by its label `reason`."""
        self.per_minute, self.max_streams = settings.requests_per_minute, settings.max_streams
        burst, seconds = max(1.0, self.per_minute / BURST_PART), 60 / self.per_minute
        self._requests = Pace(burst, seconds)
        self._streams: Counter[str] = Counter()
        self.refused = refused

    def take_request(self, key: str) -> None:
        """Count a request of a token, or an address; raises HttpProblem if that is too often."""
        late = self._requests.wait(key)
        if late > 0:
            self.refused.labels("rate").inc()
            text = f"more than {self.per_minute:,} requests a minute; try again later"
            raise HttpProblem(429, text, headers={"Retry-After": str(int(late) + 1)})
        self._requests.count(key)

    def check_stream(self, token_id: str) -> None:
        """Raise HttpProblem if a token has as many streams as it may."""
        if self._streams[token_id] >= self.max_streams:
            self.refused.labels("streams").inc()
            text = f"{self.max_streams:,} streams of this token are open; close one first"
            raise HttpProblem(429, text, headers={"Retry-After": "5"})

    @contextmanager
    def stream(self, token_id: str) -> Iterator[None]:
        """Hold a stream for as long as the block lasts."""
        self._streams[token_id] += 1
        try:
            yield
        finally:
            self._streams[token_id] -= 1
            if self._streams[token_id] == 0:
                del self._streams[token_id]
