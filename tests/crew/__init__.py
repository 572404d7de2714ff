"""Tests of `crew`."""
