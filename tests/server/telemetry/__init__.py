"""Tests of `server.telemetry`."""
