"""Where runs are kept and queued; each module here is a RunStore or belongs to one.

`memory` (ends with its process), `sqlite` (one file, one process), `postgres` (any number of
processes, with a queue and its workers), `conformance` (checks that every store must pass).
"""
