"""Who asks for a segment of a run, and what is kept of that; what a query may name."""

from dataclasses import dataclass, field

from crew.crew import Crew
from crew.journal.query import API, IdempotencyKey, Query, Source
from crew.journal.records.audit import AuditEntry
from crew.runs.errors import UnknownAgent, UnknownModel
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


def require_known(query: Query, crew: Crew) -> None:
    """Refuse a query that names what the crew does not have, or not for queries.

    Raises:
        UnknownAgent: no run begins with the agent.
        UnknownModel: `settings.client_models` does not name the model.
    """
    if query.agent_id is not None and query.agent_id not in crew.agents:
        raise UnknownAgent(f"there is no agent {query.agent_id}")
    if query.agent_id in crew.routing.workers_only:
        raise UnknownAgent(f"no run begins with {query.agent_id}, which works for others")
    if query.model and query.model not in crew.config.settings.client_models:
        raise UnknownModel(f"settings.client_models does not name {query.model!r}")
