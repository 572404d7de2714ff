"""Runs as traces of OpenTelemetry (extra `otel`).

`names` (attributes, of one version of the conventions), `spans` (folded from events), `switches`
(what the environment says), `sending` (to a collector, by OpenTelemetry's SDK), `counts` (of what
is sent), `tracer` (records the runs of a process).
"""
