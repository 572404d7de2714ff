"""What the environment switches on, and what waits for a collector that is slow."""

import logging
import threading
from collections.abc import Mapping, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from server.telemetry.traces.sending import MAX_WAITING, SpanSender
from server.telemetry.traces.spans import Span
from server.telemetry.traces.switches import open_tracer
from tests.support.processes import until
from tools.tracing import TraceContext

TRACE = "0af7651916cd43dd8448eb211c80319c"
ON = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, ""),
        ({"OTEL_SERVICE_NAME": "x"}, ""),
        ({**ON, "OTEL_SDK_DISABLED": "true"}, ""),
        ({**ON, "OTEL_TRACES_EXPORTER": "none"}, ""),
        ({**ON, "OTEL_TRACES_EXPORTER": "zipkin"}, "zipkin is unknown here"),
        ({**ON, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "the protocol is grpc"),
    ],
)
def test_what_switches_nothing_on(
    environment: Mapping[str, str], words: str, caplog: pytest.LogCaptureFixture
):
    """Silence where nothing is wanted; a line where something else was meant."""
    with caplog.at_level(logging.WARNING):
        assert open_tracer(environment) is None
    assert words in caplog.text
    assert bool(words) == bool(caplog.records)


@pytest.mark.parametrize(
    ("contents", "expected", "words"),
    [
        ("", False, ""),
        ("true", True, ""),
        ("SPAN_ONLY", True, ""),
        ("event_only", False, ""),
        ("perhaps", False, "true sends them"),
    ],
)
def test_whether_texts_are_sent(
    contents: str, expected: bool, words: str, caplog: pytest.LogCaptureFixture
):
    """Only where that is said."""
    name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    tracer = open_tracer({**ON, name: contents})
    assert tracer is not None
    assert tracer.contents == expected
    assert words in caplog.text
    tracer.sender.close()


@pytest.mark.parametrize(
    ("sampler", "own", "theirs"),
    [("", 1, (1, 0)), ("always_off", 0, (0, 0)), ("always_on", 1, (1, 1))],
)
def test_what_is_recorded(
    sampler: str, own: int, theirs: tuple[int, int], monkeypatch: pytest.MonkeyPatch
):
    """By OTEL_TRACES_SAMPLER; without it, a caller decides for its traces."""
    if sampler:
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    sender = SpanSender(Slow())
    assert sender.flags_of(TRACE, None) == own
    callers = (TraceContext(TRACE, "b7ad6b7169203331", flags) for flags in (1, 0))
    assert tuple(sender.flags_of(TRACE, one) for one in callers) == theirs
    sender.close()


class Slow(SpanExporter):
    """Takes spans when it may."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.taken: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.may.wait()
        self.taken += [span.name for span in spans]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.may.set()


def test_a_collector_that_is_slow():
    """So many spans wait; further ones are counted as lost; a run never waits."""
    exporter = Slow()
    sender = SpanSender(exporter)
    spans = [
        Span(
            str(number),
            TraceContext(TRACE, f"{number + 1:016x}"),
            None,
            1,
            {"gen_ai.operation.name": "chat"},
            2,
        )
        for number in range(MAX_WAITING + 952)
    ]
    for span in spans:
        sender.send(span)
    assert (sender.sent, sender.lost) == (0, 952)
    exporter.may.set()
    until(lambda: sender.sent == MAX_WAITING)
    assert exporter.taken == [str(number) for number in range(MAX_WAITING)]
    sender.send(spans[-1])
    sender.close()
    assert (sender.sent, sender.lost) == (MAX_WAITING + 1, 952)
