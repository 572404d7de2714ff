"""Tests of `agents.providers`."""
