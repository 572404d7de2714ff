"""Spans to a collector, by OpenTelemetry's SDK; imported only where runs are traced."""

import importlib.metadata
import logging
import threading
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from server.telemetry.traces import names
from server.telemetry.traces.spans import Span
from tools.tracing import SAMPLED, TraceContext

log = logging.getLogger(__name__)

# spans that wait; further ones are lost
MAX_WAITING = 2048
# at the end of a process, for what waits
CLOSING_SECONDS = 1.5


def open_sender() -> "SpanSender":
    """Return what sends spans to the collector that the environment names."""
    # it would log each try of each batch; what comes of them is logged here
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    return SpanSender(OTLPSpanExporter())


class SpanSender:
    """Sends spans in batches, in a thread of its own; see `tracer.SpanTarget`."""

    def __init__(self, exporter: SpanExporter) -> None:
        version = importlib.metadata.version("crewline")
        # by the environment: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER
        resource = Resource.create({SERVICE_VERSION: version})
        if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: "crewline"}))
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._resource, self._sampler = provider.resource, provider.sampler
        self._scope = InstrumentationScope("crewline", version, attributes={"schema": names.SCHEMA})
        self._counting = _CountingExporter(exporter)
        self._processor = BatchSpanProcessor(self._counting, max_queue_size=MAX_WAITING)
        self._taken = self._dropped = 0

    @property
    def sent(self) -> int:
        """How many have arrived."""
        return self._counting.sent

    @property
    def lost(self) -> int:
        """How many have not, and never will."""
        return self._counting.failed + self._dropped

    def flags_of(self, trace_id: str, caller: TraceContext | None) -> int:
        """Return the flags of a trace: whether it is recorded."""
        above: Context | None = None
        if caller is not None:
            above = set_span_in_context(NonRecordingSpan(_context(caller, is_remote=True)))
        decided = self._sampler.should_sample(above, int(trace_id, 16), names.WORKFLOW)
        return SAMPLED if decided.decision is Decision.RECORD_AND_SAMPLE else 0

    def send(self, span: Span) -> None:
        """Take a span to be sent."""
        if not span.context.is_sampled:
            return
        if self._taken - self._counting.sent - self._counting.failed >= MAX_WAITING:
            self._dropped += 1
            return
        self._taken += 1
        self._processor.on_end(self._readable(span))

    def close(self) -> None:
        """Send what waits, for some seconds at most; blocks."""
        # a collector that is away must not hold up the end of a process
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(CLOSING_SECONDS)
        if ending.is_alive():
            self._counting.inner.shutdown()

    def _readable(self, span: Span) -> ReadableSpan:
        parent, link = span.parent, span.link
        is_client = span.operation == names.CHAT
        return ReadableSpan(
            span.name,
            context=_context(span.context),
            parent=None if parent is None else _context(parent, is_remote=span.is_remote),
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(one.name, one.attributes, one.at) for one in span.events],
            links=[] if link is None else [Link(_context(link))],
            kind=SpanKind.CLIENT if is_client else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=self._scope,
        )


class _CountingExporter(SpanExporter):
    """Counts what arrives."""

    def __init__(self, inner: SpanExporter) -> None:
        self.inner = inner
        self.sent = self.failed = 0
        self._is_away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = self.inner.export(spans)
        finally:
            if result is SpanExportResult.SUCCESS:
                self.sent += len(spans)
                self._is_away = False
            else:
                self.failed += len(spans)
                self._warn()
        return result

    def _warn(self) -> None:
        """Log that the collector takes nothing, once until it takes something again."""
        if not self._is_away:
            self._is_away = True
            text = "the collector of OTEL_EXPORTER_OTLP_ENDPOINT takes no traces: "
            log.warning(text + "%d spans are lost so far; runs go on", self.failed)

    def shutdown(self) -> None:
        self.inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self.inner.force_flush(timeout_millis)


def _context(place: TraceContext, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(
        int(place.trace_id, 16), int(place.span_id, 16), is_remote, TraceFlags(place.flags)
    )
