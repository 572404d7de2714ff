"""The processes.

`serve` (from start to SIGTERM), `protocol` (HTTP below ASGI, bounded), `worker`, `watch` (edits of
the files).
"""
