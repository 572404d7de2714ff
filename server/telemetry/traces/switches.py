"""Whether runs are traced, and what of them, as OpenTelemetry's own variables say it."""

import importlib
import logging
from collections.abc import Mapping

from server.telemetry.traces.tracer import Tracer

log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL = "http/protobuf"
CONTENTS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
WITH_CONTENTS = frozenset({"true", "1", "span_only", "span_and_event"})
WITHOUT = frozenset({"", "false", "0", "no_content", "event_only"})


def open_tracer(environment: Mapping[str, str]) -> Tracer | None:
    """Return what records runs as traces; None where the environment does not switch it on.

    Traces are for who looks on: what is wrong with them is logged, and no reason not to run.
    """
    endpoint = next((name for name in ENDPOINTS if environment.get(name)), None)
    if endpoint is None or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    exporter = environment.get("OTEL_TRACES_EXPORTER", "otlp")
    if exporter == "none":
        return None
    if exporter != "otlp":
        log.warning("OTEL_TRACES_EXPORTER=%s is unknown here: only otlp and none are", exporter)
        return None
    protocol = next((environment[name] for name in PROTOCOLS if environment.get(name)), PROTOCOL)
    if protocol != PROTOCOL:
        text = "runs are not traced: %s is set, and the protocol is %s; only %s is spoken here"
        log.warning(text, endpoint, protocol, PROTOCOL)
        return None
    try:
        sending = importlib.import_module("server.telemetry.traces.sending")
    except ModuleNotFoundError:
        text = "runs are not traced: %s is set, and what sends traces is not installed: "
        log.warning(text + "pip install 'crewline[otel]', or set OTEL_SDK_DISABLED=true", endpoint)
        return None
    return Tracer(sending.open_sender(), contents=_wants_contents(environment))


def _wants_contents(environment: Mapping[str, str]) -> bool:
    value = environment.get(CONTENTS, "").lower()
    if value not in WITH_CONTENTS | WITHOUT:
        log.warning("%s=%s is unknown: texts are not sent; true sends them", CONTENTS, value)
    return value in WITH_CONTENTS
