"""Tests of the floor `tools`."""
