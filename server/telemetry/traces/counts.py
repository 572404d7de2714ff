"""How many spans are sent and lost, as Prometheus reads it."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from server.telemetry.traces.tracer import SpanTarget


class SpanCounts(Collector):
    """The counts of what sends spans; registered where runs are traced."""

    def __init__(self, sender: SpanTarget) -> None:
        self.sender = sender

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the counts at this moment."""
        text = "Spans of traces: sent, or lost because the collector was away."
        family = CounterMetricFamily("crew_trace_spans", text, labels=("outcome",))
        family.add_metric(("sent",), self.sender.sent)
        family.add_metric(("lost",), self.sender.lost)
        yield family
