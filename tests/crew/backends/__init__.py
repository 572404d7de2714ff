"""Tests of `crew.backends`."""
