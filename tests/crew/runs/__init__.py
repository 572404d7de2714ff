"""Tests of `crew.runs`."""
