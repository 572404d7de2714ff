"""Who asks for a segment of a run, and what is kept of that."""

from dataclasses import dataclass, field

from crew.journal.query import API, IdempotencyKey, Source
from crew.journal.records.audit import AuditEntry
from tools.tracing import incoming_traceparent


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request; see `Runs.start`."""

    request_id: str = ""
    key: IdempotencyKey | None = None
    owner: str = ""
    by: str = ""
    may_answer: bool = True
    entry: AuditEntry | None = None
    source: Source = API
    # W3C, of the HTTP request that it came with
    traceparent: str = field(default_factory=incoming_traceparent.get)
