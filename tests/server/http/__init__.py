"""Tests of `server.http`."""
