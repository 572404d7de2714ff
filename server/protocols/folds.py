"""What all folds have in common, and how they are served: as a stream, or folded to their end.

A fold makes frames of a run's events, from the first one on, always the same. A frame belongs to
the event that it was made of; frames of events that a client has are left out.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from crew.crew import Crew
from crew.journal.wire import RunEvent, on_one_line
from crew.routing.graph import END
from crew.routing.steps import LIMIT_REASONS
from server.http.endpoints.starting import Started, open_stream, wait_for_end
from server.http.errors import HttpProblem
from server.http.services import services_of
from server.http.sse import EventStream
from server.protocols.speech import Speech

# a run has begun: the same request again would begin another one
BEGUN = {"X-Should-Retry": "false"}
GOING_DOWN = "this server is going down; come back, the run goes on"
CANNOT_READ = "the events cannot be read now; come back later"

# a run that one of these has ended has no whole answer
CUT_SHORT = LIMIT_REASONS | {"no_answer"}


class Frame(NamedTuple):
    """A part of a stream, and the event that it is made of; None: of one that is not stored."""

    seq: int | None
    document: Any
    # the name of the frame, in languages that have one
    name: str = ""


class Fold(Protocol):
    """Makes frames of a run's events."""

    def add(self, event: RunEvent) -> list[Frame]:
        """Add an event, and return the frames that follow from it and those before it."""
        ...


# of a frame, and from where a client that has it comes back: the number of its event, or of the one
# before where further frames of the same event follow
Write = Callable[[Frame, int | None], bytes]


def data_line(document: Any) -> bytes:
    """Return a document as server-sent data."""
    return b"data: " + on_one_line(to_json(document, inf_nan_mode="null")) + b"\n\n"


def write_until_done(frame: Frame, place: int | None = None) -> bytes:
    """Return a frame of a stream that says where it ends, as OpenAI's and the AI SDK's do."""
    return b"data: [DONE]\n\n" if frame.document is None else data_line(frame.document)


def is_whole_gap(event: RunEvent) -> bool:
    """Return whether no event of a run that has ended is kept."""
    return event.type == "gap" and any(one.ends_segment for one in in_place_of_gap(event))


def in_place_of_gap(event: RunEvent) -> list[RunEvent]:
    """Return what stands for events that are no longer kept, where a language cannot say so.

    That is a beginning and, where no other event follows, the end that the run has come to.
    """
    data, result = event.metadata, event.metadata["snapshot"]
    known = {"run_id": result["run_id"], "request_id": "", "crew": "", "resumed": False}
    begun = replace(event, type="start", metadata={**known, "agent_id": result["agent_id"]})
    if data["to"] < data.get("last", data["to"]) or result["status"] in ("running", "paused"):
        return [begun]
    if result["status"] == "failed":
        failed = {**result, "code": result["reason"], "retryable": False}
        words = result["answer"] or ""
        return [begun, replace(event, type="error", content=words, metadata={**known, **failed})]
    done = {**result, "answer": result["answer"] or "", "stages": {}}
    return [begun, replace(event, type="done", metadata={**known, **done})]


class SegmentCounts:
    """What each segment of a run has used: its last event counts all segments so far.

    Clients add up what they are sent.
    """

    def __init__(self) -> None:
        self._usage: Mapping[str, Any] = {}
        self._cost: Mapping[str, Any] = {}

    def begin(self, start: Mapping[str, Any]) -> None:
        """Begin a segment, by the metadata of its `start`; a fork counts its own calls alone."""
        if "forked_from" in start:
            self._usage = self._cost = {}

    def of(self, end: Mapping[str, Any]) -> dict[str, Any]:
        """Return the metadata of a last event with `usage` and `cost` of its segment alone.

        An `error` of earlier versions has neither.
        """
        if "usage" not in end:
            return dict(end)
        usage, cost = end["usage"], end.get("cost")
        counted = {**end, "usage": _without(usage, self._usage)}
        if cost is not None:
            counted["cost"] = _without(cost, self._cost)
        self._usage, self._cost = usage, cost or {}
        return counted


