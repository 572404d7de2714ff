"""The processes: `serve` (from start to SIGTERM), `worker`, `watch` (edits of the files)."""
