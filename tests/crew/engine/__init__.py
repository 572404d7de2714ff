"""Tests of `crew.engine`."""
