"""The texts that are being written in a run, for readers that come while they are."""

from bisect import bisect_left
from dataclasses import dataclass, field

from crew.journal.wire import RunEvent, Speaker, joined_pieces

# kinds of pieces, and of the events behind which a text is no longer written
PIECES = frozenset({"agent_delta", "agent_thinking"})
OF_SPEAKER = frozenset({"agent_start", "agent_response"})
OF_ALL = frozenset({"handoff", "parallel_end", "pause", "done", "error"})


@dataclass(slots=True)
class _Text:
    """The pieces of a text so far, and their places in the tail."""

    first: RunEvent
    newest: RunEvent
    places: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


class TextsUnderWay:
    """Keeps each text from its first piece until it is stored, or dropped."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, Speaker], _Text] = {}

    def note(self, event: RunEvent, place: int) -> None:
        """Note what comes next in the run; `place`: of the event in its tail."""
        if event.seq is None:
            if event.type in PIECES:
                self._add(event, place)
        elif self._texts:
            if event.type in OF_ALL:
                self._texts.clear()
            elif event.type in OF_SPEAKER:
                for type_ in PIECES:
                    self._texts.pop((type_, event.speaker), None)
            elif event.type == "task_end":
                self._drop_task(event.metadata["task"])

    def _add(self, event: RunEvent, place: int) -> None:
        key = event.type, event.speaker
        text = self._texts.get(key)
        if event.metadata.get("begins"):
            text = self._texts[key] = _Text(event, event)
        elif text is None:
            # its beginning is not known here
            return
        text.newest = event
        text.places.append(place)
        text.words.append(event.content)

    def _drop_task(self, task: str) -> None:
        for key in [one for one in self._texts if one[1][2] == task]:
            del self._texts[key]

    def before(self, place: int) -> list[RunEvent]:
        """Return what was written before a place, as one piece of each text that is under way."""
        made = []
        for text in self._texts.values():
            if count := bisect_left(text.places, place):
                words = "".join(text.words[:count])
                made.append(joined_pieces(text.first, words, text.newest.timestamp))
        return made