def _without(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return counts without those that were there before; what is no number stays."""
    found = dict(now)
    for name, value in now.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            # of money nano-dollars are kept
            found[name] = round(value - before.get(name, 0), 9)
    return found


class FoldedForm:
    """A fold as a stream (see `StreamForm`): frames behind an event."""

    def __init__(
        self,
        fold: Fold,
        after: int,
        write: Write,
        fail: Callable[[str], bytes],
        head: Callable[[], bytes] = bytes,
        *,
        heads_all: bool = False,
    ) -> None:
        """Write nothing yet.

        Args:
            fold: of the run.
            after: the number of the last event that the client has.
            write: the bytes of a frame.
            fail: what ends a stream that goes on elsewhere, with the words for it.
            head: what goes before the first frame that is written.
            heads_all: also before none: where the client has the end of the last segment.
        """
        self.fold, self.after, self.write, self.fail = fold, after, write, fail
        self._head: Callable[[], bytes] | None = head
        self._heads_all = heads_all
        self._reached = 0

    def begin(self) -> bytes:
        """See StreamForm."""
        return b""

    def frame(self, event: RunEvent) -> bytes:
        """See StreamForm."""
        frames = self.fold.add(event)
        self._reached = event.seq if event.seq is not None else self._reached
        if self._reached < self.after:
            return b""
        new = [one for one in frames if self._is_new(one)]
        following = [*(one.seq for one in new[1:]), None]
        written = b"".join(
            self.write(one, None if one.seq is None else one.seq - (one.seq == behind))
            for one, behind in zip(new, following, strict=False)
        )
        # an answer is held until it is known whether it leads on: the head has all before it
        is_settled = self._reached > self.after or event.type != "agent_response"
        if self._head is not None and (written or (self.after > 0 and is_settled)):
            # a segment that the client has seen end has nothing under way
            is_over = self._reached == self.after and event.ends_segment
            has_head = self._heads_all or not is_over
            written, self._head = (self._head() if has_head else b"") + written, None
        return written

    def ping(self, timestamp: str) -> bytes:
        """See StreamForm."""
        return b": ping\n\n"

    def cannot_read(self) -> bytes:
        """See StreamForm."""
        return self.fail(CANNOT_READ)

    def going_down(self) -> bytes:
        """See StreamForm."""
        return self.fail(GOING_DOWN)

    def _is_new(self, frame: Frame) -> bool:
        return frame.seq is None or frame.seq > self.after


def stream_of(
    request: Request,
    run_id: str,
    before: int,
    form: FoldedForm,
    *,
    deltas: bool,
    headers: Sequence[tuple[bytes, bytes]] = (),
    ends: bool = True,
    needed: bool = True,
) -> EventStream:
    """Return the response of a segment in a language; raises HttpProblem for too many streams.

    Args:
        request: the client's.
        run_id: the run.
        before: the number of the event before the segment.
        form: its fold.
        deltas: fold events that are not stored, too.
        headers: of the response.
        ends: the stream ends with the segment.
        needed: the run needs it until then; not who only looks on.
    """
    return open_stream(
        request,
        run_id,
        0,
        form,
        deltas=deltas,
        segment=before if ends else None,
        needed=ends and needed,
        headers=headers,
    )


async def fold_to_end(request: Request, started: Started, fold: Fold) -> list[Frame] | Response:
    """Return all frames of a segment that goes on behind an event; a response if the client left.

    Raises:
        HttpProblem: the server goes down, or nothing plays the run.
    """

    async def folded() -> list[Frame]:
        frames, runs = [], services_of(request).runs
        async with aclosing(runs.follow(started.run_id, 0)) as events:
            async for event in events:
                if event is None or event.seq is None:
                    continue
                made = fold.add(event)
                frames += [one for one in made if (one.seq or 0) > started.before]
                is_end = event.ends_segment or is_whole_gap(event)
                if is_end and event.seq > started.before:
                    return frames
        raise HttpProblem(503, GOING_DOWN, headers={"Retry-After": "5", **BEGUN})

    return await wait_for_end(request, started, folded())


def speech_of(crew: Crew) -> Speech:
    """Return the words of a run of a crew, for people."""
    return Speech(crew.signals, shows_signals=crew.config.settings.show_signals)


def live_agents(crew: Crew) -> frozenset[str]:
    """Return the agents with answers that can only be the run's: they are sent as they are written.

    They end the run, and have nothing to call before.
    """
    ways: dict[str, set[str | None]] = {}
    for edge in crew.graph.edges:
        ways.setdefault(edge.from_, set()).add(edge.to)
    ends = {END}
    return frozenset(
        one.id
        for one in crew.agents.values()
        if not one.tools and one.output is None and ways.get(one.id, ends) <= ends
    )
