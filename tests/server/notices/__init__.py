"""Tests of `server.notices`."""
