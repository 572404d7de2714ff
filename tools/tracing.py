"""Names of traces and spans: always the same for the same log (W3C Trace Context, level 1).

A run has no ids of its own for them: they follow from its id and the numbers of its events, so that
another process, or the same after a restart, reports the same spans.
"""

import hashlib
import re
from contextvars import ContextVar
from dataclasses import dataclass, replace

# lower case; a later version may have more behind the flags
TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
SAMPLED = 1
# the header of the request that something is done for; "" where there is none, or a wrong one
incoming_traceparent: ContextVar[str] = ContextVar("incoming_traceparent", default="")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A place in a trace: its id in 32 hex digits, that of a span in 16, and the flags."""

    trace_id: str
    # "" before its first span
    span_id: str
    flags: int = SAMPLED

    @classmethod
    def parse(cls, header: str) -> "TraceContext | None":
        """Parse a `traceparent`; None where it is none."""
        match = TRACEPARENT.fullmatch(header)
        if match is None:
            return None
        version, trace_id, span_id, flags, more = match.groups()
        if version == "ff" or (version == "00" and more):
            return None
        if not trace_id.strip("0") or not span_id.strip("0"):
            return None
        return cls(trace_id, span_id, int(flags, 16) & SAMPLED)

    @property
    def is_sampled(self) -> bool:
        """Whether its spans are recorded."""
        return bool(self.flags & SAMPLED)

    @property
    def header(self) -> str:
        """The place as a `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"

    def at(self, span_id: str) -> "TraceContext":
        """Return another place in the same trace."""
        return replace(self, span_id=span_id)


def derive_span_id(*parts: str | int) -> str:
    """Return the id of a span, from what names it in its run."""
    text = ":".join(map(str, parts))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def derive_trace_id(run_id: str, seq: int) -> str:
    """Return the id of the trace of a segment.

    Args:
        run_id: the run, 32 hex digits.
        seq: of the segment's first event; that of a run's first segment is the run's id.
    """
    if seq == 1:
        return run_id
    return hashlib.blake2b(f"{run_id}:{seq}".encode(), digest_size=16).hexdigest()


def derive_tool_span_id(call_key: str) -> str:
    """Return the id of the span of a call, from the key that no other call has."""
    return derive_span_id(call_key, "execute_tool")
