"""Tests of `crew.routing`."""
