"""Stored runs are kept as files.

`taping` (as a cassette), `expecting` (what must hold when it is played again), `keeping` (both,
without secrets).
"""
