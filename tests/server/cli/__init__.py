"""Tests of `server.cli`."""
