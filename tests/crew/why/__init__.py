"""Tests of `crew.why`."""
