"""Results of calls that are kept for a while, so that the same call need not be made again."""

import json
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any

from tools.clock import Clock

# the oldest go first
MAX_KEPT = 1000
# of one result; a longer one is not kept
MAX_KEPT_CHARS = 65_536


class KeptResults:
    """Of one process and one revision of a crew."""

    def __init__(self, clock: Clock, most: int = MAX_KEPT) -> None:
        """Keep nothing yet.

        Args:
            clock: of the time that results are kept for.
            most: results at the same time.
        """
        self._clock, self._most = clock, most
        # by key: until when, and the result
        self._kept: OrderedDict[Hashable, tuple[float, str]] = OrderedDict()

    def find(self, key: Hashable) -> str | None:
        """Find a result that is still kept."""
        until, text = self._kept.get(key, (0.0, ""))
        if until <= self._clock.monotonic():
            self._kept.pop(key, None)
            return None
        self._kept.move_to_end(key)
        return text

    def keep(self, key: Hashable, text: str, seconds: float) -> None:
        """Keep a result for so many seconds."""
        if len(text) > MAX_KEPT_CHARS:
            return
        self._kept[key] = self._clock.monotonic() + seconds, text
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self, user_id: str) -> None:
        """Forget what is kept for a user; see `CallOrigin.keeper`, with which such keys end."""
        for key in list(self._kept):
            keeper = key[-1] if isinstance(key, tuple) and isinstance(key[-1], str) else ""
            if keeper and json.loads(keeper)[1] == user_id:
                del self._kept[key]


def arguments_key(arguments: Mapping[str, Any]) -> str:
    """Return the same for equal arguments, in whatever order."""
    return json.dumps(arguments, sort_keys=True, default=str)
