"""Tests of the floor `crew`."""
