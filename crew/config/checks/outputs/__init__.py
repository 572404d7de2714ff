"""Typed answers.

`fields` (keys, schemas, and what looks at fields), `ways` (what runs can do), `plans` (who works).
"""
