"""Tests that drive the real server as a process of its own."""
