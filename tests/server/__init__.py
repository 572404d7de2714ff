"""Tests of the floor `server`."""
