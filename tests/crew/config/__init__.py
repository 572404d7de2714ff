"""Tests of `crew.config`."""
