"""Tests of the floor `agents`."""
