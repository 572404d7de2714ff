"""Servers that others wrote, and the conformance suite of the protocol."""
