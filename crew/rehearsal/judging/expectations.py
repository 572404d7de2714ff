"""Whether a run is as it was expected."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from crew.rehearsal.doubles.world import Mismatch, MismatchKind
from crew.rehearsal.judging.amounts import amounts, over
from crew.rehearsal.judging.calls import occurrences, wrong_call
from crew.rehearsal.judging.kept import wrong_kept
from crew.rehearsal.judging.paths import describe_difference, first_difference
from crew.rehearsal.judging.sent import wrong_requests
from crew.rehearsal.judging.story import Story
from crew.rehearsal.keys.durations import UNITS, WRITTEN
from crew.rehearsal.keys.expected import ExpectedPause
from crew.rehearsal.matching import is_like, occur_in_order, wrong_in
from crew.rehearsal.playing.player import Played, PlayedTurn
from tools.clock import rfc3339

# of what goes wrong by the rehearsal's own will, the warnings that follow
BY_FAULTS = frozenset(
    {
        *("model_retry", "model_backup", "breaker_open", "breaker_waiting", "unknown_outcome"),
        *("member_failed", "member_timeout", "helper_failed", "context_overflow", "agent_failed"),
    }
)
Wrong = Iterator[tuple[MismatchKind, tuple[str | int, ...], str]]


@dataclass(frozen=True, slots=True)
class Expectations:
    """Of one run of a rehearsal."""

    played: Played
    turn: PlayedTurn
    story: Story
    # the crew's files, by their names
    texts: Mapping[str, str]

    def mismatches(self) -> Iterator[Mismatch]:
        """Yield all that is not as expected."""
        checks: list[Callable[[], Wrong]] = [
            *(self._path, self._end, self._answer, self._output, self._calls, self._never),
            *(self._pauses, self._warnings, self._asked, self._amounts, self._events, self._kept),
            self._judges,
        ]
        for check in checks:
            for kind, path, text in check():
                source = self.played.case.source(*self.turn.path, *path)
                yield Mismatch(kind, text, source)

    def _path(self) -> Wrong:
        wanted = self.turn.expect.path
        if wanted is None:
            return
        found = first_difference(wanted, self.story.steps)
        if found is not None:
            text = describe_difference(wanted, self.story.steps, found, self.texts)
            yield "path", ("path",), text

    def _end(self) -> Wrong:
        wanted = self.turn.expect.end
        if wanted is None:
            return
        row, end = self.turn.row, self.story.end
        reason = row.reason or row.status
        code = getattr(end, "code", "")
        if reason != wanted.reason or wanted.code not in (None, code):
            by = f" ({code})" if code else ""
            text = f"it ends with {reason}{by}, not {wanted.reason}"
            yield "end", ("end",), f"{text} ({wanted.code})" if wanted.code else text

    def _answer(self) -> Wrong:
        wanted = self.turn.expect.answer
        if wanted is not None and (why := wrong_in(wanted, self.turn.row.answer or "")):
            yield "answer", ("answer",), f"the answer {why}"

    def _output(self) -> Wrong:
        for agent_id, wanted in self.turn.expect.output.items():
            given = self.story.outputs.get(agent_id)
            if given is None:
                yield "output", ("output", agent_id), f"{agent_id} has given no typed answer"
            elif not is_like(wanted, given):
                yield "output", ("output", agent_id), f"the typed answer of {agent_id} is {given}"

    def _calls(self) -> Wrong:
        for number, wanted in enumerate(self.turn.expect.calls):
            if (why := wrong_call(wanted, self.story)) is not None:
                yield "calls", ("calls", number), why

    def _never(self) -> Wrong:
        for number, wanted in enumerate(self.turn.expect.never):
            for text in occurrences(wanted, self.story):
                yield "never", ("never", number), text

    def _pauses(self) -> Wrong:
        wanted, found = self.turn.expect.pauses, self.story.pauses
        if wanted is None:
            return
        for number, (one, pause) in enumerate(zip(wanted, found, strict=False)):
            place = ("pauses", number)
            if one.agent not in (None, pause.agent_id):
                yield "pauses", place, f"{pause.agent_id} waits, not {one.agent}"
            if one.question not in (None, pause.kind):
                yield "pauses", place, f"the question is {pause.kind}, not {one.question}"
            if one.calls is not None and one.calls != pause.tools:
                yield "pauses", place, f"it asks about {', '.join(pause.tools) or 'no calls'}"
            if one.until is not None and not self._is_until(one, pause.until, pause.seconds):
                yield "pauses", place, f"it waits until {pause.until or 'someone answers'}"
        if len(wanted) != len(found):
            kinds = ", ".join(f"{one.agent_id}: {one.kind}" for one in found)
            text = f"there are {len(found)} pauses, not {len(wanted)}"
            yield "pauses", ("pauses",), f"{text} ({kinds})" if kinds else text

    def _is_until(self, wanted: ExpectedPause, until: str | None, seconds: float) -> bool:
        given = wanted.until or ""
        length = WRITTEN.fullmatch(given)
        if length is None:
            return until == given
        ends = self.played.moment(seconds + float(length[1]) * UNITS[length[2] or "s"])
        # to the second: the pause is stored a moment after it begins
        return until is not None and until[:19] == rfc3339(ends)[:19]

    def _warnings(self) -> Wrong:
        wanted, found = self.turn.expect.warnings, self.story.warnings
        if wanted is not None:
            if set(wanted) != set(found):
                seen = ", ".join(dict.fromkeys(found)) or "none"
                yield "warnings", ("warnings",), f"the warnings are {seen}"
            return
        allowed = BY_FAULTS if self.played.has_faults else frozenset()
        if others := [code for code in dict.fromkeys(found) if code not in allowed]:
            text = f"there are warnings that are not expected: {', '.join(others)}"
            yield "warnings", ("warnings",), text

    def _asked(self) -> Wrong:
        for agent_id, wanted in self.turn.expect.asked.items():
            for key, text in wrong_requests(agent_id, wanted, self.turn.asked):
                yield "asked", ("asked", agent_id, key), text

    def _amounts(self) -> Wrong:
        turn = self.turn
        seconds = turn.ended_seconds - turn.begun_seconds
        taken = amounts(self.story, turn.row, turn.model_calls, seconds)
        for key, text in over(turn.expect.at_most, taken):
            yield "at_most", ("at_most", key), text
        if (wanted := turn.expect.seconds) is None:
            return
        if wanted.min is not None and seconds < wanted.min:
            yield "seconds", ("seconds",), f"it takes {seconds:g} s, less than {wanted.min:g}"
        if wanted.max is not None and seconds > wanted.max:
            yield "seconds", ("seconds",), f"it takes {seconds:g} s, more than {wanted.max:g}"

    def _events(self) -> Wrong:
        wanted = self.turn.expect.events
        found = occur_in_order(wanted, self.turn.wire)
        if found < len(wanted):
            types = ", ".join(dict.fromkeys(one["type"] for one in self.turn.wire))
            text = f"no such event in this place; there are {types}"
            yield "events", ("events", found), text

    def _kept(self) -> Wrong:
        yield from wrong_kept(self.turn)

    def _judges(self) -> Wrong:
        for one in self.turn.judgements:
            if not one.holds:
                wanted = self.turn.expect.judge[one.number]
                text = f"{wanted.model} says that it is not so: {wanted.says}"
                text = f"{text} ({one.reason})" if one.reason else text
                yield "judge", ("judge", one.number), text
