"""Tests of `server.protocols`."""
