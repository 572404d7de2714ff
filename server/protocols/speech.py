"""What agents say to people: live, as pieces, and whole; without the signals that were acted on.

An answer is known to lead on by a signal only from the event behind it, so it is held until then;
both are stored together. Of live pieces, what may become a signal is held back.
"""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from crew.journal.wire import RunEvent, Speaker
from crew.routing.signals import Signal, ending_signal


def is_part(speaker: Speaker) -> bool:
    """Return whether it speaks beside the run's main line."""
    return any(speaker[1:])


# reasons of an end without an answer of its own
UNANSWERED = frozenset({"paused", "cancelled", "abandoned"})
# of a typed answer, one of these stands beside it
TYPED = frozenset({"output", "invalid"})
# behind the last answer of a run, or of a part of it up to a pause
ENDING = frozenset({"done", "pause", "warning"})


class SettledEvent(NamedTuple):
    """An event, and the words of it that are for people."""

    event: RunEvent
    text: str


@dataclass(slots=True)
class _Live:
    """The pieces of an answer so far, and how much of them was sent."""

    text: str = ""
    sent: int = 0
    # of a request that broke, some was sent: what follows stands apart from it
    is_behind: bool = False

    @property
    def has_any(self) -> bool:
        """Whether anything was sent."""
        return self.is_behind or self.sent > 0

    def begin_again(self) -> None:
        """Forget the pieces of a request that is made again."""
        self.is_behind = self.has_any
        self.text, self.sent = "", 0


class Speech:
    """The words of one run, for people."""

    def __init__(self, signals: Sequence[str] = (), *, shows_signals: bool = False) -> None:
        """`signals`: of the crew; a live piece that may become one is held back."""
        self.shows_signals = shows_signals
        self._signals = tuple(Signal.of(one) for one in signals if one)
        self._forms = tuple(_squeezed(_folded(one)) for one in signals if one)
        decomposed = (unicodedata.normalize("NFD", one) for one in self._forms)
        self._starts = frozenset(one[0] for one in (*self._forms, *decomposed))
        self._reach = 4 * max(map(len, self._forms), default=0)
        self._live: dict[Speaker, _Live] = {}
        self._held: RunEvent | None = None
        # the last answer of the main line, and its words for people
        self._last = ("", "")
        # those that led on, which were said when that was known
        self._earlier: dict[str, str] = {}

    def settle(self, event: RunEvent) -> list[SettledEvent]:
        """Return the stored events that are certain now, in their order."""
        out = []
        if self._held is not None:
            held, text = self._held, self._words(self._held, event)
            out.append(SettledEvent(held, text))
            self._held = None
            if not is_part(held.speaker):
                self._last = held.content, text
                # the same words may be said again, and be the last then
                self._earlier.pop(held.content, None)
                if event.type not in ENDING:
                    # a typed one may be the run's answer all the same, by a limit
                    self._earlier[held.content] = self._cut(held.content, event)
        if event.type == "agent_response":
            self._held = event
        elif event.type == "done":
            out.append(SettledEvent(event, self._ending(event)))
        else:
            out.append(SettledEvent(self.swept(event), event.content))
        return out

    def _words(self, answer: RunEvent, following: RunEvent) -> str:
        """Return what an answer says to people.

        A typed one says its words, if it has any; as the run's own answer it is what the run has.
        """
        is_typed = not answer.metadata.keys().isdisjoint(TYPED)
        asks_of_calls = following.type == "pause" and following.metadata.get("question")
        if is_typed and (following.type not in ENDING or asks_of_calls or is_part(answer.speaker)):
            words: str = answer.metadata.get("words", "")
            return words
        return self._cut(answer.content, following)

    def _ending(self, event: RunEvent) -> str:
        """Return the words with which a run ends, or waits: it may do so without a new answer."""
        answer, (said, text) = event.metadata["answer"], self._last
        if answer in self._earlier:
            # who waits has said nothing yet; the one before it is not heard again
            return "" if event.metadata["reason"] in UNANSWERED else self._earlier[answer]
        return text if said and answer == said else self._cut(answer, event)

    def swept(self, event: RunEvent) -> RunEvent:
        """Return a `gap` with an answer for people; any other event as it is.

        No event says any more which signal ended the run: one at the end of its answer did.
        """
        if event.type != "gap":
            return event
        result = event.metadata["snapshot"]
        shown = self.shown(result["answer"] or "")
        if shown == (result["answer"] or ""):
            return event
        result = {**result, "answer": shown}
        return replace(event, metadata={**event.metadata, "snapshot": result})

    def shown(self, answer: str) -> str:
        """Return a stored answer without the signal at its end, which no event says any more."""
        acted = "" if self.shows_signals else ending_signal(answer, self._signals)
        return answer.rstrip().removesuffix(acted).rstrip() if acted else answer

    def piece(self, event: RunEvent) -> str:
        """Return what may be sent of a live piece, and of those before it."""
        live = self._live.setdefault(event.speaker, _Live())
        if event.metadata.get("begins"):
            live.begin_again()
        live.text += event.content
        safe = len(live.text)
        if not self.shows_signals:
            safe = self._safe(live.text, live.sent)
        sent, live.sent = live.sent, max(live.sent, safe)
        piece = live.text[sent : live.sent]
        return f"\n\n{piece}" if piece and live.is_behind and not sent else piece

    def answer_piece(self, event: RunEvent, live: Collection[str]) -> str:
        """Return what may be sent of a live piece of the answer; "" for all other events.

        `live`: agents with answers that are sent as they are written.
        """
        who = event.speaker
        if event.type != "agent_delta" or is_part(who) or who[0] not in live:
            return ""
        return self.piece(event)

    def rest(self, speaker: Speaker, text: str) -> str:
        """Return what is still to be sent of a whole answer; its pieces are over."""
        live = self._live.pop(speaker, None)
        if live is None or not live.has_any:
            return text
        sent = live.text[: live.sent]
        if sent and text.startswith(sent):
            return text[len(sent) :]
        # of an attempt that failed; or only white space is missing at its end
        return "" if sent.startswith(text) and not sent[len(text) :].strip() else f"\n\n{text}"

    def has_pieces(self, speaker: Speaker) -> bool:
        """Return whether some of an answer was sent."""
        live = self._live.get(speaker)
        return live is not None and live.has_any

    def _safe(self, text: str, start: int) -> int:
        """Return up to where a text has no beginning of a signal, from a place on."""
        if not self._signals:
            return len(text)
        # what was sent before is not looked at again
        folded = _folded(text[start:])
        for place, sign in enumerate(folded):
            if sign not in self._starts:
                continue
            rest = _squeezed(folded[place : place + self._reach])
            if any(one.startswith(rest) or rest.startswith(one) for one in self._forms):
                return start + place
        return len(text)

    def _cut(self, text: str, following: RunEvent) -> str:
        """Return a text without the signal that the event behind it acts on."""
        signal = following.metadata.get("signal")
        if self.shows_signals or not signal or following.type not in ("handoff", "done"):
            return text
        places = list(Signal.of(signal).pattern.finditer(text))
        if not places:
            return text
        before, behind = text[: places[-1].start()], text[places[-1].end() :]
        return before + behind if behind.strip() else before.rstrip()


def _squeezed(text: str) -> str:
    """Return a text in NFC without its white space, of which a signal may have more or less."""
    return "".join(unicodedata.normalize("NFC", text).split())


def _folded(text: str) -> str:
    """Return a text without case, of the same length: a few characters are folded to several."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(fold if len(fold := one.casefold()) == 1 else one for one in text)
