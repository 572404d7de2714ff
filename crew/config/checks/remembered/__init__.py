"""Checks of what is remembered.

`conversations` (with helpers and context), `memory`, `documents`, `embeddings` (of both).
"""
